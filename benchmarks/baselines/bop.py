"""BoP: expressions with as many true predicates as they need at the least are evaluated (a-tree2021, Section 2).

The algorithm is Bittner and Hinze's of 2007. Each expression is stored for itself, and nothing that several have in
common is shared; only rules that are the same are one expression.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.constants import ALWAYS, AND
from ruledex.engines.access import node_probabilities
from ruledex.engines.inputs import Nodes
from ruledex.engines.kindex.engine import make_owners
from ruledex.engines.labelled.engine import DEFAULT_BUDGET
from ruledex.engines.protocol import Statistics
from ruledex.errors import BudgetError
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program

from .baseline import Answer, Baseline
from .bop_kernel import CountedExpressions, bop_match, encode_expressions, measure_nodes
from .true_literals import grouped
from .true_literals_kernel import Facts

NARROW, WIDE = np.uint8, np.int32  # counters, where no expression needs more predicates than the first can count


class Bop(Baseline):
    """What decides a node soonest is looked at first: of an AND what is seldom true, of an OR what often is."""

    name = "bop"
    counted = ("entries", "expressions evaluated")

    def __init__(self, program: Program, statistics: Statistics | None, budget: int) -> None:
        super().__init__(program)
        n_literals = self.truth.n_literals
        nodes = _ordered_nodes(program, node_probabilities(program, statistics))
        rules = np.flatnonzero(program.root >= ALWAYS)
        roots, of_rule = np.unique(program.root[rules], return_inverse=True)
        n_leaves, needed = np.zeros((2, program.n_nodes + 1), np.int64)  # the last is that of the root ALWAYS
        measure_nodes(nodes, frozen(self.truth.is_weak, np.uint8), n_leaves, needed)
        leaves, least = n_leaves[roots], needed[roots]
        if np.any(leaves > budget):
            large = int(np.flatnonzero(leaves > budget)[0])
            position = int(rules[of_rule == large][0])
            raise BudgetError("unfolded tree", int(leaves[large]), budget, position, unit="leaves")

        first_step = frozen(np.concatenate([[0], np.cumsum(leaves + 1)]), np.int64)
        steps = np.zeros(2 * first_step[-1], np.int32)
        most_children = int(np.diff(program.child_offsets).max(initial=1))
        stack = np.zeros((most_children * (len(program.level_offsets) + 1), 3), np.int64)
        roots = frozen(roots, np.int32)
        encode_expressions(nodes, n_leaves, n_literals, roots, first_step, stack, steps)

        literal = steps[::2] >> 1
        expression = np.repeat(np.arange(len(roots)), np.diff(first_step))
        is_counted = np.append(~self.truth.is_weak, False)[literal]
        nothing_needed = np.flatnonzero(least == 0)
        list_offsets, entries = grouped(
            np.concatenate([literal[is_counted], np.full(len(nothing_needed), n_literals)]),
            np.concatenate([expression[is_counted], nothing_needed]),
            n_literals + 1,
        )
        narrow = least.max(initial=0) <= np.iinfo(NARROW).max
        self.index = CountedExpressions(
            frozen(list_offsets, np.int64),
            entries,
            frozen(np.maximum(least, 1), NARROW if narrow else WIDE),
            frozen(first_step[:-1], np.int64),
            frozen(steps, np.int32),
            *make_owners(of_rule, rules, len(roots)),
        )

    @classmethod
    def build(cls, program: Program, statistics: Statistics | None = None, *, budget: int = DEFAULT_BUDGET) -> Self:
        """Index all rules; a rule of more leaves than `budget` is a BudgetError."""
        return cls(program, statistics, budget)

    def describe(self) -> dict[str, Any]:
        """What the baseline is made of."""
        made = {"n_expressions": len(self.index.needed), "n_entries": len(self.index.entries)}
        return {**super().describe(), **made}

    def _arrays(self) -> list[NDArray[Any]]:
        return list(self.index)

    def _new_scratch(self, batch: EventBatch) -> Any:  # noqa: ARG002 - the same for all
        needed = self.index.needed
        holds = np.append(self.truth.is_weak, True).astype(np.uint8)
        return holds, np.empty(len(needed), needed.dtype), np.empty(len(needed), np.int32)

    def _match_some(
        self,
        batch: EventBatch,  # noqa: ARG002 - its facts say it all
        scratch: Any,
        facts: Facts,
        first_event: int,
        last_event: int,
        alive: NDArray[np.uint8],
        answer: Answer,
    ) -> tuple[int, int]:
        holds, counters, found = scratch
        return bop_match(self.index, facts, alive, first_event, last_event, holds, counters, found, answer)


def _ordered_nodes(program: Program, probability: NDArray[np.float64]) -> Nodes:
    """The inner nodes with the children of each in the order in which they are looked at."""
    owner = np.repeat(np.arange(len(program.node_op)), np.diff(program.child_offsets))
    chance = probability[program.children]
    order = np.lexsort((np.where(program.node_op[owner] == AND, chance, -chance), owner))
    return Nodes(
        frozen(program.node_op, np.uint8),
        frozen(program.child_offsets, np.int32),
        frozen(program.children[order], np.int32),
    )
