"""DNF expansion: each tree is translated to a DNF, and its conjunctions are indexed (fontoura2010, Section 5.2)."""

from __future__ import annotations

from ruledex.engines.kindex.dnf import DnfEngine


class DnfTranslation(DnfEngine):
    """The engine `dnf` over the translated trees; what its budget is decides how far the blow-up may go."""

    name = "dnf translation"
