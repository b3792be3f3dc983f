"""`ruledex spark …`: rules and events by the million, on a Spark session; one file a command, joined here.

PySpark is imported when a command runs, never before.
"""

from __future__ import annotations

import typer

from ruledex.cli.spark.backtest import backtest
from ruledex.cli.spark.build import build
from ruledex.cli.spark.coverage import coverage
from ruledex.cli.spark.match import match
from ruledex.cli.spark.profile import profile
from ruledex.cli.spark.ratify import ratify
from ruledex.cli.spark.stream import stream

app = typer.Typer(
    name="spark",
    help="Build, match and look at indexes on Spark: on this machine, or on a cluster by --master.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@app.callback()
def _spark() -> None:
    pass


app.command()(build)
app.command()(match)
app.command()(stream)
app.command()(backtest)
app.command()(coverage)
app.command()(profile)
app.command()(ratify)
