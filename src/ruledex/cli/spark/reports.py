"""The commands that report what Spark found: `ruledex spark backtest`, `coverage`, `profile` and `ratify`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import orjson
import typer

from ruledex.cli.arguments import (
    CLEAN,
    FINDINGS,
    ConfOption,
    EventsArgument,
    MasterOption,
    NowOption,
    OverwriteOption,
    QuietOption,
    TrustOption,
    VersionOption,
    WorkerIndexArgument,
)
from ruledex.cli.spark.session import session, show_stages
from ruledex.cli.spark.tables import read_table, require_absent, show_rows, write_table
from ruledex.cli.terminal import console
from ruledex.errors import quoted
from ruledex.outputs import whole_file
from ruledex.ratify.report import difference_words
from ruledex.sources.lines import convert_file_errors

if TYPE_CHECKING:
    from rich.table import Table

    from ruledex.events.statistics import AttributeStatistics, EventStatistics
    from ruledex.spark.jobs.ratify.job import AnswerDifference, Ratification


def spark_backtest_command(
    old: Annotated[str, typer.Argument(metavar="OLD", help="An index: a path or URL that the workers can read.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Another index, or the same one with --old-version.")],
    events: EventsArgument,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="TABLE", help="Write all rules to a .parquet or .json folder, or to a table."
        ),
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="NAME", help="The column that identifies an event.")
    ] = None,
    examples: Annotated[int, typer.Option("--examples", min=0, help="How many events to show per rule and kind.")] = 3,
    old_version: Annotated[
        str | None, typer.Option("--old-version", help="A version of OLD other than the current one.")
    ] = None,
    new_version: Annotated[
        str | None, typer.Option("--new-version", help="A version of NEW other than the current one.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=0, help="How many rules to show, those that change most first.")
    ] = 20,
    now: NowOption = None,
    overwrite: OverwriteOption = False,
    trust: TrustOption = None,
    master: MasterOption = None,
    conf: ConfOption = None,
    quiet: QuietOption = False,
) -> None:
    """Show which rules would gain matches and which would lose some, with examples.

    Examples:

        ruledex spark backtest index-old index-new events.parquet --key event_id

        ruledex spark backtest index index events.parquet --old-version 3f2a… -o changes.parquet
    """
    with session(master, "ruledex backtest", conf) as spark:
        from pyspark.sql import functions

        from ruledex.spark import backtest

        if output is not None and not overwrite:
            require_absent(spark, output)
        versions = {"old_version": old_version, "new_version": new_version}
        frame = read_table(spark, events)
        # One pass over the events serves both the output and the summary.
        found = backtest(old, new, frame, key=key, examples=examples, **versions, trust=trust, now=now).persist()
        try:
            with show_stages(spark, "backtesting", not quiet):
                if output is not None:
                    write_table(found, output, overwrite)
                changed = found.where("gained > 0 OR lost > 0")
                order = (functions.col("gained") + functions.col("lost")).desc()
                rows = [] if quiet else changed.orderBy(order, "rule").limit(limit).collect()
        finally:
            found.unpersist()
    if not quiet:
        show_rows(rows, found.columns)


def spark_coverage_command(
    index: WorkerIndexArgument,
    events: EventsArgument,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="TABLE",
            help="Write all rules to a .parquet, .json or .csv folder, or to a table.",
        ),
    ] = None,
    pairs: Annotated[
        int | None, typer.Option("--pairs", min=2, help="How many rules to draw, to show which are true together.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="A different seed draws different rules for --pairs.")] = 0,
    version: VersionOption = None,
    limit: Annotated[int, typer.Option("--limit", min=0, help="How many rows to show per table.")] = 20,
    overwrite: OverwriteOption = False,
    now: NowOption = None,
    trust: TrustOption = None,
    master: MasterOption = None,
    conf: ConfOption = None,
    quiet: QuietOption = False,
) -> None:
    """Count the matches of each rule, the rules that are never true, and the events that match no rule.

    Examples:

        ruledex spark coverage index events.parquet

        ruledex spark coverage index events.parquet --pairs 100 -o matches.parquet
    """
    with session(master, "ruledex coverage", conf) as spark:
        from ruledex.spark import coverage

        if output is not None and not overwrite:
            require_absent(spark, output)
        found = coverage(
            index, read_table(spark, events), pairs, seed=seed, version=version, trust=trust, now=now
        ).persist()
        try:
            with show_stages(spark, "counting", not quiet):
                totals = found.totals()
                n_never = found.never_true.count()
                if output is not None:
                    write_table(found.rules, output, overwrite)
                most = found.rules.orderBy("matches", "rule", ascending=[False, True]).limit(limit).collect()
                together = found.pairs.orderBy("matches", ascending=False).limit(limit).collect() if pairs else []
        finally:
            found.unpersist()
    if not quiet:
        show_rows(most, ["rule", "matches"])
        if pairs:
            show_rows(together, ["rule", "other", "matches"])
        told = f"{totals.n_events:,} events, {totals.n_matches:,} matches, {totals.n_without:,} events without a rule"
        typer.echo(f"{told}, {n_never:,} rules never true")


_MOST_ATTRIBUTES: Final = 40
_HEAVY_SHOWN: Final = 3


def spark_profile_command(
    events: EventsArgument,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write JSON for --stats of a build."),
    ] = None,
    columns: Annotated[
        list[str] | None, typer.Option("--column", metavar="NAME", help="Look only at this column; repeatable.")
    ] = None,
    heavy: Annotated[
        int, typer.Option("--heavy", min=1, help="How many frequent values to count per attribute.")
    ] = 512,
    master: MasterOption = None,
    conf: ConfOption = None,
    quiet: QuietOption = False,
) -> None:
    """Collect how often each attribute is present, its most frequent values, and quantiles, in one pass over events.

    Examples:

        ruledex spark profile events.parquet -o index/statistics.json

        ruledex spark profile warehouse.events --master spark://host:7077 -o statistics.json
    """
    with session(master, "ruledex profile", conf) as spark:
        from ruledex.spark import profile

        frame = read_table(spark, events)
        with show_stages(spark, "profiling", not quiet):
            found = profile(frame, columns, heavy=heavy)
    if output is not None:
        found.save(output)
    if not quiet:
        console().print(_table(found))
        where = "" if output is None else f", in {output}"
        typer.echo(f"{found.n_events:,} events, {len(found.attributes):,} attributes{where}")


def _table(found: EventStatistics) -> Table:
    from rich.table import Table

    from ruledex.language.text import path_text

    table = Table(box=None)
    for name in ("attribute", "present", "types", "most frequent", "median"):
        table.add_column(name)
    shown = sorted(found.attributes.items(), key=lambda item: (-item[1].n_present, item[0]))
    for path, attribute in shown[:_MOST_ATTRIBUTES]:
        part = attribute.n_present / found.n_events if found.n_events else 0.0
        table.add_row(path_text(path), f"{part:.1%}", *_of_values(attribute))
    if len(shown) > _MOST_ATTRIBUTES:
        table.add_row(f"… and {len(shown) - _MOST_ATTRIBUTES:,} more")
    return table


def _of_values(attribute: AttributeStatistics) -> tuple[str, str, str]:
    types = ", ".join(values.type for values in attribute.values)
    heavy = [pair for values in attribute.values for pair in values.heavy]
    frequent = sorted(heavy, key=lambda pair: -pair[1])[:_HEAVY_SHOWN]
    medians = [str(median) for values in attribute.values for median in values.quantiles(2)]
    return types, ", ".join(f"{value} ({count:,})" for value, count in frequent), ", ".join(medians)


_MOST_DIFFERENCES: Final = 10


def spark_ratify_command(
    index: WorkerIndexArgument,
    events: EventsArgument,
    rules_sample: Annotated[int, typer.Option("--rules", min=1, help="How many rules to draw.")] = 100,
    events_sample: Annotated[int, typer.Option("--events", min=1, help="How many events to draw.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="A different seed draws different samples.")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the whole report as JSON.")
    ] = None,
    version: VersionOption = None,
    now: NowOption = None,
    trust: TrustOption = None,
    master: MasterOption = None,
    conf: ConfOption = None,
    quiet: QuietOption = False,
) -> None:
    """Ask the index, the reference evaluator and Spark SQL about the same rules and events, and show where they differ.

    Examples:

        ruledex spark ratify index events.parquet

        ruledex spark ratify index events.parquet --rules 500 --events 5000 --seed 7 -o report.json

    Documented differences between rules and Spark SQL do not count. The exit status is 1 if there are others.
    """
    with session(master, "ruledex ratify", conf) as spark:
        from ruledex.spark import ratify

        frame = read_table(spark, events)
        with show_stages(spark, "ratifying", not quiet):
            found = ratify(index, frame, rules_sample, events_sample, seed, version=version, trust=trust, now=now)
    if output is not None:
        options = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
        with convert_file_errors(str(output)), whole_file(output) as file:
            file.write(orjson.dumps(found.to_dict(), default=str, option=options))
    if not quiet:
        _tell(found)
    raise typer.Exit(CLEAN if found.passed else FINDINGS)


def _tell(found: Ratification) -> None:
    typer.echo(found)
    for refusal in found.refusals[:_MOST_DIFFERENCES]:
        typer.echo(f"Spark SQL cannot be asked about rule {quoted(refusal.rule)}: {refusal.reason}", err=True)
    if len(found.refusals) > _MOST_DIFFERENCES:
        typer.echo(f"… and {len(found.refusals) - _MOST_DIFFERENCES:,} more rules", err=True)
    for difference in found.unexplained[:_MOST_DIFFERENCES]:
        typer.echo(_line(difference))
    if len(found.unexplained) > _MOST_DIFFERENCES:
        typer.echo(f"… and {len(found.unexplained) - _MOST_DIFFERENCES:,} more differences")


def _line(difference: AnswerDifference) -> str:
    who = "the index" if difference.asked == "index" else "Spark SQL"
    found = difference.rule, difference.text, difference.event
    return difference_words(*found, who, reference=difference.reference)
