"""From what was found true, conjunctions or whole expressions, to the rules: each once, in ascending order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.bits import LOW_SIX, ONE, SIX, ZERO, lowest_bit, prefetch
from ruledex.kernels.jit import jit

AHEAD = 8  # how far before its use a line of memory is asked for


class Owners(NamedTuple):
    """The rules that each found thing makes true."""

    offsets: NDArray[np.int32]  # [n_things + 1]
    rules: NDArray[np.int32]


@jit
def count_owners(owners: Owners, found: NDArray[np.int32]) -> int:
    """How many rules all that was found makes true, those counted twice that two of them do."""
    offsets, n_rules = owners.offsets, 0
    for place in range(found.size):
        if place + AHEAD < found.size:
            prefetch(offsets, np.int64(found[place + AHEAD]))
        n_rules += offsets[found[place] + 1] - offsets[found[place]]
    return n_rules


@jit
def mark_rules(
    owners: Owners, found: NDArray[np.int32], n_found: int, alive: NDArray[np.uint8], marks: NDArray[np.uint64]
) -> None:
    """Set the bits of all living rules of `found[:n_found]`; `alive` is empty where all live."""
    offsets, rules = owners.offsets, owners.rules
    for place in range(n_found):
        if place + 2 * AHEAD < n_found:
            prefetch(offsets, np.int64(found[place + 2 * AHEAD]))
            prefetch(rules, np.int64(offsets[found[place + AHEAD]]))
        for owner in range(offsets[found[place]], offsets[found[place] + 1]):
            rule = rules[owner]
            if alive.size == 0 or alive[rule] != 0:
                marks[np.uint64(rule) >> SIX] |= ONE << (np.uint64(rule) & LOW_SIX)


@jit
def collect_rules(marks: NDArray[np.uint64], out: NDArray[np.int32]) -> int:
    """Write the rules whose bits are set, ascending, and clear them; return how many."""
    n_found = 0
    for word in range(marks.size):
        left = marks[word]
        while left != ZERO:
            out[n_found] = (word << 6) + lowest_bit(left)
            n_found += 1
            left &= left - ONE
        marks[word] = ZERO
    return n_found
