"""The command `ruledex`: one file a command, joined here."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ruledex import __version__
from ruledex.cli.add import add
from ruledex.cli.build import build
from ruledex.cli.check import check
from ruledex.cli.compact import compact
from ruledex.cli.describe import describe
from ruledex.cli.evaluate import evaluate
from ruledex.cli.explain import explain
from ruledex.cli.gc import gc
from ruledex.cli.generate import generate
from ruledex.cli.match import match
from ruledex.cli.remove import remove
from ruledex.cli.spark import app as spark
from ruledex.cli.status import UNUSABLE
from ruledex.cli.verify import verify
from ruledex.errors import RuledexError


class _Group(TyperGroup):
    """Commands whose own errors are shown in a line, without a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except RuledexError as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(UNUSABLE) from None


app = typer.Typer(
    name="ruledex",
    cls=_Group,
    help="An index of Boolean expressions: rules in, and for every event the rules that are true of it out.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command()(check)
app.command()(evaluate)
app.command()(build)
app.command()(add)
app.command()(remove)
app.command()(compact)
app.command()(match)
app.command()(explain)
app.command()(describe)
app.command()(verify)
app.command()(gc)
app.command()(generate)
app.add_typer(spark)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ruledex {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[  # its callback does the work
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    app()
