"""The command `ruledex`: joins its subcommands, and reports errors and sets the exit status for all of them."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ruledex import __version__
from ruledex.cli.add import add_command
from ruledex.cli.build import build_command
from ruledex.cli.check import check_command
from ruledex.cli.compact import compact_command
from ruledex.cli.describe import describe_command
from ruledex.cli.evaluate import evaluate_command
from ruledex.cli.explain import explain_command
from ruledex.cli.gc import gc_command
from ruledex.cli.generate import generate_command
from ruledex.cli.match import match_command
from ruledex.cli.remove import remove_command
from ruledex.cli.spark import app as spark
from ruledex.cli.status import INTERRUPTED, UNUSABLE
from ruledex.cli.streams import flush_output, prepare_streams, report_failure, tell
from ruledex.cli.verify import verify_command
from ruledex.errors import RuledexError


class _Group(TyperGroup):
    """Commands that show an error in one line, without a traceback."""

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
        with _report_errors():  # --help is written here
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: Any) -> Any:
        with _report_errors():
            return super().invoke(ctx)


@contextmanager
def _report_errors() -> Iterator[None]:
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
    help="Index Boolean rules, and find the rules that are true of each event.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command("check")(check_command)
app.command("evaluate")(evaluate_command)
app.command("build")(build_command)
app.command("add")(add_command)
app.command("remove")(remove_command)
app.command("compact")(compact_command)
app.command("match")(match_command)
app.command("explain")(explain_command)
app.command("describe")(describe_command)
app.command("verify")(verify_command)
app.command("gc")(gc_command)
app.command("generate")(generate_command)
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
    try:
        app()
        status: Any = 0
    except SystemExit as ended:
        status = ended.code
    if not isinstance(status, int):
        status = 0 if status is None else UNUSABLE
    # Python aborts where a thread still reads standard input, and some libraries abort in a destructor while one of
    # their threads starts. So what must be done at the end is done here, and nothing else.
    atexit._run_exitfuncs()
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(status)
