"""PSCAN: the paper's improved SCAN for CNF expressions (whang2009, Section 7, "Algorithms").

An expression stands in the lists of all predicates that its truth may hang on: those of its disjunctions without a
WEAK ∉. Where each disjunction has one, every event leads to the expression. Disjunctions that are seldom true are
evaluated first, since most expressions that a list leads to are false.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.engines.access import node_probabilities
from ruledex.engines.kindex.engine import make_owners
from ruledex.engines.kindex.normal_forms import (
    Clauses,
    clauses_of,
    expressions_of,
    join_clauses,
)
from ruledex.engines.protocol import Statistics
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program
from ruledex.rewrite.normal_form import DEFAULT_BUDGET

from .baseline import Answer, Baseline
from .lookup_kernels import ENDS_DISJUNCTION, ENDS_EXPRESSION, PostedExpressions, pscan_match
from .true_literals import grouped
from .true_literals_kernel import Facts


class PostingScan(Baseline):
    """Rules that are the same are one expression."""

    name = "pscan"
    counted = ("entries", "expressions evaluated")

    def __init__(self, program: Program, statistics: Statistics | None, budget: int) -> None:
        super().__init__(program)
        expressions = expressions_of(program, "CNF", budget, "error")
        clauses = join_clauses(clauses_of(program, "CNF", expressions))
        n_expressions = len(expressions.roots)
        lengths = np.diff(clauses.offsets)
        disjunction = np.repeat(np.arange(len(lengths)), lengths)
        expression = np.repeat(np.arange(n_expressions), clauses.n_clauses)
        is_weak = np.bincount(disjunction[self.truth.is_weak[clauses.literals]], minlength=len(lengths)) > 0

        probability = np.zeros(len(lengths))
        np.add.at(probability, disjunction, node_probabilities(program, statistics)[clauses.literals])
        order = np.lexsort((np.where(is_weak, 1.0, probability), expression))
        places, records = _records(clauses, order)

        n_literals = self.truth.n_literals
        is_posted = ~is_weak[disjunction]
        posted = np.unique(clauses.literals[is_posted] * np.int64(n_expressions) + expression[disjunction[is_posted]])
        led = np.flatnonzero(np.bincount(expression[~is_weak], minlength=n_expressions) == 0)
        literal = np.concatenate([posted // max(n_expressions, 1), np.full(len(led), n_literals)])
        entry = np.concatenate([posted % max(n_expressions, 1), led])
        list_offsets, entries = grouped(literal, places[entry], n_literals + 1)
        of_rule = np.repeat(np.arange(n_expressions), np.diff(expressions.rule_offsets))
        self.index = PostedExpressions(
            frozen(list_offsets, np.int64),
            entries,
            records,
            *make_owners(of_rule, expressions.rules, n_expressions),
        )

    @classmethod
    def build(cls, program: Program, statistics: Statistics | None = None, *, budget: int = DEFAULT_BUDGET) -> Self:
        """Index the CNF expressions of all rules."""
        return cls(program, statistics, budget)

    def describe(self) -> dict[str, Any]:
        """What the baseline is made of."""
        made = {"n_expressions": len(self.index.owner_offsets) - 1, "n_entries": len(self.index.entries)}
        return {**super().describe(), **made}

    def _arrays(self) -> list[NDArray[Any]]:
        return list(self.index)

    def _new_scratch(self, batch: EventBatch) -> Any:  # noqa: ARG002 - the same for all
        n_expressions = len(self.index.owner_offsets) - 1
        return (
            self.truth.is_weak.astype(np.uint8),
            np.empty(n_expressions, np.uint8),
            np.empty(n_expressions, np.int32),
        )

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
        holds, is_done, found = scratch
        return pscan_match(self.index, facts, alive, first_event, last_event, holds, is_done, found, answer)


def _records(clauses: Clauses, order: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Where each expression stands, and all of them, their disjunctions in the order that is given."""
    n_expressions = len(clauses.n_clauses)
    lengths = np.diff(clauses.offsets)[order]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    literals = clauses.literals[np.arange(offsets[-1]) + np.repeat(clauses.offsets[order] - offsets[:-1], lengths)]
    steps = literals.astype(np.int64) << 2
    steps[offsets[1:] - 1] |= ENDS_DISJUNCTION
    last = np.cumsum(clauses.n_clauses)
    has_any = clauses.n_clauses > 0
    steps[offsets[last[has_any]] - 1] |= ENDS_EXPRESSION
    # A header stands before the literals of each expression.
    begin = offsets[last - clauses.n_clauses]
    records = np.insert(steps, begin, np.arange(n_expressions) << 1 | has_any)
    return begin + np.arange(n_expressions), frozen(records, np.int32)
