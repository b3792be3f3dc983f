"""Removes NOT above branches, XOR and XNOR. Keeps all three truth values. Pushing NOT down also keeps the score.

    NOT NOT a      = a
    NOT (a AND b)  = NOT a OR NOT b          NOT (a OR b)    = NOT a AND NOT b
    NOT (a XOR b)  = a XNOR b                NOT (a XNOR b)  = a XOR b
    NOT TRUE       = FALSE                   NOT NULL        = NULL
    NOT (a)^2      = NOT a, for what scores only where it is not negated
    NOT (a IS TRUE) stays as it is, and NOT is pushed down below IS

    odd(a, b)      = a AND NOT b  OR  NOT a AND b            a XOR b
    even(a, b)     = a AND b  OR  NOT a AND NOT b            a XNOR b

A chain tests parity, which follows from that of its halves: odd(l, r) = odd l AND even r OR even l AND odd r. Both
answers of each half are made once and shared, so a chain of n needs 6n objects, which unfold to n² leaves.
"""

from __future__ import annotations

from ruledex.language.tree import And, Expression, Is, Not, Or, Required, Truth, Weighed, Xnor, Xor
from ruledex.rewrite.walk import with_children


def push_not(tree: Expression) -> Expression:
    """Return the same rule with NOT directly above predicates and IS only."""
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
        case Weighed(child, weight):  # the weight counts where the child is true
            return _push(child, True) if negated else Weighed(_push(child, False), weight)
        case Is(child, truth):
            tested = Is(_push(child, False), truth)
            return Not(tested) if negated else tested
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


def expand_xor(tree: Expression) -> Expression:
    """Return the same rule without XOR and XNOR. NOT must have been pushed down, and stays so."""
    if not _has_xor(tree):
        return tree
    made: dict[tuple[int, bool], tuple[Expression, Expression]] = {}

    def expand(node: Expression, negated: bool) -> Expression:
        known = made.get((id(node), negated))
        if known is None:
            # The node is kept beside the result: an id is unique only while the object lives.
            known = made[id(node), negated] = (node, compute(node, negated))
        return known[1]

    def compute(node: Expression, negated: bool) -> Expression:
        if isinstance(node, Xor | Xnor):
            children, odd_wanted = _chain(node)
            odd, even = parity(children)
            return odd if odd_wanted != negated else even
        if isinstance(node, And | Or):
            children = []
            for child in node.children:  # a loop, not a comprehension: one frame less per level
                children.append(expand(child, negated))
            if not negated:
                return with_children(node, children)
            return Or(tuple(children)) if isinstance(node, And) else And(tuple(children))
        return push_not(Not(node)) if negated else node

    def parity(children: list[Expression]) -> tuple[Expression, Expression]:
        if len(children) == 1:
            return expand(children[0], False), expand(children[0], True)
        middle = len(children) // 2
        left_odd, left_even = parity(children[:middle])
        right_odd, right_even = parity(children[middle:])
        odd = Or((And((left_odd, right_even)), And((left_even, right_odd))))
        even = Or((And((left_odd, right_odd)), And((left_even, right_even))))
        return odd, even

    return expand(tree, False)


def _has_xor(tree: Expression) -> bool:
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, Xor | Xnor):
            return True
        if isinstance(node, And | Or):
            pending += node.children
    return False


def _chain(node: Xor | Xnor) -> tuple[list[Expression], bool]:
    """Return all operands joined by XOR and XNOR, and whether the node is true for an odd number of true ones."""
    children: list[Expression] = []
    odd_wanted = True
    pending: list[Expression] = [node]
    while pending:
        link = pending.pop()
        if isinstance(link, Xor | Xnor):
            pending += link.children
            # Each XNOR of a chain negates the answer once.
            odd_wanted ^= isinstance(link, Xnor) and len(link.children) % 2 == 0
        else:
            children.append(link)
    return children, odd_wanted
