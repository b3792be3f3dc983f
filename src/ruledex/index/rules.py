"""Read rules in every form that a user may give them in, as columns. An invalid rule is a fault and stops no other."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.errors import InputError, RuleError, RuleFault, RuleSyntaxError, quoted
from ruledex.index.identities import RuleId, integers_of, plain_id
from ruledex.index.inputs import check_rows
from ruledex.index.tags import column_texts, tags_text
from ruledex.language.structured import from_structured
from ruledex.language.text import tree_text
from ruledex.language.value import INT64_MAX, INT64_MIN
from ruledex.sources import EMPTY_ID, BadRow, Columns, DefinitionRow, RuleFile, RuleRow, definition_in

if TYPE_CHECKING:
    from ruledex.formats import ForeignRules

# (id, text), (id, text, static score), (id, text, static score, tags), {"id": …, "expr": …, "score": …, "tags": …}, a
# table, a data frame, or a file's path.
Rules: TypeAlias = (
    "Iterable[tuple[Any, ...] | Mapping[str, Any] | RuleRow | BadRow | DefinitionRow] | pa.Table | str | "
    "os.PathLike[str]"
)

_COLUMNS: Final = Columns()
NO_DEFINITIONS: Final[Mapping[str, DefinitionRow]] = MappingProxyType({})


class RuleColumns(NamedTuple):
    """Rules as columns, ascending by id, each id once; and the faults of invalid ones."""

    ids: pa.Array  # int64 or large_string
    texts: pa.Array
    scores: NDArray[np.float64]
    lines: NDArray[np.int64]  # of each in the input, from 1
    faults: list[RuleFault]
    tags: pa.Array | None = None  # canonical JSON (tags.py), null where no tags are given; None if none are at all
    definitions: Mapping[str, DefinitionRow] = NO_DEFINITIONS  # that are among the rules, by name
    originals: pa.Array | None = None  # rules as written for other systems, null for others; None if there are none

    def fault(self, row: int, error: RuleError) -> RuleFault:
        """Return what is wrong with the rule in a row."""
        return RuleFault(self.ids[row].as_py(), error, int(self.lines[row]))

    def without(self, rows: list[int]) -> RuleColumns:
        """Return all rules but those in some rows."""
        keep = np.ones(len(self.ids), np.bool_)
        keep[rows] = False
        mask = pa.array(keep)
        return self._replace(
            ids=self.ids.filter(mask),
            texts=self.texts.filter(mask),
            scores=self.scores[keep],
            lines=self.lines[keep],
            tags=None if self.tags is None else self.tags.filter(mask),
            originals=None if self.originals is None else self.originals.filter(mask),
        )


def read_rules(rules: Rules, columns: Columns = _COLUMNS) -> RuleColumns:
    """Read rules in the order of their ids. Of rules with the same id the first is kept, the others are faults."""
    if isinstance(rules, str | os.PathLike):
        name = os.fspath(rules)
        if Path(name).suffix.lower() == ".parquet":
            return _sort(_of_table(_parquet(name, columns), columns, name))
        with closing(RuleFile(name, columns).rows()) as rows:
            return _sort(_of_rows(rows, columns))
    if isinstance(rules, pa.RecordBatch):
        rules = pa.Table.from_batches([rules])
    elif hasattr(rules, "__arrow_c_stream__") and not isinstance(rules, pa.Table):
        rules = _arrow(rules)
    if isinstance(rules, pa.Table):
        return _sort(_of_table(rules, columns, "the table"))
    what = "rules are (id, text) or (id, text, score), mappings, a table or frame, or a file's path"
    if isinstance(rules, Mapping | bytes):
        raise InputError(f"{what}, not {type(rules).__name__}")
    check_rows(rules, what, InputError)
    return _sort(_of_rows(rules, columns))


# Tables.


def _arrow(frame: Any) -> pa.Table:
    try:
        return pa.table(frame)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise InputError(f"this {type(frame).__name__} cannot be read as Arrow: {error}") from None


def _parquet(name: str, columns: Columns) -> pa.Table:
    import pyarrow.parquet as pq

    try:
        found = pq.read_schema(name).names
        wanted = [column for column in (columns.id, columns.expr, columns.score, columns.tags) if column in found]
        return pq.read_table(name, columns=wanted)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(f"{name}: {error}") from None


def _of_table(table: pa.Table, columns: Columns, name: str) -> RuleColumns:
    for wanted in (columns.id, columns.expr):
        if wanted not in table.column_names:
            known = ", ".join(table.column_names)
            raise InputError(f"{name}: there is no column {quoted(wanted)}; the columns are {known}")
    for used in (columns.id, columns.expr, columns.score, columns.tags):
        if table.column_names.count(used) > 1:
            raise InputError(f"{name}: there are several columns {quoted(used)}")
    ids = _plain(table.column(columns.id))
    texts = _plain(table.column(columns.expr))
    if pa.types.is_integer(ids.type):
        ids = _cast(ids, pa.int64(), name)
    elif not pa.types.is_large_string(ids.type):
        raise InputError(f"{name}: the column {quoted(columns.id)} holds {ids.type}; ids are integers or strings")
    else:
        _check_utf8(ids, name)
    if not pa.types.is_large_string(texts.type):
        raise InputError(f"{name}: the column {quoted(columns.expr)} holds {texts.type}, not text")
    scores = np.zeros(len(ids))
    if columns.score in table.column_names:
        given = _cast(_plain(table.column(columns.score)), pa.float64(), name)
        scores = np.array(given.fill_null(0.0), np.float64)
    lines = np.arange(1, len(ids) + 1, dtype=np.int64)
    tags, bad_tags = None, list[tuple[int, RuleError]]()
    if columns.tags in table.column_names:
        tags, bad_tags = column_texts(table.column(columns.tags), f"{name}: the column {quoted(columns.tags)}")
    read = RuleColumns(ids, texts, scores, lines, [], tags)
    faults = [
        *_faults(read, np.array(ids.is_null()), "a rule needs an id"),
        *_faults(read, _is_empty(ids), EMPTY_ID),
        *_faults(read, np.array(texts.is_null()), "there is no text"),
        *_faults(read, ~np.isfinite(scores), "a score is a finite number"),
        *((row, read.fault(row, error)) for row, error in bad_tags),
    ]
    read.faults.extend(fault for _, fault in sorted(faults, key=lambda pair: pair[0]))
    return read.without([row for row, _ in faults]) if faults else read


def _faults(read: RuleColumns, is_bad: NDArray[np.bool_], message: str) -> list[tuple[int, RuleFault]]:
    return [(row, read.fault(row, RuleError(message))) for row in np.flatnonzero(is_bad).tolist()]


def _is_empty(ids: pa.Array) -> NDArray[np.bool_]:
    if not pa.types.is_large_string(ids.type):
        return np.zeros(len(ids), np.bool_)
    import pyarrow.compute as pc

    return np.array(pc.equal(ids, "").fill_null(False), np.bool_)


def _plain(column: pa.ChunkedArray) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string(column.type) or pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    joined = column.combine_chunks()
    return joined.combine_chunks() if isinstance(joined, pa.ChunkedArray) else joined


def _check_utf8(ids: pa.Array, name: str) -> None:
    try:
        ids.validate(full=True)
    except pa.ArrowException as error:
        raise InputError(f"{name}: the ids are not text in UTF-8: {error}") from None


def _cast(column: pa.Array, kind: pa.DataType, name: str) -> pa.Array:
    try:
        return column.cast(kind)
    except pa.ArrowException as error:
        raise InputError(f"{name}: {error}") from None


# Rows.


def _of_rows(rules: Iterable[Any], columns: Columns) -> RuleColumns:
    ids: list[RuleId] = []
    texts: list[str] = []
    scores: list[float] = []
    tags: list[str | None] = []
    originals: list[str | None] = []
    lines: list[int] = []
    faults: list[RuleFault] = []
    definitions: dict[str, DefinitionRow] = {}
    for row in _rows(rules, columns):
        if isinstance(row, DefinitionRow):
            before = definitions.setdefault(row.name, row)
            if before.text != row.text:
                told = f"another condition was defined under this name before, in line {before.line}"
                faults.append(RuleFault(row.rule_id, RuleError(told), row.line))
            continue
        if isinstance(row, BadRow):
            faults.append(RuleFault(None if row.rule_id == "" else row.rule_id, RuleError(row.message), row.line))
            continue
        rule_id = plain_id(row.rule_id)
        try:
            _check_id(rule_id, ids[0] if ids else rule_id)
            text = _text(row)
            if not math.isfinite(row.score):
                raise RuleError(f"a score is a finite number, not {quoted(row.score)}")
            tagged = None if row.tags is None else tags_text(row.tags)
        except RuleError as error:
            faults.append(RuleFault(rule_id if isinstance(rule_id, int | str) else None, error, row.line))
            continue
        ids.append(rule_id)
        texts.append(text)
        scores.append(row.score)
        tags.append(tagged)
        originals.append(row.original)
        lines.append(row.line)
    column = _string_array(ids) if ids and isinstance(ids[0], str) else _integer_array(ids)
    numbers = np.array(scores, float), np.array(lines, int)
    read = RuleColumns(column, _string_array(texts), *numbers, faults, _optional_array(tags), definitions)
    return read._replace(originals=_optional_array(originals))


def _optional_array(values: list[str | None]) -> pa.Array | None:
    """Return texts, null where there is none, or None if there are none at all."""
    return pa.array(values, pa.large_string()) if any(value is not None for value in values) else None


# `pa.array` imports pandas, if there is any, to see whether it is given a Series.


def _integer_array(values: list[Any]) -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(np.array(values, np.int64))])


def _string_array(values: list[Any]) -> pa.Array:
    encoded = [value.encode() for value in values]
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum([len(value) for value in encoded], out=offsets[1:])
    return pa.Array.from_buffers(
        pa.large_string(), len(values), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    )


def _rows(rules: Iterable[Any], columns: Columns) -> Iterator[RuleRow | BadRow | DefinitionRow]:
    for line, rule in enumerate(rules, 1):
        if isinstance(rule, RuleRow | BadRow | DefinitionRow):
            yield rule
        elif isinstance(rule, Mapping):
            if (definition := definition_in(rule, columns, line)) is not None:
                yield definition
                continue
            given = rule.get(columns.score)
            tags, document = rule.get(columns.tags), rule.get(columns.rule)
            yield _row(line, rule.get(columns.id), rule.get(columns.expr), given, tags, document)
        elif isinstance(rule, tuple | list) and 2 <= len(rule) <= 4:
            yield _row(line, *rule)
        else:
            forms = "(id, text), (id, text, score), (id, text, score, tags) or a mapping"
            yield BadRow(line, "", f"a rule is {forms}, not {type(rule).__name__}")


def _row(
    line: int, rule_id: Any, text: Any, score: Any = None, tags: Any = None, document: Any = None
) -> RuleRow | BadRow:
    try:
        return RuleRow(line, rule_id, text, document, 0.0 if score is None else float(score), tags)
    except (TypeError, ValueError, OverflowError):
        shown = str(rule_id) if isinstance(rule_id, int | str) else ""
        return BadRow(line, shown, f"a score is a finite number, not {quoted(score)}")


def _check_id(rule_id: Any, first: Any) -> None:
    if isinstance(rule_id, bool) or not isinstance(rule_id, int | str):
        raise RuleError(f"an id is an integer or a string, not {quoted(rule_id)}")
    if rule_id == "":
        raise RuleError(EMPTY_ID)
    if isinstance(rule_id, str) is not isinstance(first, str):
        both = f"this id is {quoted(rule_id)} and the first one {quoted(first)}"
        raise RuleError(f"{both}: ids are all integers or all strings")
    if isinstance(rule_id, int) and not INT64_MIN <= rule_id <= INT64_MAX:
        raise RuleError("an id has at most 64 bits")
    if isinstance(rule_id, str):
        _check_unicode(rule_id, "the id")


def _text(row: RuleRow) -> str:
    if row.text is None and row.document is not None:
        return tree_text(from_structured(row.document))
    text = row.text
    if isinstance(text, bytes):
        try:
            return text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise RuleSyntaxError("the text is not UTF-8", text.decode("utf-8", "replace"), error.start) from None
    if not isinstance(text, str):
        raise RuleError("there is no text" if text is None else f"a rule is a text, not {type(text).__name__}")
    _check_unicode(text, "the text")
    return text


def _check_unicode(text: str, what: str) -> None:
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise RuleSyntaxError(f"{what} is not Unicode: half of a surrogate pair") from None


# Order.


def _ascends(ids: pa.Array) -> bool:
    if pa.types.is_int64(ids.type):
        values = integers_of(ids)
        return bool((values[:-1] < values[1:]).all())
    import pyarrow.compute as pc

    # Arrow orders strings by their bytes, which is Python's order by code points.
    return bool(pc.all(pc.less(ids[:-1], ids[1:])).as_py())


def _sort(read: RuleColumns) -> RuleColumns:
    """Sort rules by id, and keep the first of equal ids."""
    if len(read.ids) < 2:
        return read
    if not _ascends(read.ids):
        import pyarrow.compute as pc

        order = pc.array_sort_indices(read.ids)
        rows = np.array(order, np.int64)
        read = read._replace(
            ids=read.ids.take(order),
            texts=read.texts.take(order),
            scores=read.scores[rows],
            lines=read.lines[rows],
            tags=None if read.tags is None else read.tags.take(order),
            originals=None if read.originals is None else read.originals.take(order),
        )
        again = np.flatnonzero(np.array(pc.equal(read.ids[:-1], read.ids[1:]))) + 1
        first_line = 0
        for i, row in enumerate(again.tolist()):
            if i == 0 or again[i - 1] != row - 1:
                first_line = int(read.lines[row - 1])
            read.faults.append(read.fault(row, RuleError(f"this id was given before, in line {first_line}")))
        if len(again):
            read = read.without(again.tolist())
    read.faults.sort(key=lambda fault: fault.line)
    return read


def translate_rules(rules: Any, format: str | None) -> ForeignRules | None:  # noqa: A002
    """Return rules of another system in the language of ruledex, or None if they are rules of ruledex."""
    from ruledex import formats

    if format is not None:
        return formats.read(rules, format)
    return rules if isinstance(rules, formats.ForeignRules) else None


def translate_rows(rules: Any, format: str | None) -> Any:  # noqa: A002
    """Return rules of another system as rows, their definitions among them, and other rules as they are given."""
    foreign = translate_rules(rules, format)
    return rules if foreign is None else foreign.all_rows()


def read_given_rules(rules: Rules, columns: Columns | None) -> RuleColumns:
    """Read rules. Where a file has none of ruledex, but plainly those of another system, the error says so."""
    if columns is None:
        columns = _COLUMNS
    elif not isinstance(columns, Columns):
        raise InputError(f"columns are ruledex.sources.Columns(id=…, expr=…), not {quoted(columns)}")
    if not isinstance(rules, str | os.PathLike):
        return read_rules(rules, columns)
    from ruledex.formats import hint_of

    try:
        read = read_rules(rules, columns)
    except InputError as error:
        if hint := hint_of(rules):
            raise InputError(f"{error}; {hint}") from None
        raise
    if read.faults and not len(read.ids) and (hint := hint_of(rules)):
        raise InputError(f"{os.fspath(rules)}: no line has a rule of ruledex; {hint}")
    return read
