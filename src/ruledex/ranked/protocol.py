"""What every structure over scored intervals takes and returns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ruledex.engines.protocol import Arrays, Matches


class Ranked(NamedTuple):
    """Intervals or subscriptions with their scores, the largest first, ties by id."""

    ids: NDArray[np.int32]
    scores: NDArray[np.float64]


class ScoredIntervals(Protocol):
    """Intervals with scores, and the best of those that hold a point. An interval's id is its place in the input.

    Safe to use from several threads at once as long as none of them changes it. A query that is no number is an error.
    """

    name: ClassVar[str]
    can_overlap: ClassVar[bool]  # whether `overlap` and its kin work

    @classmethod
    def build(
        cls,
        left: ArrayLike,
        right: ArrayLike,
        score: ArrayLike,
        *,
        left_open: ArrayLike | None = None,
        right_open: ArrayLike | None = None,
        **options: Any,
    ) -> Self:
        """Index intervals, closed unless `left_open` and `right_open` say otherwise, for each or for all.

        Infinite ends, points and duplicates are welcome; an interval that holds nothing, such as [3, 3), is never
        found. An end that is not a number, a score that is not finite and a left end above the right one are errors.
        """

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Return the structure whose build gave `arrays`; maps of a file will do, and are not copied."""

    def arrays(self) -> Arrays:
        """Return what the build computed, to be stored."""

    def stab(self, query: float) -> Iterator[tuple[int, float]]:
        """Ids and scores of the intervals that hold a point, the largest score first, ties by id."""

    def stab_top(self, query: float, k: int) -> Ranked:
        """Return the first k of `stab`."""

    def stab_top_batch(self, queries: ArrayLike, k: int) -> Matches:
        """`stab_top` of several points."""

    def overlap(self, low: float, high: float) -> Iterator[tuple[int, float]]:
        """As `stab`, those that share a point with the closed interval [low, high]."""

    def overlap_top(self, low: float, high: float, k: int) -> Ranked:
        """Return the first k of `overlap`."""

    def overlap_top_batch(self, low: ArrayLike, high: ArrayLike, k: int) -> Matches:
        """`overlap_top` of several intervals."""

    @property
    def n_bytes(self) -> int:
        """The arrays' size, the scores not counted: they are the caller's, 8 bytes each, and may be shared."""
