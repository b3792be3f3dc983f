"""The Conjunction algorithm (whang2009, Section 3, Algorithm 1), also for events with several values an attribute.

The code of an entry is 0 for ∉, and for ∈ the predicate's ordinal within its conjunction, counted from 1. The paper
accepts a conjunction that K lists agree on. Two values of one attribute, or one value in two domains, may put one
predicate into two lists, so K lists are necessary here and not sufficient: the ordinals, which ascend as the entries
do, are counted, and all K must be there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.disjunctions import Disjunctions, expression_numbers
from ruledex.kernels.jit import jit
from ruledex.kernels.postings import Cursors, Postings


@jit
def conjunction_numbers(
    index: Postings, scratch: Cursors, cells: NDArray[np.int32], begin: int, end: int, out: NDArray[np.int32]
) -> int:
    """Write the numbers of the conjunctions that are true of the event `cells[begin:end]`, each once; return how many.

    They come partition by partition, and ascend. `out` has room for all conjunctions.
    """
    none = index.item[:0]
    no_disjunctions, no_counters = Disjunctions(none, none, none), scratch.place[:0]
    return expression_numbers(index, no_disjunctions, scratch, no_counters, cells, begin, end, out)


@jit
def matching_conjunctions(
    index: Postings, scratch: Cursors, cells: NDArray[np.int32], begin: int, end: int, out: NDArray[np.int32]
) -> int:
    """Write the ids of the conjunctions that are true of the event `cells[begin:end]`, each once; return how many.

    They come in the index's own order, so they neither ascend nor descend. `out` has room for all conjunctions.
    """
    item = index.item
    n_found = conjunction_numbers(index, scratch, cells, begin, end, out)
    for place in range(n_found):
        out[place] = item[out[place]]
    return n_found
