"""The other way to find what lists agree on: every entry is noted in a word of its item, a bit for its code.

A step of lists that skip takes several times as long as to note an entry. So skipping pays where most entries are in
the K - 1 longest lists; an event's lists in a partition that a predicate opened are mostly short. What K lists may
agree on is marked in `occupied`, and its codes are the bits of its word: they ascend, and each stands once.

All functions work on the arrays of `Cursors`, under the names that they have there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.bits import LOW_SIX, ONE, SIX, ZERO, lowest_bit, n_bits
from ruledex.kernels.jit import inlined

MOST_CODE_BITS = 5  # of codes that are bits of a word of 32
WORTH_A_STEP = 8  # entries noted in the time of a step: 6 and 9 were measured; 4 to 1,000 gave like times there
MUCH_LONGER = 4  # than the average list


@inlined
def are_noted(
    first: int, last: int, k: int, code_bits: int, place_of: NDArray[np.int64], end_of: NDArray[np.int64]
) -> bool:
    """Whether to note the entries of the cursors from `first` up to `last` takes less time than to skip.

    An item that K lists have is in one at least that is not among the K - 1 longest, so that lists that skip take
    about as many steps as the others have entries. Those are counted without sorting, and rather too few: no list
    counts for more than `longest`, and K - 1 lists for as much.
    """
    total, longest, n_steps = 0, 0, 0
    for cursor in range(first, last):
        total += end_of[cursor] - place_of[cursor]
        longest = max(longest, end_of[cursor] - place_of[cursor])
    longest = min(longest, MUCH_LONGER * total // (last - first))
    for cursor in range(first, last):
        n_steps += min(end_of[cursor] - place_of[cursor], longest)
    return code_bits <= MOST_CODE_BITS and total <= WORTH_A_STEP * (n_steps - (k - 1) * longest)


@inlined
def note_entries(
    first: int,
    last: int,
    k: int,
    code_bits: int,
    entries: NDArray[np.int32],
    place_of: NDArray[np.int64],
    end_of: NDArray[np.int64],
    states: NDArray[np.uint32],
    occupied: NDArray[np.uint64],
) -> None:
    """Note all entries of the cursors from `first` up to `last`, and mark the items that have K codes or more."""
    code_mask = (1 << code_bits) - 1
    for cursor in range(first, last):
        for place in range(place_of[cursor], end_of[cursor]):
            item = np.uint64(entries[place] >> code_bits)
            state = np.uint64(states[item]) | ONE << np.uint64(entries[place] & code_mask)
            states[item] = np.uint32(state)
            if n_bits(state) >= k:
                occupied[item >> SIX] |= ONE << (item & LOW_SIX)


@inlined
def forget_entries(
    first: int,
    last: int,
    code_bits: int,
    entries: NDArray[np.int32],
    place_of: NDArray[np.int64],
    end_of: NDArray[np.int64],
    states: NDArray[np.uint32],
) -> None:
    """Make the words of all items that were noted 0 again."""
    for cursor in range(first, last):
        for place in range(place_of[cursor], end_of[cursor]):
            states[np.uint64(entries[place] >> code_bits)] = np.uint32(0)


@inlined
def noted_codes(state: int, codes: NDArray[np.int32]) -> int:
    """Write the codes of an item, ascending; return how many."""
    n_codes, left = 0, np.uint64(state)
    while left != ZERO:
        codes[n_codes] = lowest_bit(left)
        n_codes += 1
        left &= left - ONE
    return n_codes
