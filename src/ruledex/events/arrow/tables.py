"""Convert events in any form that Arrow reads to one table or record batch, and tables to rows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterable
from typing import Any, Final, TypeAlias

import pyarrow as pa

from ruledex import limits
from ruledex.dictionary.dictionary import Dictionary
from ruledex.errors import EventError, quoted
from ruledex.events.arrow.packed import packed_in
from ruledex.language.any_text import WHOLE_EVENT

TABLES: Final = (pa.Table, pa.RecordBatch)
ArrowEvents: TypeAlias = Any  # what `is_arrow` says yes to; pyarrow has no types of its own
FEW_ROWS: Final = 8  # a column costs some 70 µs however few its rows, and a row as a mapping some 5 µs per column
_PLAIN: Final = frozenset(
    {
        *(pa.null(), pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()),
        *(pa.uint64(), pa.float32(), pa.float64(), pa.string(), pa.large_string(), pa.string_view(), pa.date32()),
    }
)


def is_arrow(events: Any) -> bool:
    """Whether events are a table, a record batch, an array of structs, or a frame that gives an Arrow stream."""
    if isinstance(events, dict | list | tuple):
        return False
    return isinstance(events, pa.Array) or hasattr(events, "__arrow_c_stream__") or hasattr(events, "__arrow_c_array__")


def read_arrow_events(events: ArrowEvents, dictionaries: Callable[[], Iterable[Dictionary]]) -> Any:
    """Return the events as a table or record batch, or as a list of mappings if Arrow cannot hold their values.

    `dictionaries` are those of the rules, asked for if needed: of a pandas frame only the columns that they use are
    read, since any other may have objects that Arrow does not know.
    """
    if not _is_pandas(events):
        return as_table(events)
    paths = {path for dictionary in dictionaries() for path in dictionary.used_paths}
    frame = _used_part(events, {path[0] for path in paths if path}, WHOLE_EVENT in paths)
    if not frame.shape[1]:
        return pa.table({"": pa.nulls(len(frame))})  # rows without columns are not counted by Arrow
    try:
        return as_table(frame)
    except EventError:
        names = list(map(str, frame.columns))
        if len(set(names)) < len(names):
            raise
        return frame.set_axis(names, axis=1).to_dict("records")


def as_table(events: ArrowEvents) -> Any:
    """Return the events as a table or record batch, with one row per event."""
    if isinstance(events, TABLES):
        return events
    if isinstance(events, pa.Array | pa.ChunkedArray):
        return _of_structs(events)
    if _is_pandas(events):
        events = _periods_as_texts(events)
        _refuse_deep_objects(events)
    try:
        if hasattr(events, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(events).read_all()
        if hasattr(events, "__arrow_c_array__"):
            return pa.record_batch(events)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise EventError(f"this {type(events).__name__} cannot be read as Arrow: {error}") from None
    raise EventError(f"events are an Arrow table or a frame that gives one, not {type(events).__name__}")


# Frames of pandas.


def _is_pandas(events: Any) -> bool:
    return type(events).__module__.partition(".")[0] == "pandas" and hasattr(events, "columns")


def _used_part(frame: Any, used: set[str], is_whole: bool) -> Any:
    """Return the columns of some names, or all of them. The index stays if it has one of the names."""
    if used.isdisjoint(map(str, frame.index.names)):
        frame = frame.reset_index(drop=True)
    return frame if is_whole else frame.loc[:, [str(label) in used for label in frame.columns]]


def _periods_as_texts(frame: Any) -> Any:
    """Return the frame with periods as their texts, as in a mapping. Arrow would give their numbers."""
    for place, kind in enumerate(frame.dtypes):
        if type(kind).__name__ == "PeriodDtype":
            texts = frame.iloc[:, place].astype("string")
            columns = [texts if at == place else frame.iloc[:, at] for at in range(frame.shape[1])]
            frame = sys.modules["pandas"].concat(columns, axis=1)
    return frame


def _refuse_deep_objects(frame: Any) -> None:
    """Raise for values that Arrow would follow down without end: it crashes on lists that hold themselves."""
    infer_dtype = sys.modules["pandas"].api.types.infer_dtype
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place]
        if column.dtype == object and infer_dtype(column, skipna=True).startswith("mixed"):
            for number, value in enumerate(column):
                if isinstance(value, list | tuple | dict):
                    _refuse_deep(value, number)


def _refuse_deep(value: Any, number: int) -> None:
    most = limits.current()
    level, n_seen = [value], 0
    for _ in range(most.event_depth):
        below = [
            item
            for holder in level
            for item in (holder.values() if isinstance(holder, dict) else holder)
            if isinstance(item, list | tuple | dict)
        ]
        n_seen += len(below)
        if not below:
            return
        if n_seen > most.event_lists:
            raise EventError(f"a value holds more lists than the limit event_lists of {most.event_lists:,}").at(number)
        level = below
    raise EventError(f"a value nests deeper than the limit event_depth of {most.event_depth}").at(number)


def table_rows(table: Any) -> list[dict[str, Any]]:
    """Return the rows as mappings, with maps as mappings too."""
    names = table.schema.names
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise EventError(f"the events have several columns named {quoted(twice)}")
    try:
        rows: list[dict[str, Any]] = table.to_pylist(maps_as_pydicts="lossy")
    except (pa.ArrowException, ValueError, OverflowError) as error:  # of times that Python cannot name, for one
        raise EventError(f"this table cannot be read row by row: {error}") from None
    return rows


class FewRows:
    """Reads tables of a few rows as mappings, with the columns that rules use. Safe to use from several threads."""

    def __init__(self, names: Container[str]) -> None:
        self._names = names
        # Of the last table: its schema, and which columns to read, or None. To look at types takes as long as to read.
        self._last: tuple[pa.Schema, dict[str, int] | None] = pa.schema([]), {}

    def read(self, table: Any) -> list[dict[str, Any]] | None:
        """Return the rows, or None if columns are the better way.

        They are where rows are many, where columns are packed, where a map may have any number of keys, where two
        columns share a name, and where Python cannot hold a value. Rows do not tell how wide a number was, nor a null
        from what is absent: where rules use functions of attributes, which may ask for that, this is not the way.
        """
        if table.num_rows > FEW_ROWS or packed_in(table.schema):
            return None
        schema, used = self._last
        if not table.schema.equals(schema):
            used = self._used(table.schema)
            self._last = table.schema, used
        if not used:
            return None if used is None else [{} for _ in range(table.num_rows)]
        try:
            columns = [table.column(place).to_pylist() for place in used.values()]
        except (pa.ArrowException, ValueError, OverflowError):  # no UTF-8, or a day beyond the year 9999
            return None
        return [dict(zip(used, values, strict=True)) for values in zip(*columns, strict=True)]

    def _used(self, schema: pa.Schema) -> dict[str, int] | None:
        used = [(field.name, place) for place, field in enumerate(schema) if field.name in self._names]
        is_plain = len(dict(used)) == len(used) and all(_is_plain(schema.field(place).type) for _, place in used)
        return dict(used) if is_plain else None


def _is_plain(kind: Any) -> bool:
    """Whether Arrow gives values of a type to Python exactly as they are encoded by column."""
    if pa.types.is_struct(kind):
        return len({field.name for field in kind}) == kind.num_fields and all(_is_plain(field.type) for field in kind)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _is_plain(kind.value_type)
    if pa.types.is_timestamp(kind):
        return kind.unit == "us" and kind.tz in (None, "UTC")
    return kind in _PLAIN or pa.types.is_decimal(kind)


def _of_structs(events: Any) -> Any:
    """Return the fields of an array of structs as columns."""
    if not pa.types.is_struct(events.type):
        raise EventError(f"an array of events is one of structs, not of {events.type}")
    if events.null_count:
        number = events.is_null().index(True).as_py()
        raise EventError("an event is a mapping of names to values, not null").at(number)
    if isinstance(events, pa.ChunkedArray):
        batches = [pa.RecordBatch.from_struct_array(chunk) for chunk in events.chunks]
        return pa.Table.from_batches(batches, pa.schema(list(events.type)))
    return pa.RecordBatch.from_struct_array(events)
