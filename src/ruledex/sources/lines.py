"""Read the lines of a plain or compressed file, or of standard input, as bytes, and tell how far reading is."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from ruledex import limits
from ruledex.errors import InputError

STANDARD_INPUT: Final = "-"
_UTF8_MARK: Final = b"\xef\xbb\xbf"
_WIDE_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")


def form_of(name: str, forms: Mapping[str, str], what: str) -> str:
    """Return the form of a file by its suffix. A text form may be compressed: `.gz` follows its suffix."""
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    is_compressed = suffixes[-1:] == [".gz"]
    suffix = (suffixes[-2:-1] if is_compressed else suffixes[-1:]) or [""]
    form = forms.get(suffix[0])
    if form is None or (is_compressed and form == "parquet"):
        raise InputError(f"{name}: a file of {what} ends in {', '.join(forms)}; all but .parquet may also end in .gz")
    return form


class LineFile:
    """A file that is read line by line. `n_bytes` is its size on disk, or None if that is not known."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.n_bytes: int | None = None
        self._raw: IO[bytes] | None = None

    @property
    def n_bytes_read(self) -> int:
        """How many bytes of the file on disk have been read."""
        try:
            return 0 if self._raw is None or self.n_bytes is None else self._raw.tell()
        except (OSError, ValueError):  # closed, or a pipe
            return self.n_bytes or 0

    def lines(self) -> Generator[bytes]:
        """Yield all lines with their line ends, without a byte order mark."""
        with convert_file_errors(self.name):
            if self.name == STANDARD_INPUT:
                yield from _without_mark(sys.stdin.buffer, self.name)
                return
            path = Path(self.name)
            with path.open("rb") as raw:
                self._raw = raw
                self.n_bytes = path.stat().st_size
                stream = gzip.GzipFile(fileobj=raw) if path.suffix.lower() == ".gz" else raw
                yield from _without_mark(stream, self.name)


class SourceFile:
    """A file of rules or events that is read once. `form` is `parquet`, or the name of a form that has lines."""

    def __init__(self, name: str, form: str) -> None:
        self.name = name
        self._form = form
        self._lines = LineFile(name)
        self._n_rows: int | None = None
        self._n_rows_read = 0

    @property
    def size(self) -> int | None:
        """How much there is to read, in bytes of a text file or rows of a table; None if it is not known (yet)."""
        return self._n_rows if self._form == "parquet" else self._lines.n_bytes

    @property
    def n_read(self) -> int:
        """How much has been read."""
        return self._n_rows_read if self._form == "parquet" else self._lines.n_bytes_read


def _without_mark(stream: IO[bytes] | gzip.GzipFile, name: str) -> Iterator[bytes]:
    most = limits.current().line_bytes
    line = stream.readline(most + 1)
    if line.startswith(_WIDE_MARKS):
        raise InputError(f"{name}: the file is UTF-16; save it as UTF-8")
    line = line.removeprefix(_UTF8_MARK)
    while line:
        if len(line) > most:  # a few hundred bytes of a compressed file may hold it
            raise InputError(f"{name}: a line has more bytes than the limit line_bytes of {most:,}")
        yield line
        line = stream.readline(most + 1)


@contextmanager
def convert_file_errors(name: str) -> Iterator[None]:
    """Replace errors of reading or writing a file, inside a `with`, by an `InputError` that names the file."""
    try:
        yield
    except (OSError, ValueError, EOFError, zlib.error) as error:  # a ValueError: no file can have this name
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{name}: {reason}") from None


def as_text_file(lines: Iterator[bytes]) -> Iterator[str]:
    """Yield lines as text. Invalid bytes become halves of surrogate pairs, so one bad line does not stop the others."""
    for line in lines:
        yield line.decode("utf-8", "surrogateescape")
