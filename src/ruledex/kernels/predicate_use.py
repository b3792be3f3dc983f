"""In which polarity rules use their predicates: a literal that no rule needs is never made."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import jit
from ruledex.kernels.rule_entries import (
    ARGUMENT,
    BOTH,
    KIND,
    LEAF,
    N_ENTRY_COLUMNS,
    N_FRAME_COLUMNS,
    NEGATED,
    turn_round,
)
from ruledex.kernels.rule_scanner import OK, Scan

POSITIVE_USE, NEGATIVE_USE = 1, 2


def mark_uses(scan: Scan, predicate_of: NDArray[np.int32], n_predicates: int) -> NDArray[np.uint8]:
    """For each predicate, the sum of the uses that the scanned rules have for it."""
    uses = np.zeros(n_predicates, np.uint8)
    longest = int(np.diff(scan.code_offsets).max(initial=0))
    entries = np.zeros((2 * longest + 1, N_ENTRY_COLUMNS), np.int64)
    frames = np.zeros((longest + 1, N_FRAME_COLUMNS), np.int64)
    _mark(scan.status, scan.code_offsets, scan.code, predicate_of, entries, frames, uses)
    return uses


@jit
def _mark(
    status: NDArray[np.uint8],
    code_offsets: NDArray[np.int64],
    code: NDArray[np.int32],
    predicate_of: NDArray[np.int32],
    entries: NDArray[np.int64],
    frames: NDArray[np.int64],
    uses: NDArray[np.uint8],
) -> None:
    for rule in range(status.size):
        if status[rule] == OK:
            n_entries = turn_round(code, code_offsets[rule], code_offsets[rule + 1], predicate_of, entries, frames)
            for entry in range(n_entries):
                if entries[entry, KIND] == LEAF:
                    use = NEGATIVE_USE if entries[entry, NEGATED] != 0 else POSITIVE_USE
                    if entries[entry, BOTH] != 0:
                        use = POSITIVE_USE + NEGATIVE_USE
                    uses[entries[entry, ARGUMENT]] |= use
