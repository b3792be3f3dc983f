"""The command `ruledex`: joins its subcommands, and reports errors and sets the exit status for all of them.

The standard streams may be closed or full, and their encoding may lack characters; that is handled here too.
"""

from __future__ import annotations

import atexit
import codecs
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import Annotated, Any, Final, NoReturn

import typer
from rich.console import Console
from typer.core import TyperGroup

from ruledex import __version__
from ruledex.cli.arguments import CLOSED, INTERRUPTED, UNUSABLE
from ruledex.cli.build import build_command, merge_command
from ruledex.cli.changes import add_command, compact_command, define_command, remove_command
from ruledex.cli.check import check_command
from ruledex.cli.convert import convert_command
from ruledex.cli.evaluate import evaluate_command
from ruledex.cli.explain import explain_command
from ruledex.cli.generate import generate_command
from ruledex.cli.index_checks import ratify_command, similar_command
from ruledex.cli.machine import doctor_command, warm_command
from ruledex.cli.match import match_command
from ruledex.cli.serve import serve_command, token_command
from ruledex.cli.spark import app as spark
from ruledex.cli.versions import describe_command, gc_command, verify_command
from ruledex.errors import RuledexError, one_line

_STANDARD_OUTPUT: Final = "standard output"
_DEGRADE: Final = "ruledex.degrade"
_PLAINER: Final = {"✓": "+", "✗": "-", "→": "->", "…": "...", "├": "|", "│": "|", "└": "`", "─": "-", "×": "x"}


class _Group(TyperGroup):
    """Commands that show an error in one line, without a traceback."""

    def main(self, *arguments: Any, **settings: Any) -> Any:
        _prepare_streams()
        try:
            try:
                return super().main(*arguments, **settings)
            finally:
                sys.stdout.flush()
        except OSError as error:
            sys.exit(_report_failure(error))

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        with _report_errors():  # --help is written here
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: Any) -> Any:
        with _report_errors():
            return super().invoke(ctx)


# The base of typer's errors of usage. They are click's in some versions and its own in others.
_UsageError: Any = typer.BadParameter.__mro__[1]


@contextmanager
def _report_errors() -> Iterator[None]:
    try:
        yield
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # no command is given, so its message is the help
            raise
        message = error.format_message().rstrip(".")
        command = "ruledex" if error.ctx is None else error.ctx.command_path
        _tell(one_line(f"error: {message[:1].lower()}{message[1:]}; see {command} --help"))
        raise typer.Exit(UNUSABLE) from None
    except RuledexError as error:
        _tell(f"error: {error}")
        raise typer.Exit(UNUSABLE) from None
    except OSError as error:
        raise typer.Exit(_report_failure(error)) from None
    except MemoryError:
        _tell("error: there is not enough memory")
        raise typer.Exit(UNUSABLE) from None
    except KeyboardInterrupt:
        _tell("interrupted")
        raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    name="ruledex",
    cls=_Group,
    help="Index Boolean rules, and find the rules that are true of each event.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
app.command("check")(check_command)
app.command("evaluate")(evaluate_command)
app.command("convert")(convert_command)
app.command("build")(build_command)
app.command("add")(add_command)
app.command("remove")(remove_command)
app.command("define")(define_command)
app.command("compact")(compact_command)
app.command("match")(match_command)
app.command("explain")(explain_command)
app.command("describe")(describe_command)
app.command("verify")(verify_command)
app.command("merge")(merge_command)
app.command("ratify")(ratify_command)
app.command("similar")(similar_command)
app.command("gc")(gc_command)
app.command("generate")(generate_command)
app.command("warm")(warm_command)
app.command("doctor")(doctor_command)
app.command("serve")(serve_command)
app.command("token")(token_command)
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


class _Output(FileIO):
    """Standard output, named in its errors."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = _STANDARD_OUTPUT
            raise


def _prepare_streams() -> None:
    """Replace characters that a stream cannot encode, and name closed or full streams in their errors."""
    # A descriptor of the wrong direction fails at the first read or write, as a closed one does. It also occupies the
    # number of the closed one, which a file would get otherwise, and then others would write into that file.
    for name, flags, mode in (
        ("stdin", os.O_WRONLY, "r"),
        ("stdout", os.O_RDONLY, "w"),
        ("stderr", os.O_WRONLY, "w"),  # errors then go nowhere
    ):
        if getattr(sys, name) is None:
            closed = os.fdopen(os.open(os.devnull, flags), mode, encoding="utf-8")
            setattr(sys, name, closed)
            setattr(sys, f"__{name}__", closed)
    out = sys.stdout
    if out is sys.__stdout__ and isinstance(out, TextIOWrapper):
        out.flush()
        raw = BufferedWriter(_Output(out.fileno(), "w", closefd=False))
        sys.stdout = TextIOWrapper(raw, out.encoding, _DEGRADE, None, out.line_buffering, out.write_through)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=_DEGRADE)
    # By default a console exits with status 1, which here says that some of the input is wrong.
    Console.on_broken_pipe = _raise_again  # type: ignore[assignment,method-assign]


def _raise_again(_: Console) -> NoReturn:
    raise  # called where a BrokenPipeError is handled


def _tell(message: str) -> None:
    """Write a message to standard error, if it is open."""
    try:
        print(message, file=sys.stderr, flush=True)
    except OSError:
        _abandon(sys.stderr)


def _report_failure(error: OSError) -> int:
    """Report a file or stream that cannot be read or written. Returns the exit status."""
    if error.errno == errno.EPIPE:
        # The reader has closed the pipe, as `head` does. That is not an error.
        _abandon(sys.stdout)
        return CLOSED
    where = error.filename
    if where == _STANDARD_OUTPUT:
        _abandon(sys.stdout)
    reason = error.strerror or str(error)
    _tell(one_line(f"error: {reason}" if where is None else f"error: {os.fsdecode(where)}: {reason}"))
    return UNUSABLE


def _abandon(stream: object) -> None:
    """Discard what is left in a stream: Python writes it when it ends, and would fail again."""
    with suppress(OSError, AttributeError):  # it may not be a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # type: ignore[attr-defined]


def _degrade(error: UnicodeError) -> tuple[str, int]:
    """Return a replacement for characters that an encoding lacks: a plainer sign, or the number of the character."""
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end]
    return "".join(_PLAINER.get(c) or c.encode("ascii", "backslashreplace").decode() for c in lacking), error.end


codecs.register_error(_DEGRADE, _degrade)


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
