"""`ruledex spark coverage`: count how often each rule is true of past events."""

from __future__ import annotations

from typing import Annotated

import typer

from ruledex.cli.arguments import (
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
