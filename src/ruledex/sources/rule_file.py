"""Read a file of rules in any of its formats: JSON lines, CSV, plain text or Parquet. The name of the file says which.

A row that is not a rule becomes a `BadRow` and does not end the file.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import orjson

from ruledex import limits
from ruledex.errors import InputError, quoted
from ruledex.sources.lines import STANDARD_INPUT, SourceFile, as_text_file, convert_file_errors, form_of

if TYPE_CHECKING:
    import pyarrow as pa

EMPTY_ID: Final = "a rule needs an id; an empty string is not an id"
_MISSING: Final = object()
_DEFINE: Final = "define"  # the key of a definition's name
_CORRELATE: Final = "correlate"  # the key of a correlation's name, which is no rule
_FORMS: Final = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".txt": "txt", ".parquet": "parquet"}
_COMMENT: Final = b"#"
_PARQUET_ROWS: Final = 8_192  # read at once


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule as read: its `text` (bytes if the encoding is not checked yet), or its structured form in `document`.

    >>> from ruledex.sources import RuleRow
    >>> RuleRow(line=1, rule_id=7, text="age >= 18").score
    0.0
    """

    line: int  # the line of the file or the row of the table, counted from 1
    rule_id: int | str  # as in the file
    text: str | bytes | None
    document: Any = None
    score: float = 0.0
    tags: Any = None  # a mapping, or JSON of one
    original: str | None = None  # what its owner wrote for another system, as an index stores it


@dataclass(frozen=True, slots=True)
class BadRow:
    """A line that is not a rule, and why. `rule_id` is empty if it could not be read.

    >>> from pathlib import Path
    >>> from ruledex.sources import RuleFile
    >>> _ = Path("rules.jsonl").write_text("{}")
    >>> [type(row).__name__ for row in RuleFile("rules.jsonl").rows()]
    ['BadRow']
    """

    line: int
    rule_id: int | str
    message: str


@dataclass(frozen=True, slots=True)
class DefinitionRow:
    """A named condition among rules."""

    line: int
    name: str
    text: str

    @property
    def rule_id(self) -> str:
        """What stands for an id in messages."""
        return f"@{self.name}"


Row: TypeAlias = RuleRow | BadRow | DefinitionRow


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns or keys that rules are read from.

    >>> from ruledex.sources import Columns
    >>> rules = [{"key": 7, "condition": "age >= 18"}]
    >>> Index.build(rules, columns=Columns(id="key", expr="condition")).match({"age": 20})
    [7]
    """

    id: str = "id"
    expr: str = "expr"
    score: str = "score"
    rule: str = "rule"
    tags: str = "tags"


_DEFAULT: Final = Columns()


class RuleFile(SourceFile):
    """A file of rules that is read once, from front to back. `name` is a path, or `-` for standard input.

    >>> from pathlib import Path
    >>> from ruledex.sources import RuleFile
    >>> _ = Path("rules.jsonl").write_text('{"id": 1, "expr": "age >= 18"}')
    >>> [row.rule_id for row in RuleFile("rules.jsonl").rows()]
    [1]
    """

    def __init__(self, name: str, columns: Columns = _DEFAULT) -> None:
        super().__init__(name, "" if name == STANDARD_INPUT else form_of(name, _FORMS, "rules"))
        self._columns = columns

    def rows(self) -> Generator[Row]:
        """Yield one row per rule or line that is none. Raises `InputError` if the file as a whole cannot be read."""
        if self._form == "parquet":
            yield from self._read_parquet()
            return
        with closing(self._lines.lines()) as opened:  # an error would keep the file open for as long as it is kept
            lines: Iterator[bytes] = opened
            form = self._form
            if form == "":  # standard input has no suffix
                first, lines = _peek(lines)
                form = "jsonl" if first.lstrip().startswith(b"{") else "txt"
            if form == "jsonl":
                yield from _read_jsonl(lines, self._columns)
            elif form == "csv":
                yield from _read_csv(lines, self._columns, self.name)
            else:
                yield from _read_txt(lines)

    def _read_parquet(self) -> Iterator[Row]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        with convert_file_errors(self.name):
            try:
                file = pq.ParquetFile(self.name)
            except pa.ArrowInvalid as error:
                raise InputError(f"{self.name}: this is not a Parquet file: {error}") from None
            self._n_rows = file.metadata.num_rows
            try:
                with file:
                    names = _parquet_columns(file.schema_arrow, self._columns, self.name)
                    for batch in file.iter_batches(_PARQUET_ROWS, columns=names):
                        found = {name: _parquet_values(batch.column(name)) for name in names}
                        missing = [_MISSING] * batch.num_rows
                        of = self._columns
                        wanted = (of.id, of.expr, of.score, of.tags)
                        for row in zip(*(found.get(name, missing) for name in wanted), strict=True):
                            self._n_rows_read += 1
                            yield _parquet_row(self._n_rows_read, *row)
            except pa.ArrowException as error:
                raise InputError(f"{self.name}: {error}") from None


def _peek(lines: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the first line that is not blank, and an iterator over all lines."""
    kept = []
    for line in lines:
        kept.append(line)
        if line.strip():
            break
    return kept[-1] if kept else b"", chain(kept, lines)


def _read_jsonl(lines: Iterator[bytes], columns: Columns) -> Iterator[Row]:
    """Yield the rules of JSON lines: `{"id": …, "expr": …, "score": …, "tags": …}`, or `rule`, the structured form, for
    `expr`; and definitions, `{"define": name, "expr": …}` without an id. Correlations have the key `correlate`; they
    are no rules, and are passed over."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            yield BadRow(number, "", f"this line is not JSON: {error}")
            continue
        if not isinstance(record, dict):
            yield BadRow(number, "", "a line must be a JSON object with an id and a rule")
            continue
        if (definition := definition_in(record, columns, number)) is not None:
            yield definition
            continue
        if _CORRELATE in record and columns.id not in record:  # as `ruledex convert` keeps it beside the rules
            continue
        names = columns.id, columns.expr, columns.rule, columns.score, columns.tags
        found = [record.get(name, _MISSING) for name in names]
        yield _row_of(number, *found)


def definition_in(record: Mapping[str, Any], columns: Columns, line: int) -> DefinitionRow | BadRow | None:
    """Return the definition that a record is, what is wrong with it, or None if it is a rule."""
    if _DEFINE not in record or columns.id in record:
        return None
    name, text = record[_DEFINE], record.get(columns.expr)
    if not isinstance(name, str) or not name:
        return BadRow(line, "", f"a definition has a text as its name, not {quoted(name)}")
    if not isinstance(text, str):
        return BadRow(line, f"@{name}", f"a definition has its text in {quoted(columns.expr)}")
    return DefinitionRow(line, name, text)


def _read_csv(lines: Iterator[bytes], columns: Columns, name: str) -> Iterator[Row]:
    """Yield the rules of a CSV table. Its first row names the columns. Quoted fields may contain line ends."""
    # The limit applies to the whole process; it must allow whatever the parser can read.
    csv.field_size_limit(max(csv.field_size_limit(), limits.current().rule_characters + 1))
    reader = csv.reader(as_text_file(lines), strict=True)
    header = _next_record(reader)
    if header is None:
        raise InputError(f"{name}: the file is empty; its first row must name the columns")
    if isinstance(header, str):
        raise InputError(f"{name}: the first row is not CSV: {header}")
    names = [column.strip() for column in header]
    column_at = {column: i for i, column in enumerate(names)}
    for wanted in (columns.id, columns.expr, columns.score, columns.tags):
        if names.count(wanted) > 1:
            raise InputError(f"{name}: several columns are named {quoted(wanted)}")
    for wanted in (columns.id, columns.expr):
        if wanted not in column_at:
            raise InputError(f"{name}: there is no column {quoted(wanted)}; the columns are {', '.join(column_at)}")
    while True:
        line = reader.line_num + 1
        record = _next_record(reader)
        if record is None:
            return
        if isinstance(record, str):
            yield BadRow(line, "", f"this row is not CSV: {record}")
        elif record and len(record) != len(header):
            yield BadRow(line, "", f"the header has {len(header)} fields, but this row has {len(record)}")
        elif record:
            score, tags = (
                record[column_at[name]] if name in column_at else _MISSING for name in (columns.score, columns.tags)
            )
            given = record[column_at[columns.id]], record[column_at[columns.expr]]
            yield _check_utf8(_row_of(line, *given, _MISSING, score, tags or _MISSING))


def _next_record(reader: Iterator[list[str]]) -> list[str] | str | None:
    """Return the next record, the reason why it cannot be read, or None at the end."""
    try:
        return next(reader, None)
    except csv.Error as error:
        return str(error)


def _check_utf8(row: Row) -> Row:
    """Return the row, or a `BadRow` if its bytes were not UTF-8."""
    text = row.text if isinstance(row, RuleRow) and isinstance(row.text, str) else ""
    if (text + str(row.rule_id)).isascii():
        return row
    try:
        (text + str(row.rule_id)).encode("utf-8")
    except UnicodeEncodeError:
        rule_id = str(row.rule_id).encode("utf-8", "replace").decode()
        return BadRow(row.line, rule_id, "this row is not UTF-8")
    return row


def _read_txt(lines: Iterator[bytes]) -> Iterator[Row]:
    """Yield one rule per line, with the line number as its id. Skips blank lines and lines that begin with #."""
    for number, line in enumerate(lines, 1):
        rule = line.strip()
        if rule and not rule.startswith(_COMMENT):
            yield RuleRow(number, number, rule)


def _parquet_columns(fields: pa.Schema, columns: Columns, name: str) -> list[str]:
    """Return the columns to read. Raises an `InputError` if the table has no rules."""
    for wanted in (columns.id, columns.expr):
        if wanted not in fields.names:
            known = ", ".join(fields.names)
            raise InputError(f"{name}: there is no column {quoted(wanted)}; the columns are {known}")
    if not _is_text(fields.field(columns.expr).type):
        kind = fields.field(columns.expr).type
        raise InputError(f"{name}: the column {quoted(columns.expr)} holds {kind}, not text")
    return [columns.id, columns.expr] + [name for name in (columns.score, columns.tags) if name in fields.names]


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind))


def _parquet_values(column: pa.Array) -> list[Any]:
    """Return the values of a column, texts as bytes: Arrow does not check UTF-8, and one bad value must not end all."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = column.cast(pa.large_binary())
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    return column.to_pylist(maps_as_pydicts="lossy")  # type: ignore[no-any-return]


def _parquet_row(number: int, rule_id: object, text: object, score: object, tags: object) -> Row:
    if isinstance(rule_id, bytes):
        try:
            rule_id = rule_id.decode("utf-8")
        except UnicodeDecodeError:
            return BadRow(number, "", "the id is not UTF-8")
    return _row_of(number, rule_id, text, _MISSING, score, tags)


def _row_of(line: int, given_id: object, text: object, document: object, score: object, tags: object) -> Row:
    """Return the rule in these columns, or a `BadRow`. A column that is absent is `_MISSING`."""
    if given_id == "":
        return BadRow(line, "", EMPTY_ID)
    if isinstance(given_id, bool) or not isinstance(given_id, str | int):
        return BadRow(line, "", "a rule needs an id: a string or a whole number")
    rule_id = str(given_id)  # as a BadRow has it
    static = _score(score)
    if static is None:
        return BadRow(line, rule_id, f"a score is a finite number, not {quoted(score)}")
    if isinstance(text, str | bytes):
        if document is not _MISSING:
            return BadRow(line, rule_id, "a rule must be text or structured, not both")
        return RuleRow(line, given_id, text, None, static, _given(tags))
    if text is not _MISSING and text is not None:
        return BadRow(line, rule_id, f"the text of a rule must be a string, not {type(text).__name__}")
    if document is _MISSING:
        return BadRow(line, rule_id, "this line has no rule")
    return RuleRow(line, given_id, None, document, static, _given(tags))


def _given(value: object) -> Any:
    return None if value is _MISSING else value


def _score(given: object) -> float | None:
    if given is _MISSING or given is None or given == "":
        return 0.0
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        return None
    try:
        score = float(given)
    except (ValueError, OverflowError):
        return None
    return score if math.isfinite(score) else None
