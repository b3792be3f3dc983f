"""Make the standard streams safe to use when they are closed or full, or when their encoding lacks a character."""

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
    """Standard output, named in its errors."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = STANDARD_OUTPUT
            raise


def prepare_streams() -> None:
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


def flush_output() -> None:
    """Flush standard output. Raises OSError if that fails."""
    sys.stdout.flush()


def tell(message: str) -> None:
    """Write a message to standard error, if it is open."""
    try:
        print(message, file=sys.stderr, flush=True)
    except OSError:
        _abandon(sys.stderr)


def report_failure(error: OSError) -> int:
    """Report a file or stream that cannot be read or written. Returns the exit status."""
    if error.errno == errno.EPIPE:
        # The reader has closed the pipe, as `head` does. That is not an error.
        _abandon(sys.stdout)
        return CLOSED
    where = error.filename
    if where == STANDARD_OUTPUT:
        _abandon(sys.stdout)
    reason = error.strerror or str(error)
    tell(one_line(f"error: {reason}" if where is None else f"error: {os.fsdecode(where)}: {reason}"))
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
