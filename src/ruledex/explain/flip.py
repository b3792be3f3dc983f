"""Finds the smallest set of predicates whose truth would have to change to make a rule true, or not true.

For each clause and each truth, the cost is computed once from the costs of the children:

    AND is true       all children are                    the sum of their costs for true
    AND is false      one child is, the others free       the least of their costs for false
    AND is unknown    none is false, one is unknown       for each the lesser of true and unknown, one of them unknown
    OR                the same with true and false exchanged
    NOT               the child's, true and false exchanged
    IS [NOT] TRUE     the child's for that truth, or the least of the others
    XOR, XNOR         pairs of both sides' truths, folded from the left

A predicate costs 0 for the truth that it has and 1 for any other that it can have; other truths are impossible (IS NULL
is never unknown). Predicates are treated as independent, even if they test the same attribute.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from ruledex.explain.clause import Clause
from ruledex.language.tree import Between, CompareOperands, In, Is, IsNull, Not, NullSafe, Predicate
from ruledex.language.value_types import Moment

Truths: TypeAlias = "dict[bool | None, FlipPlan]"

_TRUTHS: Final = (True, False, None)


@dataclass(frozen=True, slots=True)
class FlipPlan:
    """A way to give a clause a truth: its cost, and the changes of predicates below it."""

    cost: float
    parts: tuple[FlipPlan, ...] = ()
    change: tuple[Clause, bool | None] | None = None

    def changes(self) -> Iterator[tuple[Clause, bool | None]]:
        """Return the predicates to change and the truth that each needs, from left to right."""
        pending = [self]  # no recursion: a chain of XORs is folded, so its plan is as deep as it is long
        while pending:
            plan = pending.pop()
            if plan.change is not None:
                yield plan.change
            pending.extend(reversed(plan.parts))


_NOTHING: Final = FlipPlan(0)
_NEVER: Final = FlipPlan(math.inf)


def smallest_flip(root: Clause) -> list[tuple[Clause, bool | None]] | None:
    """Return the changes that make a true rule not true, or any other rule true, or None if no change does."""
    plans = _plans(root)
    # False comes first: a value that does not fit is easier to understand than a missing one.
    plan = _least(plans[False], plans[None]) if root.truth is True else plans[True]
    return None if plan.cost == math.inf else list(plan.changes())


def _plans(clause: Clause) -> Truths:
    if clause.kind == "constant":
        return {truth: _NOTHING if truth is clause.truth else _NEVER for truth in _TRUTHS}
    if clause.kind == "predicate":
        predicate, negated = clause.predicate
        possible = {_negate(truth) if negated else truth for truth in possible_truths(predicate)}
        return {truth: _leaf(clause, truth, truth in possible) for truth in _TRUTHS}
    children = [_plans(child) for child in clause.children]
    if clause.kind == "named":
        return children[0]
    if clause.kind == "not":
        return _exchange(children[0])
    if clause.kind == "is":
        return _is(clause, children[0])
    if clause.kind == "and":
        return _all(children)
    if clause.kind == "or":
        return _exchange(_all([_exchange(child) for child in children]))
    folded = children[0]
    for child in children[1:]:
        folded = _either(folded, child, equal=clause.kind == "xnor")
    return folded


def _leaf(clause: Clause, truth: bool | None, possible: bool) -> FlipPlan:
    if truth is clause.truth:
        return _NOTHING
    return FlipPlan(1, (), (clause, truth)) if possible else _NEVER


def possible_truths(predicate: Predicate) -> tuple[bool | None, ...]:
    """Return the truths that a predicate can have, over all events."""
    match predicate:
        case IsNull() | NullSafe() | CompareOperands(_, "<=>"):
            return True, False
        case In(_, _, _, True):
            return True, None
        case Between(_, low, high) if type(low) is type(high) is not Moment and high < low:  # type: ignore[operator]
            return False, None
    return _TRUTHS


def _negate(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _exchange(plans: Truths) -> Truths:
    return {True: plans[False], False: plans[True], None: plans[None]}


def _least(*plans: FlipPlan) -> FlipPlan:
    """Return the cheapest plan, the first of equals."""
    return min(plans, key=lambda plan: plan.cost)


def _together(parts: list[FlipPlan]) -> FlipPlan:
    cost = sum(part.cost for part in parts)
    return FlipPlan(cost, tuple(part for part in parts if part.cost)) if cost < math.inf else _NEVER


def _all(children: list[Truths]) -> Truths:
    kept = [_least(child[True], child[None]) for child in children]
    extra = [
        child[None].cost - part.cost if part.cost < math.inf else math.inf
        for child, part in zip(children, kept, strict=True)
    ]
    least = extra.index(min(extra))
    kept[least] = children[least][None]
    return {
        True: _together([child[True] for child in children]),
        False: _least(*(child[False] for child in children)),
        None: _together(kept),
    }


def _is(clause: Clause, child: Truths) -> Truths:
    negated = isinstance(clause.tree, Not)
    tested = clause.tree.child if isinstance(clause.tree, Not) else clause.tree
    assert isinstance(tested, Is)
    others = _least(*(child[truth] for truth in _TRUTHS if truth is not tested.truth))
    holds = {True: child[tested.truth], False: others, None: _NEVER}
    return _exchange(holds) if negated else holds


def _either(left: Truths, right: Truths, equal: bool) -> Truths:
    same = _least(*(_together([left[truth], right[truth]]) for truth in (True, False)))
    different = _least(*(_together([left[truth], right[not truth]]) for truth in (True, False)))
    free = [_least(*(side[truth] for truth in _TRUTHS)) for side in (left, right)]
    unknown = _least(_together([left[None], free[1]]), _together([free[0], right[None]]))
    return {True: same if equal else different, False: different if equal else same, None: unknown}
