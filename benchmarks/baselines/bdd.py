"""BDD: all rules in one shared binary decision diagram, walked from the roots down (a-tree2021, Section 2).

Campailla and others filter by such diagrams (2001); a-tree2021 lets them take any expression. The library `dd` builds
the diagram, and the walk is compiled. Rules whose diagrams are the same are one function, whatever their texts.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.engines.kindex.engine import make_owners
from ruledex.engines.protocol import Statistics
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program

from .baseline import Answer, Baseline
from .bdd_diagrams import TRUE, Limits, diagrams_of
from .bdd_kernel import SharedDiagram, bdd_match
from .true_literals_kernel import Facts

DEFAULT_BUDGET = 1_000_000  # nodes of the diagram of one rule
DEFAULT_SECONDS = 600.0
DEFAULT_BYTES = 1 << 32


class Bdd(Baseline):
    """`work` counts the nodes on the ways from the roots to an end."""

    name = "bdd"
    counted = ("nodes visited", "functions true")

    def __init__(self, program: Program, limits: Limits) -> None:
        super().__init__(program)
        diagrams = diagrams_of(program, limits)
        rules = np.flatnonzero(diagrams.roots != TRUE + 1)
        roots, of_rule = np.unique(diagrams.roots[rules], return_inverse=True)
        self.index = SharedDiagram(
            diagrams.nodes, frozen(roots, np.int32), *make_owners(of_rule, rules.astype(np.int32), len(roots))
        )

    @classmethod
    def build(
        cls,
        program: Program,
        statistics: Statistics | None = None,  # noqa: ARG003 - variables are in the order of the rules
        *,
        budget: int = DEFAULT_BUDGET,
        seconds: float = DEFAULT_SECONDS,
        n_bytes: int = DEFAULT_BYTES,
    ) -> Self:
        """Build the diagram of all rules.

        A rule with more nodes than `budget`, a diagram that takes more processor time than `seconds`, once to build and
        once to read it out, or more than `n_bytes` of the library's memory, is a BudgetError.
        """
        return cls(program, Limits(budget, seconds, n_bytes))

    def describe(self) -> dict[str, Any]:
        """What the baseline is made of."""
        made = {"n_functions": len(self.index.roots), "n_nodes": len(self.index.nodes) // 3}
        return {**super().describe(), **made}

    def _arrays(self) -> list[NDArray[Any]]:
        return list(self.index)

    def _new_scratch(self, batch: EventBatch) -> Any:  # noqa: ARG002 - the same for all
        return self.truth.is_weak.astype(np.uint8), np.empty(len(self.index.roots), np.int32)

    def _match_some(
        self,
        batch: EventBatch,  # noqa: ARG002 - its facts say it all
        scratch: Any,
        facts: Facts,
        first_event: int,
        last_event: int,
        alive: NDArray[np.uint8],
        answer: Answer,
    ) -> tuple[int, int]:
        holds, found = scratch
        return bdd_match(self.index, facts, alive, first_event, last_event, holds, found, answer)
