"""What a few changes leave of something large: arrays with some entries replaced, and places that have moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ruledex.forks import cached_property

Item = TypeVar("Item", bound=np.generic)

_MOST_PENDING: Final = 4096


class Overlay(Generic[Item]):
    """An array of which some entries are replaced. Immutable.

    The whole array is made when it is first asked for: of a stream of changes without a reader between them, none is.
    Until then an overlay knows its own replacements and the overlay before it.
    """

    def __init__(
        self,
        origin: NDArray[Item] | Overlay[Item],
        places: Sequence[int] = (),
        values: Sequence[float] = (),
    ) -> None:
        self._origin = origin
        self._places = places
        self._values = values
        self._n_pending: int = origin._n_pending + 1 if isinstance(origin, Overlay) else 0
        self._array: NDArray[Item] | None = None

    @property
    def array(self) -> NDArray[Item]:
        """All entries, read-only."""
        made = self._array
        if made is None:
            made = self._array = self._made()
            # Those before may go. Whoever walks past at this moment replaces once more what is replaced already.
            self._origin = made
        return made

    def _made(self) -> NDArray[Item]:
        places: list[Sequence[int]] = []
        values: list[Sequence[float]] = []
        at: Overlay[Item] | NDArray[Item] = self
        while isinstance(at, Overlay):
            places.append(at._places)
            values.append(at._values)
            at = at._origin
        array = at.copy()
        for where, what in zip(reversed(places), reversed(values), strict=True):
            array[list(where)] = what
        array.flags.writeable = False
        return array

    def replaced(self, places: Sequence[int], values: Sequence[float]) -> Overlay[Item]:
        """With other values at some places, a later one for an earlier one."""
        if self._array is not None or self._n_pending > _MOST_PENDING:
            return Overlay(self.array, places, values)
        return Overlay(self, places, values)


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
        at = int(self._dead.searchsorted(position))
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
