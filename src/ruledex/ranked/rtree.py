"""`ScoredRTree`: intervals in the order of their scores, with extents over them (ranked-pubsub2008, Section 2.2.3)."""

from __future__ import annotations

from typing import Any, Self

from ruledex.ranked.intervals import Entries
from ruledex.ranked.packed import PackedTree, packed

BRANCHING = 32


class ScoredRTree(PackedTree):
    """The simplest tree, and one whose order also serves events that are intervals.

    Extents of intervals that are near in score alone may have holes: a query of a place where few intervals lie may
    look at every node.
    """

    name = "r"
    can_overlap = True

    @classmethod
    def from_entries(cls, entries: Entries, *, branching: int = BRANCHING, **unknown: Any) -> Self:
        """Put extents over each `branching` entries, which are in order."""
        if unknown:
            raise TypeError(f"unknown options: {', '.join(unknown)}")
        return cls(tuple(packed(entries, branching)))
