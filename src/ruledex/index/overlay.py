"""What a few changes leave of something large: arrays with some entries replaced, and places that have moved."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Item = TypeVar("Item", bound=np.generic)

_MOST_PENDING: Final = 4096


class Overlay(Generic[Item]):
    """An array of which some entries are replaced. Immutable.

    The whole array is made when it is first asked for: of a stream of changes without a reader between them, none is.
    """

    def __init__(self, origin: NDArray[Item], places: tuple[int, ...] = (), values: tuple[float, ...] = ()) -> None:
        self._origin = origin
        self._places = places
        self._values = values

    @cached_property
    def array(self) -> NDArray[Item]:
        """All entries, read-only."""
        array = self._origin.copy()
        array[list(self._places)] = self._values  # of a place that is there twice, the last value stays
        array.flags.writeable = False
        return array

    def replaced(self, places: Sequence[int], values: Sequence[float]) -> Overlay[Item]:
        """With other values at some places, a later one for an earlier one."""
        if "array" in self.__dict__ or len(self._places) > _MOST_PENDING:
            return Overlay(self.array, tuple(places), tuple(values))
        return Overlay(self._origin, (*self._places, *places), (*self._values, *values))


class Places:
    """Where rules stand, in the order of ids, when some of the base are gone and others have come between them.

    `dead` are the positions in the base that are gone, ascending. `before` says of each rule that has come, in the
    order of ids, how many rules of the base have smaller ids, those that are gone included.
    """

    def __init__(self, dead: NDArray[np.int64], before: NDArray[np.int64], n_base: int) -> None:
        self._dead = dead
        self._before = before
        self.n_rules = n_base - len(dead) + len(before)

    def is_gone(self, position: int) -> bool:
        """Whether a rule of the base is no longer there."""
        at = int(np.searchsorted(self._dead, position))
        return at < len(self._dead) and int(self._dead[at]) == position

    @cached_property
    def of_delta(self) -> NDArray[np.int32]:
        """The places of the rules that have come, in the order of ids."""
        n_gone = np.searchsorted(self._dead, self._before)
        return (self._before - n_gone + np.arange(len(self._before))).astype(np.int32)

    def of_base(self, positions: NDArray[np.int32]) -> NDArray[np.int32]:
        """The places of rules of the base that are still there."""
        n_gone = np.searchsorted(self._dead, positions)
        n_come = np.searchsorted(self._before, positions, side="right")
        return (positions - n_gone + n_come).astype(np.int32)

    def split(self, places: NDArray[np.int32]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """For each place whether it is that of a rule that has come, and its number among those or in the base."""
        at = np.searchsorted(self.of_delta, places)
        is_delta = np.zeros(len(places), np.bool_)
        inside = at < len(self._before)
        is_delta[inside] = self.of_delta[at[inside]] == places[inside]
        n_living = places - at  # of the base, before each
        positions = n_living + np.searchsorted(self._living_before, n_living, side="right")
        return is_delta, np.where(is_delta, at, positions)

    @cached_property
    def _living_before(self) -> NDArray[np.int64]:
        """For each position that is gone, how many that are not come before it."""
        return self._dead - np.arange(len(self._dead))
