"""Rules in text files: a JSON object a line, a CSV table, or one rule a line."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Final

import orjson

from ruledex import limits
from ruledex.errors import InputError, quoted
from ruledex.sources.lines import as_text_file
from ruledex.sources.row import (
    MISSING,
    BadRow,
    Columns,
    Row,
    RuleRow,
    row_of,
)

_COMMENT: Final = b"#"


def read_jsonl(lines: Iterator[bytes], columns: Columns) -> Iterator[Row]:
    """`{"id": …, "expr": …, "score": …}`, or with `rule`, the structured form, in place of `expr`."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            yield BadRow(number, "", f"this line is not JSON: {error}")
            continue
        if not isinstance(record, dict):
            yield BadRow(number, "", "a line is a JSON object with an id and a rule")
            continue
        found = [record.get(name, MISSING) for name in (columns.id, columns.expr, columns.rule, columns.score)]
        yield row_of(number, *found)


def read_csv(lines: Iterator[bytes], columns: Columns, name: str) -> Iterator[Row]:
    """A table whose first row names the columns. Fields may be quoted, and then hold line ends."""
    # The limit is the process's; it must let through whatever the parser would read.
    csv.field_size_limit(max(csv.field_size_limit(), limits.current().rule_characters + 1))
    reader = csv.reader(as_text_file(lines), strict=True)
    header = _next_record(reader)
    if header is None:
        raise InputError(f"{name}: the file is empty; its first row names the columns")
    if isinstance(header, str):
        raise InputError(f"{name}: the first row is not CSV: {header}")
    places = {column.strip(): i for i, column in enumerate(header)}
    for wanted in (columns.id, columns.expr):
        if wanted not in places:
            raise InputError(f"{name}: there is no column {quoted(wanted)}; the columns are {', '.join(places)}")
    while True:
        line = reader.line_num + 1
        record = _next_record(reader)
        if record is None:
            return
        if isinstance(record, str):
            yield BadRow(line, "", f"this row is not CSV: {record}")
        elif record and len(record) != len(header):
            yield BadRow(line, "", f"the header has {len(header)} fields and this row {len(record)}")
        elif record:
            score = record[places[columns.score]] if columns.score in places else MISSING
            yield _checked(row_of(line, record[places[columns.id]], record[places[columns.expr]], MISSING, score))


def _next_record(reader: Iterator[list[str]]) -> list[str] | str | None:
    """The next record, what is wrong with it, or None at the end."""
    try:
        return next(reader, None)
    except csv.Error as error:
        return str(error)


def _checked(row: Row) -> Row:
    """The row, unless its bytes were not UTF-8."""
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
    """One rule a line, its number the rule's id; blank lines and those that start with # are none."""
    for number, line in enumerate(lines, 1):
        rule = line.strip()
        if rule and not rule.startswith(_COMMENT):
            yield RuleRow(number, number, rule)
