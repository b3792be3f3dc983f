"""Read a file of rules in any of the formats. The name of the file says which."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from ruledex.sources.lines import STANDARD_INPUT, LineFile, form_of, peekable
from ruledex.sources.row import Columns, Row
from ruledex.sources.text_forms import read_csv, read_jsonl, read_txt

_FORMS: Final = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".txt": "txt", ".parquet": "parquet"}
_DEFAULT: Final = Columns()


class RuleFile:
    """A file of rules that is read once, from front to back. `name` is a path, or `-` for standard input.

    `size` and `n_read` count bytes, or rows of a table. `size` is None if it is not known.
    """

    def __init__(self, name: str, columns: Columns = _DEFAULT) -> None:
        self.name = name
        self._columns = columns
        self._form = "" if name == STANDARD_INPUT else form_of(name, _FORMS, "rules")
        self._lines = LineFile(name)
        self._n_rows_read = 0
        self._n_rows: int | None = None

    @property
    def size(self) -> int | None:
        """How much there is to read; known once reading has begun."""
        return self._n_rows if self._form == "parquet" else self._lines.n_bytes

    @property
    def n_read(self) -> int:
        """How much has been read."""
        return self._n_rows_read if self._form == "parquet" else self._lines.n_bytes_read

    def rows(self) -> Generator[Row]:
        """Yield one row per rule or line that is none. Raises `InputError` if the file as a whole cannot be read."""
        if self._form == "parquet":
            yield from self._parquet_rows()
            return
        with closing(self._lines.lines()) as opened:  # an error would keep the file open for as long as it is kept
            lines: Iterator[bytes] = opened
            form = self._form
            if form == "":  # standard input has no suffix
                first, lines = peekable(lines)
                form = "jsonl" if first.lstrip().startswith(b"{") else "txt"
            if form == "jsonl":
                yield from read_jsonl(lines, self._columns)
            elif form == "csv":
                yield from read_csv(lines, self._columns, self.name)
            else:
                yield from read_txt(lines)

    def _parquet_rows(self) -> Iterator[Row]:
        from ruledex.sources.parquet import ParquetRules

        table = ParquetRules(Path(self.name), self._columns)
        self._n_rows = table.n_rows
        for row in table.rows():
            self._n_rows_read += 1
            yield row
