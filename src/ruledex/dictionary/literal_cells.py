"""The cells of positive literals, each as an object: the way of literals that are not plain, and of small tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ruledex.compiled.constants import EVERY
from ruledex.dictionary.domain import KIND_OF_TYPE, Kind, Span, spans_of
from ruledex.dictionary.plain_literals import (
    ABOVE,
    AT_LEAST,
    AT_MOST,
    BELOW,
    IN_RANGE,
    N_FAMILIES,
    NOT_NULL,
    NUMBER,
    ODD,
    TEXT,
    TRUTH,
    VALUES,
    PlainLiterals,
)
from ruledex.dictionary.slot import Slot, SlotPlan
from ruledex.dictionary.text_table import TextTable
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


_KINDS = {NUMBER: Kind.EXACT, TEXT: Kind.STRING, TRUTH: Kind.BOOLEAN}


class _Points(NamedTuple):
    """The distinct constants of one family: by slot, and in their order."""

    family: int
    slots: NDArray[np.int64]  # those that have any, ascending
    bounds: NDArray[np.int64]  # [n_slots + 1] of each slot's constants
    cuts: list[Any]
    places: NDArray[np.int64]  # of the records' constants that are of this family
    cut_of: NDArray[np.int64]  # the index of each of them among the cuts


class PlainCells:
    """Cuts the domains of slots, and gives the records their cells once slots have theirs."""

    def __init__(self, plain: PlainLiterals, n_positives: int) -> None:
        records = plain.records
        self._operations, self._families = np.divmod(records.shapes[:n_positives], N_FAMILIES)
        self._slots = records.slots[:n_positives]
        self._starts = records.offsets[:n_positives]
        self._sizes = np.diff(records.offsets[: n_positives + 1])
        self._literal_of = np.repeat(np.arange(n_positives), self._sizes)
        constants = records.constants[: records.offsets[n_positives]]
        family_of, slot_of = self._families[self._literal_of], self._slots[self._literal_of]
        self._points: list[_Points] = []
        for family in _KINDS:
            places = np.flatnonzero(family_of == family)
            if len(places):
                texts = plain.texts if family == TEXT else None
                self._points.append(_points(family, places, slot_of[places], constants[places], texts))

    def ask(self, asked: Sequence[SlotPlan]) -> None:
        """Add the cells that plain literals need to the plans of slots."""
        for slot in np.unique(self._slots[self._operations == NOT_NULL]).tolist():
            asked[slot].not_null = True
        for points in self._points:
            kind, bounds = _KINDS[points.family], points.bounds.tolist()
            for at, slot in enumerate(points.slots.tolist()):
                cuts = points.cuts[bounds[at] : bounds[at + 1]]
                others = asked[slot].cuts.pop(kind, None)
                asked[slot].sorted_cuts[kind] = sorted(others.union(cuts)) if others else cuts

    def special(self, slots: Sequence[Slot]) -> NDArray[np.int64]:
        """Return the positive literals whose intervals are not found here: odd ones, and those with a rounded twin."""
        is_rounded = np.array([Kind.ROUNDED in slot.domains for slot in slots], bool)
        is_special = self._operations == ODD
        if is_rounded.any():
            is_special |= is_rounded[self._slots] & (self._families == NUMBER)
        return np.flatnonzero(is_special)

    def intervals(self, slots: Sequence[Slot], special: Mapping[int, Sequence[Span]]) -> CellIntervals:
        """Return the cells of all positive literals; `special` has those of the special ones."""
        operations = self._operations.copy()
        sizes = np.where(operations == VALUES, self._sizes, 1)
        if special:
            given = np.fromiter(special, np.int64, len(special))
            operations[given] = ODD
            sizes[given] = [len(spans) for spans in special.values()]
        offsets = np.zeros(len(sizes) + 1, np.int64)
        np.cumsum(sizes, out=offsets[1:])
        low, high = np.zeros((2, int(offsets[-1])), np.int64)
        self._fill(slots, operations, offsets[:-1], low, high)
        for literal, spans in special.items():
            at = int(offsets[literal])
            for place, span in enumerate(spans, at):
                low[place], high[place] = span
        return CellIntervals(offsets, low, high)

    def _fill(
        self,
        slots: Sequence[Slot],
        operations: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
    ) -> None:
        """Write the intervals of all literals that are not odd."""
        cells, first_cell, last_cell = self._cells(slots)
        values = np.flatnonzero(operations[self._literal_of] == VALUES)
        literals = self._literal_of[values]
        at = offsets[literals] + values - self._starts[literals]
        low[at] = high[at] = self._in_order(cells, values, literals)
        for operation in (ABOVE, AT_LEAST, BELOW, AT_MOST, IN_RANGE, NOT_NULL):
            literals = np.flatnonzero(operations == operation)
            at, whose, family = offsets[literals], self._slots[literals], self._families[literals]
            if operation == NOT_NULL:
                not_null = np.array([slot.not_null for slot in slots], np.int64)
                low[at] = high[at] = not_null[whose]
                continue
            end = cells[self._starts[literals]]
            low[at], high[at] = first_cell[whose, family], last_cell[whose, family]
            if operation in (ABOVE, AT_LEAST):
                low[at] = end + (operation == ABOVE)
            elif operation in (BELOW, AT_MOST):
                high[at] = end - (operation == BELOW)
            else:
                other = cells[self._starts[literals] + 1]
                low[at], high[at] = np.minimum(end, other), np.maximum(end, other)

    def _in_order(
        self, cells: NDArray[np.int64], values: NDArray[np.int64], literals: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the cells of values, ascending within each literal: strings are in the order of their numbers."""
        found = cells[values]
        mixed = np.flatnonzero((self._families[literals] == TEXT) & (self._sizes[literals] > 1))
        found[mixed] = found[mixed[np.lexsort((found[mixed], literals[mixed]))]]
        return found

    def _cells(self, slots: Sequence[Slot]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the cell of each constant, and the first and last cell of each slot and family."""
        first_cell, last_cell = np.zeros((2, len(slots), N_FAMILIES), np.int64)
        cells = np.zeros(len(self._literal_of), np.int64)
        for family, having, bounds, cuts, places, cut_of in self._points:
            cell_of = np.empty(len(cuts), np.int64)
            for slot, begin, end in zip(having.tolist(), bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
                domain = slots[slot].domains[_KINDS[family]]
                first, last = domain.first_cell, domain.first_cell + domain.n_cells - 1
                first_cell[slot, family], last_cell[slot, family] = first, last
                if len(domain.cuts) == end - begin:
                    cell_of[begin:end] = np.arange(first + 1, last, 2)
                else:  # constants of odd literals cut it too
                    cell_of[begin:end] = [domain.cell(cut) for cut in cuts[begin:end]]
            cells[places] = cell_of[cut_of]
        return cells, first_cell, last_cell


def _points(
    family: int,
    places: NDArray[np.int64],
    slots: NDArray[np.int32],
    numbers: NDArray[np.int64],
    texts: TextTable | None,
) -> _Points:
    by_rank = None
    if texts is not None:
        numbers, by_rank = _ranks(texts, numbers)
    order = np.lexsort((numbers, slots))
    slots, numbers = slots[order], numbers[order]
    is_new = np.ones(len(order), bool)
    is_new[1:] = (slots[1:] != slots[:-1]) | (numbers[1:] != numbers[:-1])
    cut_of = np.empty(len(order), np.int64)
    cut_of[order] = np.cumsum(is_new) - 1
    slots, numbers = slots[is_new], numbers[is_new]
    if by_rank is not None:
        cuts = by_rank.take(pa.array(numbers)).to_pylist()
    else:
        cuts = (numbers != 0).tolist() if family == TRUTH else numbers.tolist()
    having, firsts = np.unique(slots, return_index=True)
    return _Points(family, having.astype(np.int64), np.append(firsts, len(slots)), cuts, places, cut_of)


def _ranks(texts: TextTable, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], pa.Array]:
    """Return the place of each string in the order of all strings, and all strings in their order."""
    n_texts = texts.n_texts
    offsets, content = pa.py_buffer(texts.offsets[: n_texts + 1]), pa.py_buffer(texts.text)
    strings = pa.LargeStringArray.from_buffers(n_texts, offsets, content)
    order = pc.sort_indices(strings)
    rank = np.empty(n_texts, np.int64)
    rank[order.to_numpy()] = np.arange(n_texts)
    return rank[numbers], strings.take(order)
