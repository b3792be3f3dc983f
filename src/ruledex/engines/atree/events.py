"""Matching batches of events with an A-Tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.decorator import jit
from ruledex.engines.atree.match import (
    MatchScratch,
    TreeIndex,
    collect_found,
    count_found,
    next_event,
    propagate,
)
from ruledex.engines.atree.plain import PlainScratch, Scopes, propagate_plainly


@jit
def _find(
    index: TreeIndex,
    scratch: MatchScratch,
    plain: PlainScratch,
    scopes: Scopes,
    switches: int,
    cells: NDArray[np.int32],
) -> None:
    """Set the bits of the rules of one event."""
    number = next_event(scratch)
    if plain.event.size == 0:
        propagate(index, scratch, number, cells)
    else:
        propagate_plainly(index, scratch, plain, scopes, switches, number, cells)


@jit
def match_events(
    index: TreeIndex,
    scratch: MatchScratch,
    plain: PlainScratch,
    scopes: Scopes,
    switches: int,
    alive: NDArray[np.uint8],
    n_rules: int,
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    first_event: int,
    offsets: NDArray[np.int64],
    out: NDArray[np.int32],
) -> tuple[int, int]:
    """Match events from `first_event` on, as long as `out` has room for all rules once more.

    Write where each event's rules end to `offsets`, counted from the first event of all, and the rules to `out`,
    ascending within an event; return the event that comes next, and how much of `out` was written. Without `plain`
    scratch both optimisations of matching are used.
    """
    event, n_written = first_event, 0
    while event < event_offsets.size - 1 and n_written + n_rules <= out.size:
        _find(index, scratch, plain, scopes, switches, cells[event_offsets[event] : event_offsets[event + 1]])
        n_found = collect_found(scratch.found, alive, out[n_written:])
        offsets[event + 1] = offsets[event] + n_found
        n_written += n_found
        event += 1
    return event, n_written


@jit
def count_events(
    index: TreeIndex,
    scratch: MatchScratch,
    plain: PlainScratch,
    scopes: Scopes,
    switches: int,
    alive: NDArray[np.uint8],
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """Count each event's rules."""
    for event in range(counts.size):
        _find(index, scratch, plain, scopes, switches, cells[event_offsets[event] : event_offsets[event + 1]])
        counts[event] = count_found(scratch.found, alive)
