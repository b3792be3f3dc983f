"""The rules of a batch of events, by the Conjunction algorithm or by the CNF algorithm."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.conjunctions import conjunction_numbers
from ruledex.kernels.disjunctions import Disjunctions, expression_numbers
from ruledex.kernels.jit import jit
from ruledex.kernels.normal_forms_rules import Owners, collect_rules, mark_rules
from ruledex.kernels.postings import Cursors, Postings


@jit
def dnf_match(
    index: Postings,
    scratch: Cursors,
    owners: Owners,
    alive: NDArray[np.uint8],
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    first_event: int,
    found: NDArray[np.int32],
    marks: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    out: NDArray[np.int32],
) -> tuple[int, int]:
    """Match events from `first_event` on, as long as `out` has room for all rules once more.

    Write where each event's rules end to `offsets`, counted from the first event of all, and the positions to `out`,
    ascending within an event; return the event that comes next, and how much of `out` was written. `marks` has a bit
    a rule, none of them set.
    """
    event, n_written, n_rules = first_event, 0, 64 * marks.size
    while event < event_offsets.size - 1 and n_written + n_rules <= out.size:
        n_found = conjunction_numbers(index, scratch, cells, event_offsets[event], event_offsets[event + 1], found)
        mark_rules(owners, found, n_found, alive, marks)
        n_written += collect_rules(marks, out[n_written:])
        event += 1
        offsets[event] = offsets[first_event] + n_written
    return event, n_written


@jit
def cnf_match(
    index: Postings,
    disjunctions: Disjunctions,
    scratch: Cursors,
    counters: NDArray[np.int64],
    owners: Owners,
    alive: NDArray[np.uint8],
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    first_event: int,
    found: NDArray[np.int32],
    marks: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    out: NDArray[np.int32],
) -> tuple[int, int]:
    """The same by the CNF algorithm."""
    event, n_written, n_rules = first_event, 0, 64 * marks.size
    while event < event_offsets.size - 1 and n_written + n_rules <= out.size:
        n_found = expression_numbers(
            index, disjunctions, scratch, counters, cells, event_offsets[event], event_offsets[event + 1], found
        )
        mark_rules(owners, found, n_found, alive, marks)
        n_written += collect_rules(marks, out[n_written:])
        event += 1
        offsets[event] = offsets[first_event] + n_written
    return event, n_written
