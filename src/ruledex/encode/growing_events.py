"""Events as mappings to the cells of a dictionary that grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ruledex.encode.events import EventEncoder
from ruledex.encode.growing import GrowingDictionary
from ruledex.forks import cached_property

if TYPE_CHECKING:
    from ruledex.encode.arrow_events import ArrowEncoder


class GrowingEncoder(EventEncoder):
    """Encodes events for a dictionary as it is now. After the next change another one is needed."""

    def __init__(self, dictionary: GrowingDictionary) -> None:
        super().__init__(dictionary)
        self._growing = dictionary

    @cached_property
    def arrow(self) -> ArrowEncoder:
        """For tables. It is made once, when the first table comes."""
        from ruledex.encode.growing_arrow import GrowingArrowEncoder

        return GrowingArrowEncoder(self._growing)
