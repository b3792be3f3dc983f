"""DNF expansion: each tree is translated to a DNF, and its conjunctions are indexed (fontoura2010, Section 5.2)."""

from __future__ import annotations

from typing import Self

from ruledex.engines.kindex.engine import DnfEngine
from ruledex.engines.kindex.normal_forms import NormalFormOptions
from ruledex.engines.protocol import Statistics
from ruledex.program.program import Program


class DnfTranslation(DnfEngine):
    """The engine `dnf` over the translated trees; its budget decides how far the blow-up may go."""

    name = "dnf translation"

    @classmethod
    def build(  # type: ignore[override]
        cls, program: Program, statistics: Statistics | None = None, **options: int
    ) -> Self:
        """Translate each rule to at most `budget` literals. A rule that needs more is refused, not left to `sparse`."""
        return super().build(program, statistics, NormalFormOptions(overflow="error", **options))
