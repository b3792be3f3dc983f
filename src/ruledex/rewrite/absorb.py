"""Removes repetitions and absorbed parts. Keeps all three truth values, not the score.

a OR (a AND b) = a         a AND (a OR b) = a         a OR a = a         a AND a = a
"""

from __future__ import annotations

from collections import Counter

from ruledex.language.tree import And, Expression, Or
from ruledex.rewrite.keys import NodeKeys
from ruledex.rewrite.walk import join_children, with_children


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
