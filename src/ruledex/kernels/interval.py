"""The Expression Evaluator for Interval IDs (fontoura2010, Section 4.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.bits import prefetch
from ruledex.kernels.jit import jit

AHEAD = 16  # how far before its use a line of memory is asked for


@jit
def match_intervals(
    expression_of: NDArray[np.int32],
    expression_offsets: NDArray[np.int32],
    begin: NDArray[np.integer],
    end: NDArray[np.integer],
    matched: NDArray[np.int64],
    leaf_offsets: NDArray[np.int64],
    leaves: NDArray[np.int32],
    n_events: int,
    true_offsets: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Write the expressions that the true leaves of each event make true, ascending, and where each event's end.

    Leaves ascend within an event, and so, within an expression, by `begin`. `out` may be `leaves` itself: there are
    never more expressions than leaves before them.

    This is Algorithm 5, MATCH, on one expression after the other. M is an expression's number of leaves; `matched` has
    an entry more than the largest M, and one more at its end. So that it need not be initialised for each expression,
    each has a number of its own for `true`, larger than all before, the last of which stays in the last entry. What is
    smaller is false, and the larger of two is what OR gives.
    """
    true = matched[matched.size - 1]
    n_true = 0
    true_offsets[0] = 0
    for event in range(n_events):
        expression, m = -1, 0
        last = leaf_offsets[event + 1]
        for place in range(leaf_offsets[event], last):
            leaf = leaves[place]
            if place + AHEAD < last:
                coming = np.int64(leaves[place + AHEAD])
                prefetch(expression_of, coming)
                prefetch(begin, coming)
                prefetch(end, coming)
            if expression_of[leaf] != expression:
                if expression >= 0:
                    out[n_true] = expression
                    n_true += 1 if matched[m] == true else 0
                expression = expression_of[leaf]
                m = expression_offsets[expression + 1] - expression_offsets[expression]
                true += 1
                matched[0] = true
            # if matched[begin - 1] then matched[end] ← true; without a branch, which no processor could predict
            matched[end[leaf]] = max(matched[end[leaf]], matched[begin[leaf] - 1])
        if expression >= 0:
            out[n_true] = expression
            n_true += 1 if matched[m] == true else 0
        true_offsets[event + 1] = n_true
    matched[matched.size - 1] = true
