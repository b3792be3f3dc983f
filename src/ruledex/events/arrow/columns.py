"""Find an event's attributes in the columns of an Arrow table: the values on a path, and the event of each.

A path means what it does in an event that is a mapping (`leaves_of` in language/resolve.py): it leads through structs
by field, through maps by key, and through lists to all of their elements; a list at its end gives its elements.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ruledex import limits
from ruledex.errors import EventError, quoted
from ruledex.events.arrow.packed import SparseColumn, packed_in, sparse_columns
from ruledex.events.arrow.taking import (
    Array,
    decode_layout,
    flatten_lists,
    join_chunks,
    make_takeable,
    storage_of,
    take,
    valid,
)
from ruledex.language.plain import warn_untyped
from ruledex.language.text import path_text

Path: TypeAlias = tuple[str, ...]

_NONE: Final = np.empty(0, np.int64)
_NO_ENTRIES: Final = SparseColumn(pa.nulls(0), _NONE)


class Leaves(NamedTuple):
    """All values on a path, null for what is missing.

    Without `events` there is one value per event, in order. With `events` and without `nulls` an event has at most one
    value, and the other events have null. With both, an event that is in neither has only empty lists there.
    """

    values: Array
    events: NDArray[np.int64] | None  # of each value, ascending
    nulls: NDArray[np.int64] | None  # an event for each further value that is null


# Types by their numbers: a table may have thousands of columns, and to ask for each type by name costs more than most
# columns do.
_PLAIN: Final = frozenset(
    kind.id
    for kind in (
        *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        *(pa.float16(), pa.float32(), pa.float64(), pa.string(), pa.large_string(), pa.date32(), pa.timestamp("us")),
    )
)
_LISTS: Final = frozenset(
    kind.id
    for kind in (
        *(pa.list_(pa.null()), pa.large_list(pa.null()), pa.list_(pa.null(), 1)),
        *(pa.list_view(pa.null()), pa.large_list_view(pa.null())),
    )
)
_UNTYPED: Final = frozenset(
    kind.id
    for kind in (
        *(pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(1), pa.duration("us")),
        *(pa.time32("s"), pa.time64("us"), pa.month_day_nano_interval()),
    )
)


class EventColumns:
    """The columns of one batch. Remembers what it has found."""

    def __init__(self, batch: Any, n_events: int, first: int = 0) -> None:
        self.n_events = n_events  # a slice of a table without columns does not know it
        self.n_combinations: NDArray[np.int64] | None = None  # of elements, where the events are those of a lambda
        self.first: int | None = first  # the number of the first event; None if they are elements of events
        # Of two columns with one name the last counts.
        self._columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        self._sparse: dict[str, SparseColumn] = {}
        self._packed: set[str] = set()
        for name, names in packed_in(batch.schema).items():
            self._packed.update(names)
            self._sparse.update(sparse_columns(self._columns.pop(name), names))
        self._opened: dict[Path, Leaves] = {}
        self._maps: dict[Path, MapEntries | None] = {}

    @classmethod
    def of_arrays(cls, arrays: dict[str, Array], n_events: int) -> EventColumns:
        """Return the columns of arrays that have one value per event."""
        made = cls(pa.table({}), n_events)
        made._columns, made.first = arrays, None
        return made

    def taken(self, name: str, events: NDArray[np.int64]) -> Array:
        """Return what some events have under a name, with an event as often as it is given."""
        sparse = self._sparse.get(name)
        if sparse is not None:
            places = np.full(self.n_events, -1)
            places[sparse.rows] = np.arange(len(sparse.rows))
            return take(sparse.values, places[events])
        return take(_whole(self._columns[name]), events)

    @property
    def names(self) -> Iterable[str]:
        """The columns' names, each once; of packed columns only those that have a value."""
        return [*self._columns, *self._sparse]

    def is_null(self, name: str) -> bool:
        """Whether no event has a value under a name."""
        if name in self._sparse:
            return False
        column = self._columns.get(name)
        return column is None or bool(column.null_count == self.n_events)

    def rows(self, names: Iterable[str]) -> list[dict[str, Any]]:
        """Return the events as mappings with these names, those left out that no column has."""
        rows: list[dict[str, Any]] = [{} for _ in range(self.n_events)]
        for name in names:
            if name in self._columns:
                values = self._columns[name].to_pylist(maps_as_pydicts="lossy")
            elif name in self._packed:
                values = [None] * self.n_events
                if (leaves := self.at((name,))).events is not None:
                    for event, value in zip(leaves.events.tolist(), leaves.values.to_pylist(), strict=True):
                        values[event] = value
            else:
                continue
            for row, value in zip(rows, values, strict=True):
                row[name] = value
        return rows

    def at(self, path: Path) -> Leaves:
        """Return the values at the end of a path."""
        found = self.reached(path)
        if is_list(found.values.type):
            found = self.elements(found)
        if found.values.type.id in _UNTYPED and found.values.null_count < len(found.values):
            warn_untyped(str(found.values.type), path)
        return found

    def reached(self, path: Path) -> Leaves:
        """Return what is at a path: of a list, the list itself."""
        name = path[-1]
        if len(path) == 1:
            sparse = self._sparse.get(name)
            if sparse is not None:
                return Leaves(plain_layout(sparse.values), sparse.rows, None)
            column = self._columns.get(name)
            return Leaves(pa.nulls(self.n_events) if column is None else plain_layout(_whole(column)), None, _NONE)
        above = self._open(path[:-1])
        if pa.types.is_struct(above.values.type):
            return above._replace(values=plain_layout(field_of(above.values, name)))
        if pa.types.is_map(above.values.type):
            return self._under(path[:-1], above, name)
        return above._replace(values=pa.nulls(len(above.values)))

    def _under(self, path: Path, maps: Leaves, key: str) -> Leaves:
        """Return what the maps at a path have under a key."""
        if path not in self._maps:
            self._maps[path] = _map_entries(maps.values)
        entries = self._maps[path]
        found = _NO_ENTRIES if entries is None else entries.under(key)
        values, owners = plain_layout(found.values), found.rows
        if maps.events is None:
            return Leaves(values, owners, None)
        if maps.nulls is None:
            return Leaves(values, maps.events[owners], None)
        # Maps in lists: each has a value, be it null.
        place = np.full(len(maps.values), -1)
        place[owners] = np.arange(len(owners))
        return maps._replace(values=take(values, place))

    def _open(self, path: Path) -> Leaves:
        """Return what lies at a path, with all lists around it opened."""
        known = self._opened.get(path)
        if known is None:
            known = self.reached(path)
            opened: list[Leaves] = []
            while is_list(known.values.type):
                opened.append(known)
                self._check_lists(path, opened)
                known = self.elements(known)
            self._opened[path] = known
        return known

    def _check_lists(self, path: Path, opened: list[Leaves]) -> None:
        """Raise an error if the lists at a path, one entry per depth, are over the limits of one event."""
        most = limits.current()
        if len(opened) > most.event_depth:
            message = f"lists nest deeper than the limit event_depth of {most.event_depth:,}"
            raise EventError(f"{path_text(path)}: {message}")
        if sum(len(lists.values) for lists in opened) <= most.event_lists:
            return
        counts = np.zeros(self.n_events, np.int64)
        for lists in opened:
            is_list = valid(lists.values)
            events = np.flatnonzero(is_list) if lists.events is None else lists.events[is_list]
            counts += np.bincount(events, minlength=self.n_events)
        if counts.max(initial=0) > most.event_lists:
            message = f"more lists than the limit event_lists of {most.event_lists:,} hold a value"
            raise EventError(f"{path_text(path)}: {message}").at(int(counts.argmax()))

    def elements(self, lists: Leaves) -> Leaves:
        """Return the elements of lists. A list that is null has one null element, and an empty list has none."""
        array = lists.values
        sizes = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
        owners = np.repeat(np.arange(len(array)), sizes)
        nulls = np.flatnonzero(_is_null(array))
        further = lists.nulls
        if lists.events is not None:
            owners, nulls = lists.events[owners], lists.events[nulls]
            if further is None:
                further = np.setdiff1d(np.arange(self.n_events), lists.events, assume_unique=True)
        return Leaves(
            plain_layout(flatten_lists(array)), owners, np.concatenate([_NONE if further is None else further, nulls])
        )


def _whole(column: Array) -> Array:
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)  # which joining would copy
    return join_chunks(column.chunks) if column.num_chunks else pa.nulls(0)


def plain_layout(array: Array) -> Array:
    """Return the array without extension types, run ends and dictionaries; only a dictionary of scalars stays."""
    kind = array.type
    if kind.id in _PLAIN:
        return array
    if pa.types.is_union(kind):
        raise EventError(f"a column of the Arrow type {kind} cannot be read: its values are of several types")
    if isinstance(array, pa.ExtensionArray):
        return plain_layout(storage_of(array))
    if pa.types.is_run_end_encoded(kind) or (pa.types.is_dictionary(kind) and not _is_scalar(kind.value_type)):
        return plain_layout(decode_layout(array))
    return array


def is_plain(kind: Any) -> bool:
    """Whether a type is one of scalars that are used as they are."""
    return kind.id in _PLAIN


def _is_scalar(kind: Any) -> bool:
    return not (pa.types.is_nested(kind) or pa.types.is_dictionary(kind) or isinstance(kind, pa.BaseExtensionType))


def is_list(kind: Any) -> bool:
    """Whether a type is one of lists, in any layout."""
    return kind.id in _LISTS


def _is_null(array: Array) -> NDArray[np.bool_]:
    nulls: NDArray[np.bool_] = array.is_null().to_numpy(zero_copy_only=False)
    return nulls


def field_of(array: Array, name: str) -> Array:
    """Return a field of structs, null where the struct is."""
    places = array.type.get_all_field_indices(name)
    if len(places) > 1:
        raise EventError(f"a struct has {len(places)} fields named {quoted(name)}")
    if not places:
        return pa.nulls(len(array))
    if array.null_count and pa.types.is_run_end_encoded(array.type.field(places[0]).type):
        # What is null above is null below, which Arrow cannot say of run ends.
        return take(array.field(places[0]), np.where(valid(array), np.arange(len(array)), -1))
    return pc.struct_field(array, places)


def _map_entries(maps: Array) -> MapEntries | None:
    """Return the entries of maps, or None where keys are not texts."""
    keys = make_takeable(maps.keys)
    if not is_text(keys.type):
        return None
    return MapEntries(maps, keys, make_takeable(maps.items))


class MapEntries:
    """The entries of a column of maps whose keys are texts, sorted by key once for all keys.

    Events of which each has a few of many attributes are best kept as a map: a missing attribute costs nothing. So
    rules may ask for thousands of keys, and none of them may cost a look at all entries. `keys` and `items` are those
    of all maps, in layouts that Arrow takes from.
    """

    def __init__(self, maps: Any, keys: Any, items: Any) -> None:
        offsets = maps.offsets.to_numpy()
        first, last = int(offsets[0]), int(offsets[-1])
        owners = np.repeat(np.arange(len(maps)), np.diff(offsets))
        coded = keys.slice(first, last - first).dictionary_encode()
        codes = coded.indices.to_numpy()
        entries = np.arange(first, last)
        if maps.null_count:  # a map that is null may have entries
            kept = np.flatnonzero(pc.is_valid(maps).to_numpy(zero_copy_only=False)[owners])
            owners, codes, entries = owners[kept], codes[kept], entries[kept]
        try:
            names = coded.dictionary.to_pylist()
        except UnicodeDecodeError:
            raise EventError("a map has a key that is not UTF-8") from None
        order = np.argsort(codes.astype(np.min_scalar_type(len(names))), kind="stable")  # fewer bits are sorted sooner
        owners, codes, entries = owners[order], codes[order], entries[order]
        is_again = (owners[1:] == owners[:-1]) & (codes[1:] == codes[:-1])
        if is_again.any():  # of two entries with one key in a map the last counts
            kept = np.flatnonzero(np.append(~is_again, True))
            owners, codes, entries = owners[kept], codes[kept], entries[kept]
        counts = np.bincount(codes, minlength=len(names))
        ends = np.cumsum(counts)
        self._ranges = dict(zip(names, zip((ends - counts).tolist(), ends.tolist(), strict=True), strict=True))
        self._owners, self._entries, self._items = owners, pa.array(entries), items

    def all(self) -> SparseColumn:
        """Return the values under all keys, in the order of the keys, and the place of the map that has each."""
        return SparseColumn(self._items.take(self._entries), self._owners)

    def under(self, key: str) -> SparseColumn:
        """Return the values under a key, and the place of the map that has each."""
        begin, end = self._ranges.get(key, (0, 0))
        return SparseColumn(self._items.take(self._entries.slice(begin, end - begin)), self._owners[begin:end])


def is_text(kind: Any) -> bool:
    """Whether a type is a string type, in any layout."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
