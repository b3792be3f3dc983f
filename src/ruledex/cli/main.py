"""The command `ruledex`: one file a command, joined here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
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
from ruledex.cli.status import INTERRUPTED, UNUSABLE
from ruledex.cli.streams import (
    flush_output,
    prepare_streams,
    report_failure,
    tell,
)
from ruledex.cli.verify import verify
from ruledex.errors import RuledexError


class _Group(TyperGroup):
    """Commands whose own errors are shown in a line, without a traceback."""

    def main(self, *arguments: Any, **settings: Any) -> Any:
        prepare_streams()
        try:
            try:
                return super().main(*arguments, **settings)
            finally:
                flush_output()
        except OSError as error:
            sys.exit(report_failure(error))

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        with _reporting():  # --help is written here
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: Any) -> Any:
        with _reporting():
            return super().invoke(ctx)


@contextmanager
def _reporting() -> Iterator[None]:
    try:
        yield
    except RuledexError as error:
        tell(f"error: {error}")
        raise typer.Exit(UNUSABLE) from None
    except OSError as error:
        raise typer.Exit(report_failure(error)) from None
    except MemoryError:
        tell("error: there is not enough memory")
        raise typer.Exit(UNUSABLE) from None
    except KeyboardInterrupt:
        tell("interrupted")
        raise typer.Exit(INTERRUPTED) from None


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
