"""Pushes NOT down to the predicates. Keeps all three truth values, and the score.

NOT NOT a      = a
NOT (a AND b)  = NOT a OR NOT b          NOT (a OR b)    = NOT a AND NOT b
NOT (a XOR b)  = a XNOR b                NOT (a XNOR b)  = a XOR b
NOT TRUE       = FALSE                   NOT NULL        = NULL
"""

from __future__ import annotations

from ruledex.language.tree import And, Expression, Not, Or, Required, Truth, Xnor, Xor


def push_not(tree: Expression) -> Expression:
    """Return the same rule with NOT directly above predicates only."""
    return _push(tree, False)


def _push(tree: Expression, negated: bool) -> Expression:
    match tree:
        case Not(child):
            return _push(child, not negated)
        case And(children) | Or(children):
            pushed = []
            for child in children:  # a loop, not a comprehension: the stack is short for the deepest rules
                pushed.append(_push(child, negated))  # noqa: PERF401
            return Or(tuple(pushed)) if isinstance(tree, And) == negated else And(tuple(pushed))
        case Xor(children) | Xnor(children):
            return _push_into_chain(tree, negated)
        case Required(child):  # it is never below NOT
            return Required(_push(child, False))
        case Truth(value):
            return Truth(not value) if negated and value is not None else tree
    return Not(tree) if negated else tree


def _push_into_chain(tree: Xor | Xnor, negated: bool) -> Expression:
    """Negate a chain by changing its last link only: NOT ((a XOR b) XOR c) = (a XOR b) XNOR c."""
    *rest, last = (_push(child, False) for child in tree.children)
    if not negated:
        return type(tree)((*rest, last))
    first = rest[0] if len(rest) == 1 else type(tree)(tuple(rest))
    return Xnor((first, last)) if isinstance(tree, Xor) else Xor((first, last))
