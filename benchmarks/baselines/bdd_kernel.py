"""Events through a shared decision diagram: from each root down, one edge a literal (a-tree2021, Section 2)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import prefetch
from ruledex.compiled.decorator import jit
from ruledex.engines.kindex.matching import Owners, collect_rules, mark_rules

from .true_literals_kernel import tick

AHEAD = 8  # functions by which a root is asked for before its walk


class SharedDiagram(NamedTuple):
    """Distinct functions: `nodes` and edges are those of `Diagrams`, and a function's rules are its owners."""

    nodes: NDArray[np.int32]  # [3 * n_nodes]
    roots: NDArray[np.int32]  # [n_functions] edges, in the order of what they lead to
    owner_offsets: NDArray[np.int32]
    owner_rules: NDArray[np.int32]


@jit
def bdd_match(
    index: SharedDiagram,
    facts: Any,
    alive: NDArray[np.uint8],
    first_event: int,
    last_event: int,
    holds: NDArray[np.uint8],
    found: NDArray[np.int32],
    answer: Any,
) -> tuple[int, int]:
    """Match events while there is room; return the event that comes next, and how many rules were written.

    `holds` has an entry a literal, 1 for a WEAK ∉ and else 0, and is left so.
    """
    nodes, roots = index.nodes, index.roots
    owners = Owners(index.owner_offsets, index.owner_rules)
    fact_offsets, literals = facts.offsets, facts.literals
    marks, offsets, out, work = answer.marks, answer.offsets, answer.out, answer.work
    event, n_written, n_rules = first_event, 0, 64 * marks.size
    while event < last_event and n_written + n_rules <= out.size:
        begin, end = fact_offsets[event], fact_offsets[event + 1]
        tick(literals, begin, end, holds, 1)
        n_visited, n_found = 0, 0
        for function in range(roots.size):
            if function + AHEAD < roots.size:
                prefetch(nodes, 3 * (np.int64(roots[function + AHEAD]) >> 1))
            edge = roots[function]
            is_flipped = 0
            while edge >= 0:
                is_flipped ^= edge & 1
                node = 3 * (np.int64(edge) >> 1)
                edge = nodes[node + 1 + holds[nodes[node]]]
                n_visited += 1
            if (edge ^ is_flipped) & 1 == 0:
                found[n_found] = function
                n_found += 1
        tick(literals, begin, end, holds, 0)
        mark_rules(owners, found, n_found, alive, marks)
        n_written += collect_rules(marks, out[n_written:])
        work[0] += n_visited
        work[1] += n_found
        event += 1
        offsets[event] = offsets[first_event] + n_written
    return event, n_written
