"""`ruledex spark …`: the commands that run on Spark, one file per command.

PySpark is imported when a command runs, never before.
"""

from __future__ import annotations

import typer

from ruledex.cli.spark.backtest import backtest_command
from ruledex.cli.spark.build import build_command
from ruledex.cli.spark.coverage import coverage_command
from ruledex.cli.spark.match import match_command
from ruledex.cli.spark.profile import profile_command
from ruledex.cli.spark.ratify import ratify_command
from ruledex.cli.spark.stream import stream_command

app = typer.Typer(
    name="spark",
    help="Build, match and inspect indexes with Spark, on this machine or on a cluster (--master).",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@app.callback()
def _spark() -> None:
    pass


app.command("build")(build_command)
app.command("match")(match_command)
app.command("stream")(stream_command)
app.command("backtest")(backtest_command)
app.command("coverage")(coverage_command)
app.command("profile")(profile_command)
app.command("ratify")(ratify_command)
