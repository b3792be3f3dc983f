"""Count and sketch the attributes of events inside a task; sketches of several tasks can be merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ruledex.events.arrow.columns import EventColumns, Leaves, Path, is_text
from ruledex.events.arrow.taking import Array
from ruledex.events.arrow.values import is_nameless, present, to_python
from ruledex.events.statistics import AttributeStatistics, EventStatistics, ValueStatistics
from ruledex.language.value import INT64_MAX, INT64_MIN, is_missing
from ruledex.spark.jobs.profile.sketches import HeavyValues, Quantiles
from ruledex.spark.worker.events import has_variant, mappings

MOST_ATTRIBUTES: Final = 4096
_DEEPEST: Final = 32  # steps of a path
_NAMELESS: Final = "other"


class Sizes(NamedTuple):
    """How much to keep per attribute and type: the number of heavy values, and the parameter of the quantile sketch."""

    heavy: int
    quantiles: int


class ValueSketch:
    """A sketch of the values of one attribute that have one type."""

    def __init__(self, kind: Any, sizes: Sizes) -> None:
        self.n_events = 0
        self.n_values = 0
        is_named = not is_nameless(kind)
        self.heavy = HeavyValues(kind, sizes.heavy) if is_named else None
        self.quantiles = Quantiles(kind, sizes.quantiles) if is_named else None

    def add(self, values: Array, n_events: int) -> None:
        """Add the values of `n_events` events. The values have no nulls."""
        self.n_events += n_events
        self.n_values += len(values)
        if self.heavy is not None and self.quantiles is not None:
            self.heavy.add(values)
            self.quantiles.add(values)

    def merge(self, other: ValueSketch) -> None:
        """Add the values of another sketch of the same type."""
        self.n_events += other.n_events
        self.n_values += other.n_values
        for mine, theirs in ((self.heavy, other.heavy), (self.quantiles, other.quantiles)):
            if mine is not None and theirs is not None:
                mine.merge(theirs)  # type: ignore[arg-type]  # sketches of one kind

    def statistics(self, kind: str) -> ValueStatistics:
        """Return the statistics of all values added."""
        if self.heavy is None or self.quantiles is None:
            return ValueStatistics(kind, self.n_events, self.n_values)
        return ValueStatistics(
            kind,
            self.n_events,
            self.n_values,
            _pairs(*self.heavy.found()),
            self.heavy.error,
            _pairs(*self.quantiles.found()),
        )


class AttributeSketch:
    """A sketch of one attribute."""

    def __init__(self) -> None:
        self.n_present = 0
        self.n_empty = 0
        self.values: dict[str, ValueSketch] = {}

    def add_values(self, values: Array, n_events: int, sizes: Sizes) -> None:
        """Add values of `n_events` events, none of them null."""
        kind = _kind(values.type)
        values = values.cast(kind) if not is_nameless(kind) else values
        self.values.setdefault(_name(kind), ValueSketch(kind, sizes)).add(values, n_events)

    def merge(self, other: AttributeSketch) -> None:
        """Add the values of another sketch."""
        self.n_present += other.n_present
        self.n_empty += other.n_empty
        for name, values in other.values.items():
            if name in self.values:
                self.values[name].merge(values)
            else:
                self.values[name] = values

    def statistics(self) -> AttributeStatistics:
        """Return the statistics of all values added."""
        values = tuple(self.values[name].statistics(name) for name in sorted(self.values))
        return AttributeStatistics(self.n_present, self.n_empty, values)


class EventSketch:
    """A sketch of events. It keeps at most `MOST_ATTRIBUTES`: the first seen, and after a merge the most frequent."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.n_events = 0
        self.is_complete = True
        self.attributes: dict[Path, AttributeSketch] = {}

    def add(self, events: pa.Table, variants: Sequence[Path]) -> None:
        """Add events. The columns that `variants` names hold JSON."""
        stored = [field.name for field in events.schema if has_variant(field.type)]
        names = [name for name in events.column_names if (name,) not in variants and name not in stored]
        columns = EventColumns(events.select(names), events.num_rows)
        self.n_events += events.num_rows
        for path, leaves in _paths(columns, names):
            self._add_leaves(path, leaves, events.num_rows)
        for (name,) in variants:
            self._add_mixed(name, (None if text is None else orjson.loads(text) for text in events[name].to_pylist()))
        rows = mappings(events.select(stored))
        for name in stored:
            self._add_mixed(name, (row[name] for row in rows))

    def merge(self, other: EventSketch) -> None:
        """Add the values of another sketch."""
        self.n_events += other.n_events
        self.is_complete &= other.is_complete
        for path, attribute in other.attributes.items():
            self.attributes.setdefault(path, AttributeSketch()).merge(attribute)
        if len(self.attributes) > MOST_ATTRIBUTES:
            self.is_complete = False
            by_presence = sorted(self.attributes.items(), key=lambda item: (-item[1].n_present, item[0]))
            self.attributes = dict(by_presence[:MOST_ATTRIBUTES])

    def statistics(self) -> EventStatistics:
        """Return the statistics of all values added."""
        found = {path: attribute.statistics() for path, attribute in sorted(self.attributes.items())}
        return EventStatistics(self.n_events, found, self.is_complete)

    def _attribute(self, path: Path) -> AttributeSketch | None:
        attribute = self.attributes.get(path)
        if attribute is None and len(self.attributes) < MOST_ATTRIBUTES:
            attribute = self.attributes[path] = AttributeSketch()
        self.is_complete &= attribute is not None
        return attribute

    def _add_leaves(self, path: Path, leaves: Leaves, n_events: int) -> None:
        attribute = self._attribute(path)
        if attribute is None:
            return
        values = leaves.values
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        places = present(values) if not pa.types.is_null(values.type) else np.empty(0, np.int64)
        n_present = len(places) if leaves.events is None else _n_distinct(leaves.events[places])
        attribute.n_present += n_present
        if leaves.events is not None and leaves.nulls is not None:
            attribute.n_empty += n_events - _n_distinct(np.concatenate([leaves.events, leaves.nulls]))
        if n_present:
            attribute.add_values(values.take(pa.array(places)), n_present, self.sizes)

    def _add_mixed(self, name: str, values: Iterable[Any]) -> None:
        """Add the values of each event in a column whose values have their own types."""
        found: dict[Path, _Found] = {}
        for event, value in enumerate(values):
            _walk((name,), value, event, found)
        for path, here in found.items():
            attribute = self._attribute(path)
            if attribute is not None:
                attribute.n_present += len({event for _, event in here.values})
                attribute.n_empty += len(here.empty)
                self._add_python(attribute, here.values)

    def _add_python(self, attribute: AttributeSketch, values: Iterable[tuple[Any, int]]) -> None:
        """Add values of several types, each with its event."""
        by_kind: dict[Any, list[tuple[Any, int]]] = {}
        for value, event in values:
            is_wide = type(value) is int and not INT64_MIN <= value <= INT64_MAX
            by_kind.setdefault(None if is_wide else _KIND_OF_TYPE.get(type(value)), []).append((value, event))
        for kind, pairs in by_kind.items():
            n_events = len({event for _, event in pairs})
            taken = pa.array([value for value, _ in pairs], kind) if kind is not None else _opaque(len(pairs))
            attribute.add_values(taken, n_events, self.sizes)


class _Found:
    """The values at a path with their events, and the events that have an empty array there."""

    def __init__(self) -> None:
        self.values: list[tuple[Any, int]] = []
        self.empty: set[int] = set()


_KIND_OF_TYPE: Final[dict[type, Any]] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.large_string(),
}


def _paths(columns: EventColumns, names: Iterable[str]) -> Iterator[tuple[Path, Leaves]]:
    """Yield every path into a batch of events, and the leaves at that path."""
    waiting: list[Path] = [(name,) for name in names]
    while waiting:
        path = waiting.pop()
        leaves = columns.at(path)
        yield path, leaves
        if len(path) == _DEEPEST:
            continue
        kind = leaves.values.type
        if pa.types.is_struct(kind):
            waiting += [(*path, field.name) for field in kind]
        elif pa.types.is_map(kind) and is_text(kind.key_type):
            waiting += [(*path, key) for key in pc.unique(leaves.values.keys).to_pylist()]


def _walk(path: Path, value: Any, event: int, found: dict[Path, _Found]) -> None:
    if isinstance(value, list):
        if not value:
            found.setdefault(path, _Found()).empty.add(event)
        for element in value:
            _walk(path, element, event, found)
        return
    if not is_missing(value):
        found.setdefault(path, _Found()).values.append((value, event))
    if isinstance(value, dict) and len(path) < _DEEPEST:
        for name, below in value.items():
            _walk((*path, name), below, event, found)


def _kind(kind: Any) -> Any:
    """Return the one type in which values of similar types are kept."""
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return pa.int64()
    if pa.types.is_floating(kind):
        return pa.float64()
    if is_text(kind):
        return pa.large_string()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if kind.tz else None)
    return kind


def _name(kind: Any) -> str:
    return _NAMELESS if is_nameless(kind) else str(kind)


def _opaque(n_values: int) -> Array:
    return pa.array([b""] * n_values, pa.binary())


def _n_distinct(events: NDArray[np.int64]) -> int:
    return len(np.unique(events))


def _pairs(values: Array, counts: NDArray[np.int64]) -> tuple[tuple[Any, int], ...]:
    return tuple(zip(to_python(values), counts.tolist(), strict=True))
