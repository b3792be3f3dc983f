"""How many nodes `scan` evaluates. Counted apart, from below: what a node takes is what those of its children take that
are looked at before its value is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import jit
from ruledex.kernels.scan import AND, Nodes


@jit
def count_evaluated(
    nodes: Nodes,
    root: NDArray[np.int32],
    is_true: NDArray[np.bool_],
    n_evaluated: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Add to `counts` how many literals and how many inner nodes all rules take.

    `is_true` has the truth of literals, and room for that of inner nodes behind them; `n_evaluated` is scratch of two
    rows of the same length.
    """
    n_literals = is_true.size - nodes.node_op.size
    for node in range(is_true.size):
        literals, inner = 1, 0
        if node >= n_literals:
            operation = nodes.node_op[node - n_literals]
            literals, inner = 0, 1
            place, last = nodes.child_offsets[node - n_literals], nodes.child_offsets[node - n_literals + 1]
            is_true[node] = operation == AND
            while place < last:
                child = nodes.children[place]
                literals += n_evaluated[0, child]
                inner += n_evaluated[1, child]
                place += 1
                if is_true[child] != (operation == AND):
                    is_true[node] = is_true[child]
                    place = last
        n_evaluated[0, node], n_evaluated[1, node] = literals, inner
    for node in root:
        if node >= 0:
            counts[0] += n_evaluated[0, node]
            counts[1] += n_evaluated[1, node]
