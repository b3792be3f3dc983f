"""What a few changes leave of something large: arrays with some entries replaced, and places that have moved.

The ids of a base and a delta as those of one index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Generic, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.forks import cached_property
from ruledex.index.identities import Identities, RuleId, identities_of
from ruledex.index.live.delta import Delta

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


class OverlayIdentities:
    """The ids of a base without those that are gone, and of a delta, by their places in the order of ids."""

    def __init__(self, base: Identities, delta: Delta, places: Places) -> None:
        self._base = base
        self._delta = delta
        self._places = places
        # A base of no rules takes ids of either kind.
        self.kind = base.kind if len(base) or not len(delta) else delta.kind

    def __len__(self) -> int:
        return self._places.n_rules

    def __iter__(self) -> Iterator[RuleId]:
        return iter(self.to_arrow().to_pylist())

    def of(self, positions: NDArray[np.int32]) -> list[RuleId]:
        """The ids of some places."""
        is_delta, numbers = self._places.split(positions)
        ids = np.empty(len(positions), object)
        ids[is_delta] = self._delta.ids[numbers[is_delta]].tolist()
        ids[~is_delta] = self._base.of(numbers[~is_delta].astype(np.int32))
        return ids.tolist()

    def taken(self, positions: NDArray[np.int32]) -> NDArray[np.int64] | pa.LargeStringArray:
        """The ids of some places as an array."""
        is_delta, numbers = self._places.split(positions)
        come = self._delta.ids[numbers[is_delta]]
        kept = self._base.taken(numbers[~is_delta].astype(np.int32))
        if self.kind == "integer":
            ids = np.empty(len(positions), np.int64)
            ids[is_delta], ids[~is_delta] = come, kept
            return ids
        order = np.empty(len(positions), np.int64)
        order[is_delta] = np.arange(len(come))
        order[~is_delta] = np.arange(len(come), len(positions))
        both = [pa.array(part, pa.large_string()) for part in (come, kept) if len(part)]
        return pa.concat_arrays(both).take(pa.array(order)) if both else pa.array([], pa.large_string())

    def position(self, rule_id: RuleId) -> int:
        """The place of an id; KeyError where there is none."""
        number = self._delta.number(rule_id)
        if number is not None:
            return int(self._places.of_delta[number])
        position = self._base.position(rule_id)
        if self._places.is_gone(position):
            raise KeyError(rule_id)
        return int(self._places.of_base(np.array([position], np.int32))[0])

    def has(self, rule_id: object) -> bool:
        """Whether there is such an id."""
        if self._delta.number(rule_id) is not None:
            return True
        try:
            position = self._base.position(rule_id)  # type: ignore[arg-type]  # whatever else it is, is not there
        except KeyError:
            return False
        return not self._places.is_gone(position)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """What would be stored of them."""
        return identities_of(self.to_arrow()).arrays()

    def to_arrow(self) -> pa.Array:
        """All ids."""
        return self._all

    @cached_property
    def _all(self) -> pa.Array:
        return pa.array(self.taken(np.arange(len(self), dtype=np.int32)))
