"""The five structures by name."""

from __future__ import annotations

from ruledex.errors import RuledexError, quoted
from ruledex.ranked.interval_tree import ScoredIntervalTree
from ruledex.ranked.irtree import IRTree
from ruledex.ranked.rtree import ScoredRTree
from ruledex.ranked.segment_tree import ScoredSegmentTree
from ruledex.ranked.sopt_rtree import SOPTRTree
from ruledex.ranked.tree import ScoredTree

STRUCTURES: dict[str, type[ScoredTree]] = {
    structure.name: structure for structure in (ScoredSegmentTree, ScoredIntervalTree, ScoredRTree, IRTree, SOPTRTree)
}


def structure_named(name: str) -> type[ScoredTree]:
    """Return the class of a structure."""
    if name not in STRUCTURES:
        raise RuledexError(f"there is no structure {quoted(name)}; there are {', '.join(STRUCTURES)}")
    return STRUCTURES[name]
