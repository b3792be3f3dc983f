"""Estimate from statistics of events how often each cell of a dictionary occurs.

A heavy value has its own count. The other values are known by a sample, which is far smaller than a domain may be. So
the weight of a sampled value is spread over the cells from its own up to that of the next one:

    cells       gap  point  gap  point  gap  point  gap  point  gap
    sample                   ^                        ^
    spread                   ───────────────────────  ──────────────

Within such a run, points and gaps share the weight in the ratio in which the whole sample falls on points and on gaps.
So the weight of cities goes to the cities that rules name, and the weight of prices to the gaps between constants.

Operands that are computed (`a + b`, `a < b`) are computed for events that are drawn from the attributes' statistics,
each attribute by itself.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import EVERY
from ruledex.dictionary.dictionary import Dictionary, Path, inputs_of
from ruledex.dictionary.slot import Slot
from ruledex.events.mappings import EventEncoder
from ruledex.events.statistics import AttributeStatistics, EventStatistics
from ruledex.language.any_text import WHOLE_EVENT
from ruledex.language.tree import Attribute, Value
from ruledex.language.value import Family, fit

Frequencies = NDArray[np.float64]

_DRAWN_EVENTS: Final = 1024  # for operands that are computed


def cell_frequencies_of(statistics: EventStatistics, dictionary: Dictionary) -> Frequencies:
    """Return for each cell the share of events that have it, from 0 to 1. An unknown attribute is never present."""
    frequency: Frequencies = np.zeros(dictionary.n_cells)
    frequency[EVERY] = 1.0
    if statistics.n_events == 0:
        return frequency
    for slot in dictionary.slots:
        if isinstance(slot.operand, Attribute) and slot.operand.path in statistics.attributes:
            _add_attribute(slot, statistics.attributes[slot.operand.path], statistics.n_events, frequency)
    if dictionary.derived:
        _add_derived(statistics, dictionary, frequency)
    return np.clip(frequency, 0.0, 1.0)


def _add_attribute(slot: Slot, attribute: AttributeStatistics, n_events: int, frequency: Frequencies) -> None:
    heavy, rest = _weighted_values(attribute)
    counted: set[int] = set()
    for value, count in heavy:
        for cell in slot.cells(value):
            frequency[cell] += count / n_events
            counted.add(cell)
    sampled: Frequencies = np.zeros(len(frequency))
    for value, weight in rest:
        sampled[list(slot.cells(value))] += weight / n_events
    for domain in slot.domains.values():
        inside = slice(domain.first_cell, domain.first_cell + domain.n_cells)
        own = np.array([cell - domain.first_cell for cell in counted if inside.start <= cell < inside.stop], np.int64)
        frequency[inside] += _spread(sampled[inside], own)
        sampled[inside] = 0.0
    frequency += sampled  # a pattern has one cell, so nothing is spread
    _set_marks(slot, attribute, n_events, frequency)


def _weighted_values(attribute: AttributeStatistics) -> tuple[list[tuple[Value, float]], list[tuple[Value, float]]]:
    """Return the heavy values with their counts, and the other sampled values with their weights."""
    heavy: list[tuple[Value, float]] = []
    rest: list[tuple[Value, float]] = []
    for values in attribute.values:
        heavy += values.heavy
        known = {value for value, _ in values.heavy}
        others = [(value, weight) for value, weight in values.sample if value not in known]
        total = sum(weight for _, weight in others)
        left = values.n_values - sum(count for _, count in values.heavy)
        rest += [(value, weight * left / total) for value, weight in others]
    return heavy, rest


def _spread(weights: Frequencies, counted: NDArray[np.int64]) -> Frequencies:
    """Return the weights of a domain's cells, spread. Points that have counts of their own get nothing."""
    spread = np.zeros(len(weights))
    total = weights.sum()
    if total == 0.0:
        return spread
    on_points = weights[1::2].sum() / total
    is_point = np.arange(len(weights)) % 2 == 1
    is_open = is_point.copy()
    is_open[counted] = False
    for first, last in pairwise([*np.flatnonzero(weights).tolist(), len(weights)]):
        points, gaps = (np.flatnonzero(cells[first:last]) + first for cells in (is_open, ~is_point))
        share = 0.0 if not len(points) else 1.0 if not len(gaps) else on_points
        if len(points):
            spread[points] += weights[first] * share / len(points)
        if len(gaps):
            spread[gaps] += weights[first] * (1.0 - share) / len(gaps)
    return spread


def _set_marks(slot: Slot, attribute: AttributeStatistics, n_events: int, frequency: Frequencies) -> None:
    """Set the cells that say which types of values an attribute has. They count events, not values."""
    is_there = attribute.n_present / n_events
    if slot.not_null >= 0:
        frequency[slot.not_null] = is_there
    for family in {*slot.present, *slot.misfit, *slot.settled}:
        fits = min(is_there, _fitting(attribute, family, slot) / n_events)
        if family in slot.present:
            frequency[slot.present[family]] = fits
        if family in slot.misfit:
            frequency[slot.misfit[family]] = is_there - fits
        if family in slot.settled:
            frequency[slot.settled[family]] = fits + attribute.n_empty / n_events


def _fitting(attribute: AttributeStatistics, family: Family, slot: Slot) -> float:
    """Return the number of events with a value of a family. Texts are times as often as in the sample."""
    total = 0.0
    for values in attribute.values:
        weight = sum(count for _, count in values.sample)
        fits = sum(count for value, count in values.sample if fit(value, family, slot.schema.zone) is not None)
        total += values.n_events * fits / weight if weight else 0.0
    return total


def _add_derived(statistics: EventStatistics, dictionary: Dictionary, frequency: Frequencies) -> None:
    generator = random.Random(0)
    paths = sorted({path for slot in dictionary.derived for path in inputs_of(slot)})
    if WHOLE_EVENT in paths:
        paths = sorted(statistics.attributes)
    events: list[dict[str, Any]] = [{} for _ in range(_DRAWN_EVENTS)]
    for path in paths:
        attribute = statistics.attributes.get(path)
        if attribute is not None:
            for event, value in zip(events, _drawn(attribute, statistics.n_events, generator), strict=True):
                _put(event, path, value)
    batch = EventEncoder(dictionary).encode(events)
    counts = np.bincount(batch.cells, minlength=dictionary.n_cells) / _DRAWN_EVENTS
    for slot in dictionary.derived:
        cells = _cells_of(slot)
        frequency[cells] = counts[cells]


def _cells_of(slot: Slot) -> list[int]:
    cells = [*slot.present.values(), *slot.misfit.values(), *slot.settled.values(), *slot.key_cells()]
    cells += [slot.not_null] if slot.not_null >= 0 else []
    for domain in slot.domains.values():
        cells += range(domain.first_cell, domain.first_cell + domain.n_cells)
    return cells


def _drawn(attribute: AttributeStatistics, n_events: int, generator: random.Random) -> list[Value | None]:
    """Return one value per event to draw, None where the attribute is missing."""
    heavy, rest = _weighted_values(attribute)
    values: list[Value | None] = [value for value, _ in heavy + rest]
    weights = [weight for _, weight in heavy + rest]
    if not values:
        return [None] * _DRAWN_EVENTS
    chosen = generator.choices(values, weights, k=_DRAWN_EVENTS)
    is_there = attribute.n_present / n_events
    return [value if generator.random() < is_there else None for value in chosen]


def _put(event: dict[str, Any], path: Path, value: Any) -> None:
    *above, name = path
    for step in above:
        inner = event.setdefault(step, {})
        if not isinstance(inner, Mapping):
            return  # the attribute above has a value itself
        event = inner  # type: ignore[assignment]  # made here
    event[name] = value
