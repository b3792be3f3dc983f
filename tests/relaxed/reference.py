"""Computes relaxed scores by their definition in docs/ranking.md.

This is as plain and slow as language/reference.py: everything that finds the best rules faster is tested against it.
"""

from __future__ import annotations

from decimal import Decimal

from ruledex.language.reference import Weights, score_of
from ruledex.language.resolve import Event
from ruledex.language.schema import Schema
from ruledex.language.tree import (
    And,
    Between,
    Expression,
    In,
    Is,
    IsNull,
    Not,
    Or,
    Required,
    Truth,
    Value,
    Weak,
    Weighed,
    Within,
    Xnor,
    Xor,
)
from ruledex.language.value import as_double, compare

_UNDECLARED = Schema()

Part = tuple[Expression, bool]  # an expression, and whether its negation is meant


def relaxed_score(
    tree: Expression, event: Event, weights: Weights | None = None, schema: Schema = _UNDECLARED
) -> float | None:
    """Return the score of the best branch that counts, or None if no branch counts."""
    scores = [_branch_score(branch, event, weights, schema) for branch in _parts((tree, False), Or)]
    return max((points for points in scores if points is not None), default=None)


def _branch_score(branch: Part, event: Event, weights: Weights | None, schema: Schema) -> float | None:
    total, n_scoring, n_scoring_met = 0.0, 0, 0
    for conjunct, negated in _parts(branch, And):
        can_score = _can_score(conjunct, negated, schema)
        points = score_of(Not(conjunct) if negated else conjunct, event, weights, schema)
        if points is None and (isinstance(conjunct, Required) or not can_score):
            return None  # a conjunct that must hold does not
        total += points or 0.0
        n_scoring += can_score
        n_scoring_met += can_score and points is not None
    return total if n_scoring_met > 0 or n_scoring == 0 else None


def _parts(whole: Part, kind: type[And] | type[Or]) -> list[Part]:
    """Return the conjuncts or the branches, with nested ones joined. A negated OR is an AND, and vice versa."""
    tree, negated = whole
    if isinstance(tree, Not):
        return _parts((tree.child, not negated), kind)
    if isinstance(tree, And | Or) and isinstance(tree, kind) != negated:
        return [part for child in tree.children for part in _parts((child, negated), kind)]
    return [whole]


def _can_score(tree: Expression, negated: bool, schema: Schema) -> bool:
    """Return whether a predicate is not negated, has a weight above 0, and is true of some value."""
    match tree:
        case Not(child):
            return _can_score(child, not negated, schema)
        case Weighed(child, weight):
            return _can_score(child, True, schema) if negated else weight > 0
        case Required(child):
            return _can_score(child, negated, schema)
        case And(children) | Or(children):
            return any(_can_score(child, negated, schema) for child in children)
        case Xor(children) | Xnor(children):  # negating one changes a link, not what it links
            return any(_can_score(child, False, schema) for child in children)
        case Truth() | Is() | IsNull() | Weak() | Within():
            return False
        case In(_, _, weights):
            return not negated and any(weights or (1.0,))
        case Between(_, low, high):
            return not negated and tree.weight > 0 and not _are_crossed(low, high, schema)
    return not negated and tree.weight > 0


def _are_crossed(low: Value, high: Value, schema: Schema) -> bool:
    """Return whether no value lies between. Ends that are crossed as integers may be one double, which lies between."""
    if isinstance(low, int | Decimal | float) and isinstance(high, int | Decimal | float):
        return compare(low, high, schema.zone) > 0 and as_double(low) != as_double(high)
    return compare(low, high, schema.zone) > 0
