"""Events as Arrow tables to the cells of a dictionary that grows."""

from __future__ import annotations

from ruledex.encode.arrow_events import ArrowEncoder
from ruledex.encode.arrow_tables import ArrowEvents
from ruledex.encode.event_batch import EventBatch
from ruledex.encode.growing import GrowingDictionary
from ruledex.kernels.event_cells import order_cells


class GrowingArrowEncoder(ArrowEncoder):
    """Encodes for a dictionary of the same constants that does not change, and renames its cells."""

    def __init__(self, dictionary: GrowingDictionary) -> None:
        fixed, self._names = dictionary.fixed()
        super().__init__(fixed)

    def encode(self, events: ArrowEvents) -> EventBatch:
        """The cells of each row."""
        batch = super().encode(events)
        offsets, cells = batch.offsets.copy(), self._names[batch.cells]
        n_cells = order_cells(offsets, cells)
        return EventBatch(offsets, cells[:n_cells], batch.weights, batch.single)
