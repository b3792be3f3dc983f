"""`ruledex spark backtest`: compare two versions of an index on the same past events."""

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
)
from ruledex.cli.spark.session import session, show_stages
from ruledex.cli.spark.tables import read_table, require_absent, show_rows, write_table


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
