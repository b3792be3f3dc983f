"""The ids of a base and a delta as those of one index."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.forks import cached_property
from ruledex.index.delta import Delta
from ruledex.index.identities import Identities, RuleId, identities_of
from ruledex.index.overlay import Places


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
