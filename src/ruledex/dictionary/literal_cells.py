"""The cells of positive literals, each as an object: the way of literals that are not plain, and of small tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import EVERY
from ruledex.dictionary.domain import KIND_OF_TYPE, Kind, Span, spans_of
from ruledex.dictionary.slot import Slot
from ruledex.language.text import tree_text
from ruledex.language.tree import Predicate, Within
from ruledex.language.value import Family

Presence: TypeAlias = tuple[int, str, Family | None]  # a slot, what it must have, and of which family


@dataclass(slots=True)
class PositiveLiteral:
    """A positive literal before its cells are known."""

    slot: int
    within: Within | None = None  # the values and ranges
    key: Predicate | None = None  # or a predicate with a cell of its own
    not_null: bool = False  # or the presence of any value
    misfit: Family | None = None  # the weak form: values of other families count too
    presence: tuple[str, Family] | None = None  # or what a negative literal needs to be there
    outside: bool = False  # all cells of the family but these


class CellIntervals(NamedTuple):
    """The cells of positive literals: literal n has those from `low[i]` to `high[i]`, i from `offsets[n]` on."""

    offsets: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]


def presence_cells(slots: Sequence[Slot], presences: Iterable[Presence]) -> list[int]:
    """Return the cell of each thing that a negative literal needs to be there."""
    return [
        EVERY if family is None else (slots[slot].present if word == "present" else slots[slot].settled)[family]
        for slot, word, family in presences
    ]


def cell_intervals(intervals: list[list[Span]]) -> CellIntervals:
    """Return the intervals of each positive literal as arrays."""
    offsets = np.zeros(len(intervals) + 1, np.int64)
    np.cumsum([len(spans) for spans in intervals], out=offsets[1:])
    ends = np.array([span for spans in intervals for span in spans], np.int64).reshape(-1, 2)
    return CellIntervals(offsets, ends[:, 0].copy(), ends[:, 1].copy())


def intervals_of_literals(positives: Iterable[PositiveLiteral], slots: Sequence[Slot]) -> list[list[Span]]:
    """Return the intervals of each positive literal."""
    keys = [{tree_text(key.predicate): key.cell for key in slot.keys} for slot in slots]
    return [_intervals_of(positive, slots[positive.slot], keys[positive.slot]) for positive in positives]


def _intervals_of(positive: PositiveLiteral, slot: Slot, keys: dict[str, int]) -> list[Span]:
    """Return the intervals of a positive literal; `keys` has the cells of its slot's keys, by their texts."""
    if positive.not_null:
        return [(slot.not_null, slot.not_null)]
    if positive.presence is not None:
        (cell,) = presence_cells([slot], [(0, *positive.presence)])
        return [(cell, cell)]
    if positive.key is not None:
        cell = keys[tree_text(positive.key)]
        return [(cell, cell)]
    assert positive.within is not None
    plain = None if positive.outside or positive.misfit is not None else _plain_spans(positive.within, slot)
    if plain is not None:
        return plain
    spans = spans_of(positive.within.values, positive.within.bounds, slot.domains, slot.schema.zone)
    if positive.outside:
        return [span for domain, inside in spans.items() for span in domain.outside(inside)]
    misfit = [] if positive.misfit is None else [(slot.misfit[positive.misfit],) * 2]
    return [*misfit, *(span for inside in spans.values() for span in inside)]


def _plain_spans(within: Within, slot: Slot) -> list[Span] | None:
    """Return the cells of integers or strings that lie in one domain, the usual case; None for all other sets."""
    values, bounds = within.values, within.bounds
    if len(bounds) + bool(values) != 1 or Kind.ROUNDED in slot.domains:
        return None
    if values:
        kinds = set(map(type, values))
        if kinds not in ({int}, {str}):
            return None
        cell_of = slot.domains[KIND_OF_TYPE[type(values[0])]].cell
        return [(cell, cell) for cell in sorted(map(cell_of, values))]
    (bound,) = bounds
    kinds = {type(bound.low), type(bound.high)}
    if not kinds <= {int, type(None)}:
        return None
    span = slot.domains[Kind.EXACT].span(bound.low, bound.low_closed, bound.high, bound.high_closed)
    return [] if span is None else [span]
