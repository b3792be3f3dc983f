"""The commands that find the true rules of events: `ruledex spark match`, of a table, and `stream`, as events come.

A stream is matched with the version of the index that is current when its events come.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

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
from ruledex.cli.spark.session import describe_failure, session, show_stages
from ruledex.cli.spark.tables import OPTIONS, format_of, load_table, read_table, require_absent, write_table
from ruledex.errors import InputError, RuledexError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_METRICS = "ruledex"
_LOOK_EVERY_S = 1

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


def spark_stream_command(
    index: WorkerIndexArgument,
    events: Annotated[
        str, typer.Argument(metavar="EVENTS", help="A folder in which files of events appear, or the name of a table.")
    ],
    output: OutputArgument,
    checkpoint: Annotated[
        str,
        typer.Option("--checkpoint", metavar="DIR", help="Where the stream keeps its state, to continue from there."),
    ],
    keep: KeepOption = None,
    top: TopOption = None,
    rank: RankOption = None,
    weights: WeightsOption = None,
    explode: ExplodeOption = False,
    count: CountOption = False,
    columns: Annotated[
        list[str] | None,
        typer.Option("--column", metavar="COLUMN", help="A column to read for rules of later versions; repeatable."),
    ] = None,
    files: Annotated[
        int | None, typer.Option("--files", min=1, metavar="N", help="Read at most N new files per micro-batch.")
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(
            "--every", metavar="TIME", help="Run a micro-batch every TIME, such as '10 seconds'; by default at once."
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Match the events that are there now, then end.")] = False,
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=0.0, metavar="S", help="End after S seconds.")
    ] = None,
    trust: TrustOption = None,
    master: MasterOption = None,
    conf: ConfOption = None,
    quiet: QuietOption = False,
) -> None:
    """Match events as they come, until Ctrl-C, and switch to new versions of the index when they are published.

    Each row names its version. If a new version cannot be used, the stream refuses it and keeps the one before.

    Examples:

        ruledex spark stream index incoming matches.parquet --checkpoint state --keep event_id

        ruledex spark stream index incoming best.json --checkpoint state --top 10 --once
    """
    ranked = choose_rank(rank, top)
    refuse_arrays_in_csv(output, explode, count)
    with session(master, "ruledex stream", conf) as spark:
        from pyspark.sql import functions

        from ruledex.spark import match

        found = match(
            _read(spark, events, files),
            index,
            keep,
            top,
            weights,
            explode,
            count,
            rank=ranked.value,
            columns=columns or (),
            trust=trust,
        ).observe(_METRICS, functions.max("version").alias("version"), *totals(explode, count))
        trigger = {"availableNow": True} if once else {"processingTime": every or "0 seconds"}
        query = _start(found, output, checkpoint, trigger)
        try:
            _follow(query, None if seconds is None else time.monotonic() + seconds, not quiet)
        finally:
            query.stop()
            if not quiet:
                _tell_refusals(spark, index, str(query.id))


def _read(spark: SparkSession, source: str, files: int | None) -> DataFrame:
    """Return a stream of a table, or of a folder's files. The files that are there decide the columns."""
    kind = format_of(source)
    limits = {} if files is None else {"maxFilesPerTrigger": str(files)}
    if kind is None:
        return spark.readStream.options(**limits).table(source)
    if Path(source).is_file():
        raise InputError(f"{source}: this is a file; a stream reads a folder in which files appear")
    schema = load_table(spark, source).schema
    return spark.readStream.format(kind).schema(schema).options(**OPTIONS[kind], **limits).load(source)


def _start(found: DataFrame, output: str, checkpoint: str, trigger: dict[str, Any]) -> StreamingQuery:
    from pyspark.errors import AnalysisException

    writer = found.writeStream.option("checkpointLocation", checkpoint).trigger(**trigger)
    kind = format_of(output)
    try:
        if kind is None:
            return writer.toTable(output)
        return writer.format(kind).options(**OPTIONS[kind]).start(output)
    except AnalysisException as error:
        raise InputError(f"{output}: {str(error).splitlines()[0]}") from error


def _follow(query: StreamingQuery, until: float | None, is_shown: bool) -> None:
    """Wait for the end, and report each micro-batch that had events."""
    from pyspark.errors import StreamingQueryException

    last, is_over = -1, False
    try:
        while not is_over:
            is_over = bool(query.awaitTermination(_LOOK_EVERY_S)) or (until is not None and time.monotonic() > until)
            for batch in query.recentProgress:
                if is_shown and batch.batchId > last and batch.numInputRows:
                    typer.echo(_summary_of(batch), err=True)
                last = max(last, batch.batchId)
    except KeyboardInterrupt:
        return
    except StreamingQueryException as error:
        raise RuledexError(f"the stream failed: {describe_failure(error)}") from error


def _summary_of(batch: Any) -> str:
    seen = batch.observedMetrics.get(_METRICS)
    found = (
        "" if seen is None or seen.version is None else f", {seen.matches or 0:,} matches, version {seen.version[:12]}"
    )
    rate = f"{batch.processedRowsPerSecond:,.0f} events/s"
    return f"micro-batch {batch.batchId}: {batch.numInputRows:,} events ({rate}){found}"


def _tell_refusals(spark: SparkSession, index: str, stream: str) -> None:
    from ruledex.spark import pins

    told = pins(spark, index).where(f"stream = '{stream}' AND refused IS NOT NULL").select("refused", "reason")
    for row in told.distinct().collect():
        typer.echo(f"refused version {row.refused[:12]}: {row.reason}", err=True)
