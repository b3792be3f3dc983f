"""A Program's rules as conjunctions: those of the rules' disjunctive normal forms, and the rules that each is of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.engines.kindex.engine import make_owners
from ruledex.engines.kindex.matching import Owners
from ruledex.engines.kindex.normal_forms import (
    clauses_of,
    distinct_clauses,
    expressions_of,
    join_clauses,
)
from ruledex.program.program import Program


class Conjunctions(NamedTuple):
    """Conjunction c has the literals `literals[offsets[c]:offsets[c + 1]]`; the pairs say whose rules it makes true."""

    offsets: NDArray[np.int64]
    literals: NDArray[np.int32]
    conjunction: NDArray[np.int64]  # pairs of a conjunction and a rule
    rule: NDArray[np.int32]

    @property
    def n_conjunctions(self) -> int:
        """How many."""
        return len(self.offsets) - 1

    def owners(self, number: NDArray[np.integer]) -> Owners:
        """The rules of each conjunction, where conjunction c has the number `number[c]`."""
        return make_owners(number[self.conjunction], self.rule, self.n_conjunctions)


def conjunctions_of(program: Program, budget: int, deduplicate: bool) -> Conjunctions:
    """The conjunctions of all rules, each distinct one once, or as often as rules have it.

    A rule whose normal form has more literals than `budget` is a BudgetError.
    """
    expressions = expressions_of(program, "DNF", budget, "error")
    n_rules = np.diff(expressions.rule_offsets)
    if deduplicate:
        clauses, number = distinct_clauses(clauses_of(program, "DNF", expressions))
    else:
        clauses = join_clauses(clauses_of(program, "DNF", expressions))
        number = np.arange(len(clauses.offsets) - 1, dtype=np.int32)
    root = np.repeat(np.arange(len(clauses.n_clauses)), clauses.n_clauses)
    n_owners = n_rules[root]
    conjunction = np.repeat(number.astype(np.int64), n_owners)
    within = np.arange(len(conjunction)) - np.repeat(np.cumsum(n_owners) - n_owners, n_owners)
    rule = expressions.rules[np.repeat(expressions.rule_offsets[root], n_owners) + within]
    if deduplicate:
        return Conjunctions(clauses.offsets, clauses.literals, conjunction, rule)
    # As many conjunctions as there are pairs: also rules that are the same have their own.
    lengths = np.diff(clauses.offsets)[conjunction]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - clauses.offsets[conjunction], lengths)
    return Conjunctions(offsets, clauses.literals[place], np.arange(len(rule)), rule)
