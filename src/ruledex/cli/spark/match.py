"""`ruledex spark match`: find the true rules of each event of a table."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from ruledex.cli.arguments import (
    ConfOption,
    CountOption,
    EventsArgument,
    MasterOption,
    NowOption,
    OverwriteOption,
    QuietOption,
    RankOption,
    TopOption,
    TrustOption,
    VersionOption,
    WhereOption,
    WorkerIndexArgument,
    choose_rank,
)
from ruledex.cli.spark.session import session, show_stages
from ruledex.cli.spark.tables import format_of, read_table, require_absent, write_table
from ruledex.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import Column

OutputArgument: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="OUTPUT", help="Where to write: a folder that ends in .parquet, .json or .csv, or the name of a table."
    ),
]
KeepOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--keep", metavar="COLUMN", help="A column of the events to keep; repeatable. By default all."),
]
WeightsOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--weights", metavar="COLUMN", help="The column that has the weights of each event, for --top."),
]
ExplodeOption: TypeAlias = Annotated[
    bool, typer.Option("--explode", help="Write one row per match, not one per event.")
]


def spark_match_command(
    index: WorkerIndexArgument,
    events: EventsArgument,
    output: OutputArgument,
    keep: KeepOption = None,
    top: TopOption = None,
    rank: RankOption = None,
    weights: WeightsOption = None,
    explode: ExplodeOption = False,
    count: CountOption = False,
    where: WhereOption = None,
    now: NowOption = None,
    version: VersionOption = None,
    trust: TrustOption = None,
    master: MasterOption = None,
    conf: ConfOption = None,
    overwrite: OverwriteOption = False,
    quiet: QuietOption = False,
) -> None:
    """Match a table of events, and write the rules that are true of each.

    Examples:

        ruledex spark match index events.parquet matches.parquet --keep event_id

        ruledex spark match s3://bucket/index s3://bucket/events best.json --top 10 --master spark://host:7077
    """
    ranked = choose_rank(rank, top)
    refuse_arrays_in_csv(output, explode, count)
    with session(master, "ruledex match", conf) as spark, show_stages(spark, "matching", not quiet):
        from pyspark.sql import Observation

        from ruledex.spark import match

        if not overwrite:
            require_absent(spark, output)
        found = match(
            read_table(spark, events),
            index,
            keep,
            top,
            weights,
            explode,
            count,
            rank=ranked.value,
            version=version,
            trust=trust,
            where=where,
            now=now,
        )
        seen = Observation()
        started = time.monotonic()
        write_table(found.observe(seen, *totals(explode, count)), output, overwrite)
        told = seen.get
    if not quiet:
        seconds = time.monotonic() - started
        typer.echo(f"{told['rows']:,} rows, {told['matches'] or 0:,} matches in {seconds:.1f} s: {output}", err=True)


def totals(explode: bool, count: bool) -> list[Column]:
    """Return the columns that count rows and matches while a result is written."""
    from pyspark.sql import functions

    rows = functions.count(functions.lit(1))
    matches = rows if explode else functions.sum("n_rules" if count else functions.size("rules"))
    return [rows.alias("rows"), matches.alias("matches")]


def refuse_arrays_in_csv(output: str, explode: bool, count: bool) -> None:
    """Raise an error if the result has arrays and the format of the output has none."""
    if format_of(output) == "csv" and not (explode or count):
        raise InputError("CSV has no arrays: write Parquet or JSON, or use --explode or --count")
