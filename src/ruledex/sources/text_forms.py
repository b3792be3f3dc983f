"""Read rules from text files: JSON lines, CSV, or plain text with one rule per line."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Final

import orjson

from ruledex import limits
from ruledex.errors import InputError, quoted
from ruledex.sources.lines import as_text_file
from ruledex.sources.row import MISSING, BadRow, Columns, Row, RuleRow, row_of

_COMMENT: Final = b"#"


def read_jsonl(lines: Iterator[bytes], columns: Columns) -> Iterator[Row]:
    """Yield the rules of JSON lines: `{"id": …, "expr": …, "score": …}`, or `rule`, the structured form, for `expr`."""
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
        found = [record.get(name, MISSING) for name in (columns.id, columns.expr, columns.rule, columns.score)]
        yield row_of(number, *found)


def read_csv(lines: Iterator[bytes], columns: Columns, name: str) -> Iterator[Row]:
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
    for wanted in (columns.id, columns.expr, columns.score):
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
            score = record[column_at[columns.score]] if columns.score in column_at else MISSING
            yield _check_utf8(
                row_of(line, record[column_at[columns.id]], record[column_at[columns.expr]], MISSING, score)
            )


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


def read_txt(lines: Iterator[bytes]) -> Iterator[Row]:
    """Yield one rule per line, with the line number as its id. Skips blank lines and lines that begin with #."""
    for number, line in enumerate(lines, 1):
        rule = line.strip()
        if rule and not rule.startswith(_COMMENT):
            yield RuleRow(number, number, rule)
