"""Rules whose normal form is past the budget, which are left to `sparse` over a Program of their nodes alone."""

from __future__ import annotations

from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import NEVER
from ruledex.engines.inputs import array_of
from ruledex.engines.protocol import Alive, Arrays, Matches, Statistics
from ruledex.engines.sparse.engine import SparseEngine
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program

PREFIX = "overflow_"


class OverflowRules:
    """The rules at the positions `rules`, under the same positions."""

    def __init__(self, rules: NDArray[np.int32], engine: SparseEngine) -> None:
        self.rules = rules
        self.engine = engine

    @classmethod
    def build(cls, program: Program, rules: NDArray[np.int32], statistics: Statistics | None) -> Self:
        """Build `sparse` over these rules."""
        return cls(rules, SparseEngine.build(program_of_rules(program, rules), statistics))

    @classmethod
    def from_arrays(cls, program: Program, arrays: Arrays) -> Self:
        """Return the rules whose build gave `arrays`."""
        rules = array_of(arrays, f"{PREFIX}rules", np.int32)
        own = {name.removeprefix(PREFIX): array for name, array in arrays.items() if name.startswith(PREFIX)}
        return cls(rules, SparseEngine.from_arrays(program_of_rules(program, rules), own))

    def arrays(self) -> Arrays:
        """Return what `sparse` stores, under names of their own, and the rules."""
        own = {f"{PREFIX}{name}": array for name, array in self.engine.arrays().items()}
        return {f"{PREFIX}rules": self.rules, **own}

    def add_to(self, found: Matches, batch: EventBatch, alive: Alive | None) -> Matches:
        """Return the matches `found` and those of these rules, ascending within an event. No rule may be in both."""
        own = self.engine.match(batch, alive)
        event, rule = found.pairs()
        own_event, own_rule = own.pairs()
        event, rule = np.concatenate([event, own_event]), np.concatenate([rule, own_rule])
        return Matches(found.offsets + own.offsets, rule[np.lexsort((rule, event))])


def program_of_rules(program: Program, rules: NDArray[np.int32]) -> Program:
    """Return the Program with the nodes that `rules` need; the others' roots are NEVER. It is not for scoring."""
    first = program.n_literals
    is_needed = np.zeros(program.n_nodes, np.bool_)
    roots = program.root[rules]
    is_needed[roots] = True
    n_children = np.diff(program.child_offsets)
    for begin, end in reversed(list(pairwise((program.level_offsets - first).tolist()))):
        below = program.children[program.child_offsets[begin] : program.child_offsets[end]]
        is_needed[below[np.repeat(is_needed[first + begin : first + end], n_children[begin:end])]] = True
    is_needed[:first] = True
    number = np.cumsum(is_needed) - 1
    kept = is_needed[first:]
    children = number[program.children[np.repeat(kept, n_children)]]
    root = np.full(program.n_rules, NEVER, np.int32)
    root[rules] = number[roots]
    return program._replace(
        node_op=program.node_op[kept],
        child_offsets=np.concatenate([[0], np.cumsum(n_children[kept])]).astype(program.child_offsets.dtype),
        children=children.astype(np.int32),
        level_offsets=np.concatenate([[0], np.cumsum(is_needed)])[program.level_offsets].astype(np.int32),
        root=root,
    )
