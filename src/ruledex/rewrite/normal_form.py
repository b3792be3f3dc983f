"""Converts a match or score tree to disjunctive or conjunctive normal form, within a budget.

The size is computed before anything is multiplied out, so a rule that would explode is refused at once.
"""

from __future__ import annotations

from itertools import chain, product
from typing import Final

from ruledex.errors import BudgetError
from ruledex.language.tree import And, Expression, Or, Truth
from ruledex.rewrite.walk import NodeKeys

DEFAULT_BUDGET: Final = 10_000

Clauses = list[tuple[Expression, ...]]


def to_dnf(tree: Expression, budget: int = DEFAULT_BUDGET, keep_multiplicity: bool = False) -> Clauses:
    """Return the conjunctions of literals whose OR is the tree. `[]` is FALSE, and an empty conjunction is TRUE.

    Repeated literals and absorbed conjunctions are dropped unless `keep_multiplicity` is set. Scores need it: their AND
    sums over every occurrence, and their OR takes the largest of all. The tree must not have XOR or NOT.
    """
    return _clauses(tree, Or, "DNF", budget, keep_multiplicity)


def to_cnf(tree: Expression, budget: int = DEFAULT_BUDGET) -> Clauses:
    """Return the disjunctions of literals whose AND is the tree. `[]` is TRUE, and an empty disjunction is FALSE."""
    return _clauses(tree, And, "CNF", budget, False)


def _clauses(tree: Expression, outer: type[And] | type[Or], form: str, budget: int, keep_multiplicity: bool) -> Clauses:
    size = _size(tree, outer)[1]
    if size > budget:
        raise BudgetError(form, size, budget)
    clauses = _multiply(tree, outer)
    return clauses if keep_multiplicity else _simplify(clauses)


def _size(tree: Expression, outer: type[And] | type[Or]) -> tuple[int, int]:
    """Return the number of clauses, and of literals in all of them."""
    if not isinstance(tree, And | Or):
        return 1, 1
    sizes = [_size(child, outer) for child in tree.children]
    if isinstance(tree, outer):
        return sum(n for n, _ in sizes), sum(literals for _, literals in sizes)
    n_clauses, n_literals = 1, 0
    for n, literals in sizes:
        n_clauses, n_literals = n_clauses * n, n_literals * n + n_clauses * literals
    return n_clauses, n_literals


def _multiply(tree: Expression, outer: type[And] | type[Or]) -> Clauses:
    if isinstance(tree, Truth):
        holds_everywhere = tree.value is (outer is Or)
        return [()] if holds_everywhere else []
    if not isinstance(tree, And | Or):
        return [(tree,)]
    parts = [_multiply(child, outer) for child in tree.children]
    if isinstance(tree, outer):
        return list(chain.from_iterable(parts))
    return [tuple(chain.from_iterable(chosen)) for chosen in product(*parts)]


def _simplify(clauses: Clauses) -> Clauses:
    keys = NodeKeys()
    sets: dict[frozenset[str], tuple[Expression, ...]] = {}
    for clause in clauses:
        literals = {keys.of(literal): literal for literal in clause}
        sets.setdefault(frozenset(literals), tuple(literals[k] for k in sorted(literals)))
    kept: list[frozenset[str]] = []
    for members in sorted(sets, key=lambda members: (len(members), sorted(members))):
        if not any(other <= members for other in kept):
            kept.append(members)
    return [sets[members] for members in kept]
