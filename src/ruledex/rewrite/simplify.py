"""Simplifies one AND or OR whose children are simple: flattens it, folds constants, sorts and absorbs.

flatten          keeps all three truth values, and the score
    (a AND b) AND c  =  a AND b AND c            (a OR b) OR c  =  a OR b OR c
fold_constants   keeps where a rule is true: unknown counts as false, because NOT has been pushed down
    a AND TRUE = a     a AND FALSE = FALSE       a OR FALSE = a     a OR TRUE = TRUE     NULL = FALSE
    p AND NOT p = FALSE                          x IS NULL AND p(x) = FALSE for a p that needs a value
    x IS NULL OR x IS NOT NULL = TRUE            (p OR NOT p is not always true)
    p AND p IS NOT TRUE = FALSE                  p OR p IS NOT TRUE = TRUE
sort_children    keeps all three truth values, and the score: equal expressions become equal trees
absorb           keeps all three truth values, not the score
    a OR (a AND b) = a         a AND (a OR b) = a         a OR a = a         a AND a = a
"""

from __future__ import annotations

from collections import Counter

from ruledex.language.tree import (
    And,
    CompareOperands,
    Expression,
    IsNull,
    Not,
    Or,
    Required,
    Truth,
    Untrue,
    Within,
    Xnor,
    Xor,
)
from ruledex.rewrite.walk import NodeKeys, join_children, with_children

TRUE, FALSE = Truth(True), Truth(False)


def flatten(node: And | Or) -> And | Or:
    """Return the node with the children of those children that have its own kind."""
    if not any(type(child) is type(node) for child in node.children):
        return node
    children: list[Expression] = []
    for child in node.children:
        if isinstance(child, And | Or) and type(child) is type(node):
            children += child.children
        else:
            children.append(child)
    return with_children(node, children)


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
    if _has_complement(children, present, keys):
        return True
    missing = {keys.operand(child.operand) for child in children if isinstance(child, IsNull)}
    return bool(missing) and any(
        isinstance(p, Within) and keys.operand(p.operand) in missing
        for p in (child.child if isinstance(child, Not) else child for child in children)
    )


def _covers(children: list[Expression], keys: NodeKeys) -> bool:
    """Return whether the children include a two-valued literal and its negation."""
    present = {keys.of(child) for child in children}
    return _has_complement(children, present, keys) or any(
        isinstance(child, Not)
        and (isinstance(child.child, IsNull) or (isinstance(child.child, CompareOperands) and child.child.op == "<=>"))
        and keys.of(child.child) in present
        for child in children
    )


def _has_complement(children: list[Expression], present: set[str], keys: NodeKeys) -> bool:
    return any(isinstance(child, Untrue) and keys.of(child.literal) in present for child in children)


def sort_children(node: And | Or, keys: NodeKeys) -> And | Or:
    """Return the node with its children in the order of their keys."""
    return with_children(node, sorted(node.children, key=keys.of))


def absorb(node: And | Or, keys: NodeKeys) -> Expression:
    """Return the node without the children that another child makes superfluous."""
    inner = Or if isinstance(node, And) else And
    parts = [
        frozenset(map(keys.of, child.children)) if isinstance(child, inner) else frozenset((keys.of(child),))
        for child in node.children
    ]
    if all(len(mine) == 1 for mine in parts) and len(set(parts)) == len(parts):
        return node
    # Small sets come first. Each that is kept is listed under its rarest member, where sets that contain it find it.
    frequency = Counter(member for mine in parts for member in mine)
    anchored: dict[str, list[frozenset[str]]] = {}
    kept = set()
    for i in sorted(range(len(parts)), key=lambda i: (len(parts[i]), i)):
        mine = parts[i]
        if any(other <= mine for member in mine for other in anchored.get(member, ())):
            continue
        kept.add(i)
        anchored.setdefault(min(mine, key=lambda member: (frequency[member], member)), []).append(mine)
    if len(kept) == len(parts):
        return node
    children = [child for i, child in enumerate(node.children) if i in kept]
    return join_children(type(node), children) if len(children) == 1 else with_children(node, children)


def order_for_score(tree: Expression, keys: NodeKeys) -> Expression:
    """Return a score tree flattened and sorted. XOR and XNOR keep the order of their children, which scores need."""
    match tree:
        case Xor(children) | Xnor(children):
            return type(tree)(tuple(order_for_score(child, keys) for child in children))
        case And(children) | Or(children):
            ordered = with_children(tree, [order_for_score(child, keys) for child in children])
            return sort_children(flatten(ordered), keys)
        case Required(child):
            return Required(order_for_score(child, keys))
    return tree
