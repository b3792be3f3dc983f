"""`ruledex spark …`: the commands that run on Spark.

PySpark is imported when a command runs, never before.
"""

from __future__ import annotations

import typer

from ruledex.cli.spark.build import spark_build_command
from ruledex.cli.spark.match import spark_match_command, spark_stream_command
from ruledex.cli.spark.reports import (
    spark_backtest_command,
    spark_coverage_command,
    spark_profile_command,
    spark_ratify_command,
)

app = typer.Typer(
    name="spark",
    help="Build, match and inspect indexes with Spark, on this machine or on a cluster (--master).",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@app.callback()
def _spark() -> None:
    pass


app.command("build")(spark_build_command)
app.command("match")(spark_match_command)
app.command("stream")(spark_stream_command)
app.command("backtest")(spark_backtest_command)
app.command("coverage")(spark_coverage_command)
app.command("profile")(spark_profile_command)
app.command("ratify")(spark_ratify_command)
