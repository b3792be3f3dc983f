"""SIFT's counting (whang2009, Section 7): one counter a conjunction, moved by every entry of the event's lists.

A counter begins at the number of predicates that must still hold, so that the one that brings it to 0 accepts the
conjunction, and nothing is searched afterwards. Counting a block of conjunctions at a time, whose counters stay in the
nearest caches, was tried and gained nothing: each block reads the beginnings of all lists again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.decorator import jit
from ruledex.engines.kindex.matching import Owners, collect_rules, mark_rules


class CountingIndex(NamedTuple):
    """The conjunctions that each literal is in; behind the literals' lists comes that of what needs no predicate."""

    list_offsets: NDArray[np.int64]  # [n_literals + 2]
    entries: NDArray[np.int32]  # conjunctions, ascending within a list
    needed: NDArray[Any]  # [n_conjunctions] predicates that must hold, at least 1
    owner_offsets: NDArray[np.int32]
    owner_rules: NDArray[np.int32]


@jit
def sift_match(
    index: CountingIndex,
    facts: Any,
    alive: NDArray[np.uint8],
    first_event: int,
    last_event: int,
    counters: NDArray[Any],
    found: NDArray[np.int32],
    answer: Any,
) -> tuple[int, int]:
    """Match events while there is room; return the event that comes next, and how many rules were written.

    What a WEAK ∉ rejects is set to a value from which no number of predicates leads down to 0.
    """
    list_offsets, entries, needed = index.list_offsets, index.entries, index.needed
    owners = Owners(index.owner_offsets, index.owner_rules)
    fact_offsets, literals = facts.offsets, facts.literals
    marks, offsets, out, work = answer.marks, answer.offsets, answer.out, answer.work
    always = list_offsets.size - 2
    rejected = 2 * needed.max() + 1 if needed.size != 0 else 1
    event, n_written, n_rules = first_event, 0, 64 * marks.size
    while event < last_event and n_written + n_rules <= out.size:
        counters[:] = needed
        n_entries, n_found = 0, 0
        begin, end = fact_offsets[event], fact_offsets[event + 1]
        for place in range(begin, end):
            if literals[place] < 0:
                literal = ~literals[place]
                for entry in range(list_offsets[literal], list_offsets[literal + 1]):
                    counters[entries[entry]] = rejected
                n_entries += list_offsets[literal + 1] - list_offsets[literal]
        for place in range(begin, end + 1):
            literal = literals[place] if place < end else always
            if literal < 0:
                continue
            for entry in range(list_offsets[literal], list_offsets[literal + 1]):
                conjunction = entries[entry]
                left = counters[conjunction] - 1
                counters[conjunction] = left
                if left == 0:
                    found[n_found] = conjunction
                    n_found += 1
            n_entries += list_offsets[literal + 1] - list_offsets[literal]
        mark_rules(owners, found, n_found, alive, marks)
        n_written += collect_rules(marks, out[n_written:])
        work[0] += n_entries
        work[1] += n_found
        event += 1
        offsets[event] = offsets[first_event] + n_written
    return event, n_written
