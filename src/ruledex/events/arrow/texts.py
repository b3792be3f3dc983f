"""Find every text in the columns of an Arrow table, for `*`: the same as language/any_text.py finds in mappings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ruledex import limits
from ruledex.errors import EventError
from ruledex.events.arrow.columns import EventColumns, Leaves, MapEntries, field_of, is_list, is_text, plain_layout
from ruledex.events.arrow.taking import Array, make_takeable, valid
from ruledex.language.any_text import SIGN


def texts_in(columns: EventColumns) -> Leaves:
    """Return all texts and the event of each. An event without a text has one null instead, as if it were missing."""
    texts: list[Array] = []
    owners: list[NDArray[np.int64]] = []
    n_opened = np.zeros(columns.n_events, np.int64)
    for name in columns.names:
        for values, events in _texts(columns, columns.reached((name,)), 1, n_opened):
            is_there = valid(values)
            texts.append(values.cast(pa.large_string()).filter(pa.array(is_there)))
            owners.append(events[is_there])
    most = limits.current().event_lists
    if n_opened.max(initial=0) > most:
        message = f"{SIGN}: there are more lists and structs than the limit event_lists of {most:,}"
        raise EventError(message).at(int(n_opened.argmax()))
    found = np.concatenate([np.empty(0, np.int64), *owners])
    order = np.argsort(found, kind="stable")
    joined = pa.concat_arrays(texts) if texts else pa.array([], pa.large_string())
    has_none = np.flatnonzero(np.bincount(found, minlength=columns.n_events) == 0)
    return Leaves(joined.take(pa.array(order)), found[order], has_none)


def _texts(
    columns: EventColumns, leaves: Leaves, depth: int, n_opened: NDArray[np.int64]
) -> Iterator[tuple[Array, NDArray[np.int64]]]:
    """Yield the arrays of texts at and below some values, with the event of each element."""
    kind = leaves.values.type
    events = np.arange(columns.n_events) if leaves.events is None else leaves.events
    if is_text(kind):
        yield leaves.values, events
        return
    if pa.types.is_dictionary(kind):
        if is_text(kind.value_type):
            yield pc.cast(leaves.values, pa.large_string()), events
        return
    if not _may_hold_text(kind):
        return
    np.add.at(n_opened, events[valid(leaves.values)], 1)
    if depth > limits.current().event_depth and n_opened.any():
        message = f"values nest deeper than the limit event_depth of {limits.current().event_depth:,}, or without end"
        raise EventError(f"{SIGN}: {message}")
    below: list[Leaves] = []
    if is_list(kind):
        below.append(columns.elements(Leaves(leaves.values, events, np.empty(0, np.int64))))
    elif pa.types.is_map(kind):
        items = MapEntries(leaves.values, make_takeable(leaves.values.keys), make_takeable(leaves.values.items)).all()
        below.append(Leaves(plain_layout(items.values), events[items.rows], None))
    elif pa.types.is_struct(kind):
        fields = [plain_layout(field_of(leaves.values, field.name)) for field in kind]
        below += [Leaves(values, events, None) for values in fields]
    for inner in below:
        yield from _texts(columns, inner, depth + 1, n_opened)


def _may_hold_text(kind: pa.DataType) -> bool:
    """Whether values of a type may have texts in them, so that other columns are not read at all."""
    if is_text(kind) or isinstance(kind, pa.BaseExtensionType):
        return True
    if pa.types.is_dictionary(kind):
        return _may_hold_text(kind.value_type)
    if pa.types.is_map(kind):
        return _may_hold_text(kind.item_type)
    if pa.types.is_run_end_encoded(kind):
        return _may_hold_text(kind.value_type)
    return any(_may_hold_text(kind.field(number).type) for number in range(kind.num_fields))
