"""What an index knows of the rules of its delta, apart from what they say: arrays in the order of ids, and a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ruledex.index.identities import RuleId

# Ids and texts in the order in which they came. It grows at its end and nothing in it changes, so that all states of a
# delta have one, and each knows the entries that are its own.
Log: TypeAlias = list[tuple[RuleId, str]]


class DeltaRules(NamedTuple):
    """For each rule, ascending by id: a rule's number is its place here. Immutable."""

    ids: NDArray[Any]  # int64 or objects
    before: NDArray[np.int64]  # how many rules of the base have smaller ids
    scores: NDArray[np.float64]
    slots: NDArray[np.int32]  # in the tree
    entries: NDArray[np.int64]  # in the log

    @classmethod
    def none(cls) -> DeltaRules:
        """No rules."""
        whole = np.zeros(0, np.int64)
        return cls(whole, whole, np.zeros(0), np.zeros(0, np.int32), whole)

    def without(self, numbers: Sequence[int]) -> DeltaRules:
        """The rules but for some."""
        kept = np.ones(len(self.ids), np.bool_)
        kept[list(numbers)] = False
        arrays: Any = (array[kept] for array in self)
        return DeltaRules(*arrays)

    def joined(self, new: DeltaRules) -> DeltaRules:
        """The rules and others, of other ids."""
        if not len(self.ids):
            return new  # whose ids may be of another type
        places = np.searchsorted(self.ids, new.ids)
        pairs: Any = zip(self, new, strict=True)
        arrays = (_inserted(mine, places, theirs) for mine, theirs in pairs)
        return DeltaRules(*arrays)

    def scored(self, scores: Sequence[tuple[int, float]]) -> DeltaRules:
        """With other static scores for some, by number."""
        replaced = self.scores.copy()
        for number, score in scores:
            replaced[number] = score
        return self._replace(scores=replaced)


def _inserted(array: NDArray[Any], places: NDArray[np.int64], new: NDArray[Any]) -> NDArray[Any]:
    """An array with others before the items at some places."""
    if len(new) > 1:
        return np.insert(array, places, new)
    at = int(places[0])  # NumPy's own takes ten times as long for one
    return np.concatenate([array[:at], new, array[at:]])
