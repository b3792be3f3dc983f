"""Find what a literal scores on one event, for most literals without a search.

An event has one cell in most domains. That cell is looked up once per domain that rules ask for. The intervals of a
literal nearly always lie in one domain, so a literal costs a comparison with that cell. Rules that are true of an event
have thousands of literals that are not, so this is most of what ranking costs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.decorator import jit
from ruledex.compiled.lists import first_at_least

NO_WEIGHT = -1.0  # weights are not negative
NOWHERE, SEVERAL = -1, -2  # in place of an event's cell in a domain
NO_DOMAIN = -1  # of a literal with cells in several domains, or of live rules, whose cells have no domain yet
FIELDS = 4  # of a record


class ScoreLiterals(NamedTuple):
    """The literals of a Program, by their names in it, and a record of `FIELDS` numbers for each.

    The record of a positive literal is its domain or `NO_DOMAIN`, its first and its last cell, and its number of
    intervals. That of a negative literal is the domain of its presence, that cell, and the positive literal.
    """

    interval_offsets: NDArray[np.int32]
    interval_low: NDArray[np.int32]
    interval_high: NDArray[np.int32]
    domain_begin: NDArray[np.int32]  # [n_domains + 1] cells
    records: NDArray[np.int32]


class EventPlaces(NamedTuple):
    """What is known of the current event. An entry counts only if it has the event's number, so nothing is cleared."""

    seen_in: NDArray[np.int64]  # [n_domains] the number of the event that `place_in` is of
    place_in: NDArray[np.int32]  # [n_domains] of its cell, or `NOWHERE` or `SEVERAL`
    known_of: NDArray[np.int64]  # [n_literals] the number of the event that `known` is of
    known: NDArray[np.float64]  # [n_literals] the weights of those that took a search


@jit
def write_records(
    offsets: NDArray[np.int32],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    presence: NDArray[np.int32],
    positive: NDArray[np.int32],
    domain_begin: NDArray[np.int32],
    records: NDArray[np.int32],
) -> None:
    """Write the records of all literals."""
    n_positive, n_begins = offsets.size - 1, domain_begin.size
    for literal in range(n_positive):
        first, last = offsets[literal], offsets[literal + 1]
        record = FIELDS * literal
        records[record] = NO_DOMAIN
        records[record + 3] = last - first
        if first < last:
            after = first_at_least(domain_begin, 0, n_begins, low[first] + 1)
            if after < n_begins and high[last - 1] < domain_begin[after]:
                records[record] = after - 1
            records[record + 1], records[record + 2] = low[first], high[last - 1]
    for negative in range(positive.size):
        record = FIELDS * (n_positive + negative)
        after = first_at_least(domain_begin, 0, n_begins, presence[negative] + 1)
        records[record] = after - 1 if after < n_begins else NO_DOMAIN
        records[record + 1], records[record + 2] = presence[negative], positive[negative]


@jit
def place_in_domain(
    domain_begin: NDArray[np.int32], domain: int, cells: NDArray[np.int32], begin: int, end: int
) -> int:
    """Return the index of the cell that the event `cells[begin:end]` has in a domain, or `NOWHERE` or `SEVERAL`."""
    place, domain_end = first_at_least(cells, begin, end, domain_begin[domain]), domain_begin[domain + 1]
    if place == end or cells[place] >= domain_end:
        return NOWHERE
    return SEVERAL if place + 1 < end and cells[place + 1] < domain_end else place


@jit
def literal_weight(
    offsets: NDArray[np.int32],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    records: NDArray[np.int32],
    argument: int,
    cells: NDArray[np.int32],
    weights: NDArray[np.float64],
    begin: int,
    end: int,
) -> float:
    """Return the largest weight of the event's cells in a positive literal, 0 for a negative one, or `NO_WEIGHT`.

    `NO_WEIGHT` means that the literal is not true. This works for any literal and any event, with a search.
    """
    is_negative = argument >= offsets.size - 1
    literal = np.int64(records[FIELDS * argument + 2]) if is_negative else argument
    best = NO_WEIGHT
    # Go through the intervals or the cells, whichever are fewer, and look each up among the others.
    interval, last = offsets[literal], offsets[literal + 1]
    if last - interval <= end - begin:
        while interval < last:
            place = first_at_least(cells, begin, end, low[interval])
            while place < end and cells[place] <= high[interval]:
                best = max(best, weights[place] if weights.size != 0 else 1.0)
                place += 1
            interval += 1
    else:
        for place in range(begin, end):
            found = first_at_least(high, interval, last, cells[place])
            if found < last and low[found] <= cells[place]:
                best = max(best, weights[place] if weights.size != 0 else 1.0)
    if is_negative:
        cell = records[FIELDS * argument + 1]
        place = first_at_least(cells, begin, end, cell)
        is_there = place < end and cells[place] == cell
        best = 0.0 if best == NO_WEIGHT and is_there else NO_WEIGHT
    return best
