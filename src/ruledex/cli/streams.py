"""Standard streams as a command may find them: closed, full, or of an encoding that lacks a character."""

from __future__ import annotations

import codecs
import errno
import os
import sys
from contextlib import suppress
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import Any, Final, NoReturn

from rich.console import Console

from ruledex.cli.status import CLOSED, UNUSABLE
from ruledex.errors import one_line

STANDARD_OUTPUT: Final = "standard output"
_DEGRADE: Final = "ruledex.degrade"
_PLAINER: Final = {"✓": "+", "✗": "-", "→": "->", "…": "...", "├": "|", "│": "|", "└": "`", "─": "-", "×": "x"}


class _Output(FileIO):
    """Standard output, whose errors say that it is."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = STANDARD_OUTPUT
            raise


def prepare_streams() -> None:
    """Let no character stop a command, and have streams that are closed or full say which they are."""
    # A descriptor of the wrong direction is an error at the first read or write, as a closed one is; and it keeps the
    # number of a closed one from going to a file, into which others would then write.
    for name, flags, mode in (
        ("stdin", os.O_WRONLY, "r"),
        ("stdout", os.O_RDONLY, "w"),
        ("stderr", os.O_WRONLY, "w"),  # where nobody listens, errors are told to nobody
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
    # Its own answer is an exit status of 1, which here says that something among the input is wrong.
    Console.on_broken_pipe = _raise_again  # type: ignore[assignment,method-assign]


def _raise_again(_: Console) -> NoReturn:
    raise  # called where a BrokenPipeError is handled


def flush_output() -> None:
    """Write what is still to be written. Raises OSError where that cannot be done."""
    sys.stdout.flush()


def tell(message: str) -> None:
    """Write a message to standard error, if somebody listens there."""
    try:
        print(message, file=sys.stderr, flush=True)
    except OSError:
        _abandon(sys.stderr)


def report_failure(error: OSError) -> int:
    """Tell of a file or stream that cannot be read or written. Returns the exit status."""
    if error.errno == errno.EPIPE:
        # The reader has had enough, as `head` has: no fault of anybody.
        _abandon(sys.stdout)
        return CLOSED
    where = error.filename
    if where == STANDARD_OUTPUT:
        _abandon(sys.stdout)
    reason = error.strerror or str(error)
    tell(one_line(f"error: {reason}" if where is None else f"error: {os.fsdecode(where)}: {reason}"))
    return UNUSABLE


def _abandon(stream: object) -> None:
    """Send what is left in a stream nowhere, since Python writes it when it ends and would fail once more."""
    with suppress(OSError, AttributeError):  # it may be no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # type: ignore[attr-defined]


def _degraded(error: UnicodeError) -> tuple[str, int]:
    """What stands for characters that an encoding lacks: a plainer sign, or the character's number."""
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end]
    return "".join(_PLAINER.get(c) or c.encode("ascii", "backslashreplace").decode() for c in lacking), error.end


codecs.register_error(_DEGRADE, _degraded)
