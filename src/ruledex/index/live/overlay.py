"""A base with a few changes: arrays with some items replaced, and the positions and ids of base and delta together."""

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
    """An array of which some items are replaced. Immutable.

    The whole array is made at the first read: a series of changes without a read between them never makes one. Until
    then an overlay holds its own replacements and the overlay before it.
    """

    def __init__(
        self, origin: NDArray[Item] | Overlay[Item], positions: Sequence[int] = (), values: Sequence[float] = ()
    ) -> None:
        self._origin = origin
        self._positions = positions
        self._values = values
        self._n_pending: int = origin._n_pending + 1 if isinstance(origin, Overlay) else 0
        self._array: NDArray[Item] | None = None

    @property
    def array(self) -> NDArray[Item]:
        """All items, read-only."""
        made = self._array
        if made is None:
            made = self._array = self._make()
            # The overlays before this one may go. A thread that walks through here at this moment replaces again what
            # is replaced already, with the same values.
            self._origin = made
        return made

    def _make(self) -> NDArray[Item]:
        pending: list[Overlay[Item]] = []
        at: Overlay[Item] | NDArray[Item] = self
        while isinstance(at, Overlay):
            pending.append(at)
            at = at._origin
        array = at.copy()
        for overlay in reversed(pending):
            array[list(overlay._positions)] = overlay._values
        array.flags.writeable = False
        return array

    def replace(self, positions: Sequence[int], values: Sequence[float]) -> Overlay[Item]:
        """Return an overlay with other values at some positions. Of equal positions the last one counts."""
        if self._array is not None or self._n_pending > _MOST_PENDING:
            return Overlay(self.array, positions, values)
        return Overlay(self, positions, values)


class LivePositions:
    """The positions of all rules in the order of ids, after rules were removed from the base and others were added.

    `removed` has the positions in the base of the removed rules, ascending. `before` has, for each rule of the delta in
    the order of ids, how many rules of the base have smaller ids, the removed ones included.
    """

    def __init__(self, removed: NDArray[np.int64], before: NDArray[np.int64], n_base: int) -> None:
        self._removed = removed
        self._before = before
        self.n_rules = n_base - len(removed) + len(before)

    def is_removed(self, base_position: int) -> bool:
        """Return whether a rule of the base has been removed."""
        at = int(self._removed.searchsorted(base_position))
        return at < len(self._removed) and int(self._removed[at]) == base_position

    @cached_property
    def of_delta(self) -> NDArray[np.int32]:
        """The positions of the delta's rules, in the order of ids."""
        n_removed = np.searchsorted(self._removed, self._before)
        return (self._before - n_removed + np.arange(len(self._before))).astype(np.int32)

    def of_base(self, base_positions: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the positions of rules of the base that have not been removed."""
        n_removed = np.searchsorted(self._removed, base_positions)
        n_added = np.searchsorted(self._before, base_positions, side="right")
        return (base_positions - n_removed + n_added).astype(np.int32)

    def split(self, positions: NDArray[np.int32]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Return for each position whether its rule is in the delta, and the rule's position in the delta or base."""
        at = np.searchsorted(self.of_delta, positions)
        is_delta = np.zeros(len(positions), np.bool_)
        inside = at < len(self._before)
        is_delta[inside] = self.of_delta[at[inside]] == positions[inside]
        n_kept = positions - at  # rules of the base before each
        base_positions = n_kept + np.searchsorted(self._kept_before, n_kept, side="right")
        return is_delta, np.where(is_delta, at, base_positions)

    @cached_property
    def _kept_before(self) -> NDArray[np.int64]:
        """For each removed rule, how many rules before it are kept."""
        return self._removed - np.arange(len(self._removed))


class OverlayIdentities:
    """The ids of a base without its removed rules, and those of a delta, in one order."""

    def __init__(self, base: Identities, delta: Delta, positions: LivePositions) -> None:
        self._base = base
        self._delta = delta
        self._positions = positions
        # A base without rules accepts ids of either kind.
        self.kind = base.kind if len(base) or not len(delta) else delta.kind

    def __len__(self) -> int:
        return self._positions.n_rules

    def __iter__(self) -> Iterator[RuleId]:
        return iter(self.to_arrow().to_pylist())

    def of(self, positions: NDArray[np.int32]) -> list[RuleId]:
        """Return the ids at some positions."""
        is_delta, at = self._positions.split(positions)
        ids = np.empty(len(positions), object)
        ids[is_delta] = self._delta.ids[at[is_delta]].tolist()
        ids[~is_delta] = self._base.of(at[~is_delta].astype(np.int32))
        return ids.tolist()

    def take(self, positions: NDArray[np.int32]) -> NDArray[np.int64] | pa.LargeStringArray:
        """Return the ids at some positions as an array."""
        is_delta, at = self._positions.split(positions)
        added = self._delta.ids[at[is_delta]]
        kept = self._base.take(at[~is_delta].astype(np.int32))
        if self.kind == "integer":
            ids = np.empty(len(positions), np.int64)
            ids[is_delta], ids[~is_delta] = added, kept
            return ids
        order = np.empty(len(positions), np.int64)
        order[is_delta] = np.arange(len(added))
        order[~is_delta] = np.arange(len(added), len(positions))
        both = [pa.array(part, pa.large_string()) for part in (added, kept) if len(part)]
        return pa.concat_arrays(both).take(pa.array(order)) if both else pa.array([], pa.large_string())

    def position(self, rule_id: RuleId) -> int:
        """Return the position of an id. Raises a KeyError if there is none."""
        delta_position = self._delta.position(rule_id)
        if delta_position is not None:
            return int(self._positions.of_delta[delta_position])
        base_position = self._base.position(rule_id)
        if self._positions.is_removed(base_position):
            raise KeyError(rule_id)
        return int(self._positions.of_base(np.array([base_position], np.int32))[0])

    def has(self, rule_id: object) -> bool:
        """Return whether there is such an id."""
        if self._delta.position(rule_id) is not None:
            return True
        try:
            base_position = self._base.position(rule_id)  # type: ignore[arg-type]  # any other object is not found
        except KeyError:
            return False
        return not self._positions.is_removed(base_position)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return the arrays that would be stored."""
        return identities_of(self.to_arrow()).arrays()

    def to_arrow(self) -> pa.Array:
        """Return all ids."""
        return self._all

    @cached_property
    def _all(self) -> pa.Array:
        return pa.array(self.take(np.arange(len(self), dtype=np.int32)))
