"""An array of which a few items are replaced: which rules of a base are removed, and which scores are others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

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
