"""How lists move along together: `PLists`, `SkipTo`, and the steps from one agreement to the next (Algorithm 1).

`PLists`, the lists of one partition that the event has keys for, are kept in the order of their current entries without
ever being sorted: each hangs on the item of its current entry, and a bitmap says on which items lists hang. The first
lists are those on the first set bits, and a list that skips is hung up further on.

All functions work on the arrays of `PostingCursors`, under the names that they have there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import LOW_SIX, ONE, SIX, ZERO, lowest_bit
from ruledex.compiled.decorator import inlined

NONE = -1


@inlined
def hang_up(
    cursor: int, item: int, following: NDArray[np.int32], first_on: NDArray[np.int32], occupied: NDArray[np.uint64]
) -> None:
    """Put a list where the item of its current entry is."""
    following[cursor] = first_on[item]
    first_on[item] = cursor
    occupied[np.uint64(item) >> SIX] |= ONE << (np.uint64(item) & LOW_SIX)


@inlined
def next_occupied(occupied: NDArray[np.uint64], item: int) -> int:
    """Return the first item from `item` on that a list hangs on; there must be one."""
    word = item >> 6
    left = occupied[word] >> np.uint64(item & 63)
    if left != ZERO:
        return item + lowest_bit(left)
    word += 1
    while occupied[word] == ZERO:
        word += 1
    return (word << 6) + lowest_bit(occupied[word])


@inlined
def take_down(
    item: int,
    n_taken: int,
    p_lists: NDArray[np.int32],
    following: NDArray[np.int32],
    first_on: NDArray[np.int32],
    occupied: NDArray[np.uint64],
) -> int:
    """Take the lists that hang on an item, behind the `n_taken` others; return how many are taken then."""
    cursor = first_on[item]
    while cursor != NONE:
        p_lists[n_taken] = cursor
        n_taken += 1
        cursor = following[cursor]
    first_on[item] = NONE
    occupied[np.uint64(item) >> SIX] &= ~(ONE << (np.uint64(item) & LOW_SIX))
    return n_taken


@inlined
def n_hanging(item: int, following: NDArray[np.int32], first_on: NDArray[np.int32]) -> int:
    """Return how many lists hang on an item."""
    cursor, n_lists = first_on[item], 0
    while cursor != NONE:
        cursor = following[cursor]
        n_lists += 1
    return n_lists


@inlined
def hanging_bound(
    item: int, bounds: NDArray[np.float64], following: NDArray[np.int32], first_on: NDArray[np.int32]
) -> float:
    """Return the bounds of the lists that hang on an item, together."""
    cursor, bound = first_on[item], 0.0
    while cursor != NONE:
        bound += float(bounds[cursor])
        cursor = following[cursor]
    return bound


@inlined
def skip_to(entries: NDArray[np.int32], place: int, end: int, entry: int) -> int:
    """Return `SkipTo`: the first place behind `place` whose entry is not smaller, or `end`; found by galloping."""
    first, step = place + 1, 1
    while place + step < end and entries[place + step] < entry:
        first = place + step + 1
        step <<= 1
    last = min(place + step, end)
    while first < last:
        middle = (first + last) >> 1
        if entries[middle] < entry:
            first = middle + 1
        else:
            last = middle
    return first


@inlined
def skip_lists(
    item: int,
    n_taken: int,
    code_bits: int,
    entries: NDArray[np.int32],
    place_of: NDArray[np.int64],
    end_of: NDArray[np.int64],
    p_lists: NDArray[np.int32],
    following: NDArray[np.int32],
    first_on: NDArray[np.int32],
    occupied: NDArray[np.uint64],
) -> int:
    """Let the lists that were taken skip to `item` or what comes behind it; return how many are at their end."""
    n_ended = 0
    for taken in range(n_taken):
        cursor = p_lists[taken]
        place = skip_to(entries, place_of[cursor], end_of[cursor], int(item) << code_bits)
        if place == end_of[cursor]:
            n_ended += 1
        else:
            place_of[cursor] = place
            hang_up(cursor, entries[place] >> code_bits, following, first_on, occupied)
    return n_ended


@inlined
def agreed_codes(
    n_taken: int,
    code_bits: int,
    entries: NDArray[np.int32],
    place_of: NDArray[np.int64],
    p_lists: NDArray[np.int32],
    codes: NDArray[np.int32],
) -> int:
    """Write the codes of the lists that were taken, which agree on an item, ascending and each once; return how many.

    Two values of one attribute may give the same code twice.
    """
    n_codes = 0
    for taken in range(n_taken):
        code = entries[place_of[p_lists[taken]]] & ((1 << code_bits) - 1)
        target = n_codes
        while target > 0 and codes[target - 1] > code:
            target -= 1
        if target > 0 and codes[target - 1] == code:
            continue
        for moved in range(n_codes, target, -1):
            codes[moved] = codes[moved - 1]
        codes[target] = code
        n_codes += 1
    return n_codes


@inlined
def take_rest(
    n_lists: int,
    p_lists: NDArray[np.int32],
    following: NDArray[np.int32],
    first_on: NDArray[np.int32],
    occupied: NDArray[np.uint64],
) -> None:
    """Take down the last `n_lists` lists of a partition."""
    item, n_taken = 0, 0
    while n_taken < n_lists:
        item = next_occupied(occupied, item)
        n_taken = take_down(item, n_taken, p_lists, following, first_on, occupied)


@inlined
def initialize_current_entries(
    first: int,
    last: int,
    code_bits: int,
    entries: NDArray[np.int32],
    place_of: NDArray[np.int64],
    following: NDArray[np.int32],
    first_on: NDArray[np.int32],
    occupied: NDArray[np.uint64],
) -> None:
    """Hang up the lists of the cursors from `first` up to `last`, each on its first item."""
    for cursor in range(first, last):
        hang_up(cursor, entries[place_of[cursor]] >> code_bits, following, first_on, occupied)


@inlined
def next_agreement(
    k: int,
    n_lists: int,
    n_taken: int,
    next_id: int,
    code_bits: int,
    entries: NDArray[np.int32],
    place_of: NDArray[np.int64],
    end_of: NDArray[np.int64],
    p_lists: NDArray[np.int32],
    following: NDArray[np.int32],
    first_on: NDArray[np.int32],
    occupied: NDArray[np.uint64],
    bounds: NDArray[np.float64],
    least: float,
) -> tuple[int, int, int]:
    """Take steps 13 to 36 of Algorithm 1, from one item that K lists agree on to the next.

    Skip the `n_taken` lists in `p_lists` to `next_id`, and go on until K lists agree; return how many lists are not at
    their end, the item or NONE, and how many lists agree on it, which are in `p_lists` then. Where there are `bounds`,
    items are passed over as long as those of the lists that may have them are less than `least` together (Section 5,
    the first pruning technique, not one item at a time but up to the first list with which the bounds suffice).
    """
    while True:
        n_lists -= skip_lists(
            next_id, n_taken, code_bits, entries, place_of, end_of, p_lists, following, first_on, occupied
        )
        if n_lists < k:  # PLists[K - 1] is at its end
            take_rest(n_lists, p_lists, following, first_on, occupied)
            return n_lists, NONE, 0
        current_id = next_occupied(occupied, next_id)
        n_taken = take_down(current_id, 0, p_lists, following, first_on, occupied)
        next_id = current_id  # becomes the ID in the current entry of PLists[K - 1]
        while n_taken < k:
            next_id = next_occupied(occupied, next_id + 1)
            if n_taken + n_hanging(next_id, following, first_on) >= k:
                break
            n_taken = take_down(next_id, n_taken, p_lists, following, first_on, occupied)
        if bounds.size != 0:
            bound = hanging_bound(next_id, bounds, following, first_on)
            for taken in range(n_taken):
                bound += float(bounds[p_lists[taken]])
            while bound < least and n_taken + n_hanging(next_id, following, first_on) < n_lists:
                n_taken = take_down(next_id, n_taken, p_lists, following, first_on, occupied)
                next_id = next_occupied(occupied, next_id + 1)
                bound += hanging_bound(next_id, bounds, following, first_on)
            if bound < least:
                n_taken = take_down(next_id, n_taken, p_lists, following, first_on, occupied)
                next_id += 1
                continue
        if next_id == current_id:
            return n_lists, current_id, n_taken
