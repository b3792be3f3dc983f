"""Folds constants. Keeps where a rule is true: unknown counts as false, because NOT has been pushed down.

a AND TRUE = a     a AND FALSE = FALSE     a OR FALSE = a     a OR TRUE = TRUE     NULL = FALSE
p AND NOT p = FALSE                        x IS NULL AND p(x) = FALSE for a p that needs a value
x IS NULL OR x IS NOT NULL = TRUE          (p OR NOT p is not always true)
"""

from __future__ import annotations

from ruledex.language.tree import And, CompareOperands, Expression, IsNull, Not, Or, Truth, Within
from ruledex.rewrite.keys import NodeKeys
from ruledex.rewrite.walk import join_children, with_children

TRUE, FALSE = Truth(True), Truth(False)


def fold_constants(node: And | Or, keys: NodeKeys) -> Expression:
    """Return the node without TRUE, FALSE and NULL below it."""
    decides, drops = (False, True) if isinstance(node, And) else (True, False)
    kept: list[Expression] = []
    for child in node.children:
        if isinstance(child, Truth):
            if child.value is decides:
                return child
        else:
            kept.append(child)
    if not kept:
        return Truth(drops)
    if isinstance(node, And) and _contradicts(kept, keys):
        return FALSE
    if isinstance(node, Or) and _covers(kept, keys):
        return TRUE
    return join_children(type(node), kept) if len(kept) == 1 else with_children(node, kept)


def _contradicts(children: list[Expression], keys: NodeKeys) -> bool:
    """Return whether the children include a literal and its negation, or IS NULL and a literal that needs a value."""
    present = {keys.of(child) for child in children}
    if any(isinstance(child, Not) and keys.of(child.child) in present for child in children):
        return True
    missing = {keys.operand(child.operand) for child in children if isinstance(child, IsNull)}
    return bool(missing) and any(
        isinstance(p, Within) and keys.operand(p.operand) in missing
        for p in (child.child if isinstance(child, Not) else child for child in children)
    )


def _covers(children: list[Expression], keys: NodeKeys) -> bool:
    """Return whether the children include a two-valued literal and its negation."""
    present = {keys.of(child) for child in children}
    return any(
        isinstance(child, Not)
        and (isinstance(child.child, IsNull) or (isinstance(child.child, CompareOperands) and child.child.op == "<=>"))
        and keys.of(child.child) in present
        for child in children
    )
