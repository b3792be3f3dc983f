"""`scan`: every rule against every event. It is the baseline, and enough for small rule sets.

A rule is evaluated from its root down, and a node is left as soon as its value is known.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.constants import ALWAYS, AND
from ruledex.compiled.decorator import jit
from ruledex.engines.inputs import Nodes, freeze_alive, freeze_batch, literals_of, nodes_of
from ruledex.engines.protocol import Alive, Arrays, Matches, NoOptions, Statistics
from ruledex.engines.ranking import Ranker, RanksFound
from ruledex.events.batch import EventBatch
from ruledex.program.program import Literals, Program


@jit
def scan_rules(
    literals: Literals,
    nodes: Nodes,
    root: NDArray[np.int32],
    alive: NDArray[np.uint8],
    cells: NDArray[np.int32],
    begin: int,
    end: int,
    path: NDArray[np.int64],
    before: NDArray[np.int32],
    out: NDArray[np.int32],
) -> int:
    """Write the positions of the rules that are true of the event, ascending; return their number.

    `alive` is empty where all rules are. `out` has room for all rules. `path` is scratch of two rows, the nodes from a
    root down to the one at hand and the next child of each, as long as the deepest rule. `before` is scratch of one
    entry per cell and one more: how many of the event's cells lie before it, so that two of them answer an interval.
    """
    before[:] = 0
    for place in range(begin, end):
        before[cells[place] + 1] = 1
    for cell in range(1, before.size):
        before[cell] += before[cell - 1]
    offsets, low, high = literals.interval_offsets, literals.interval_low, literals.interval_high
    presence, positive = literals.negative_presence, literals.negative_of
    operations, child_offsets, children = nodes.node_op, nodes.child_offsets, nodes.children
    n_positive, n_literals = offsets.size - 1, offsets.size - 1 + positive.size
    n_found = 0
    for rule in range(root.size):
        node = root[rule]
        holds = node == ALWAYS
        is_open = node >= 0
        if alive.size != 0 and alive[rule] == 0:
            holds, is_open = False, False
        depth = -1
        while is_open:
            if node >= n_literals:
                depth += 1
                path[0, depth], path[1, depth] = node - n_literals, child_offsets[node - n_literals]
            else:
                # Written out here, since a function of its own would count references to six arrays at each call.
                literal = positive[node - n_positive] if node >= n_positive else node
                interval, last = offsets[literal], offsets[literal + 1]
                while interval < last and before[low[interval]] == before[high[interval] + 1]:
                    interval += 1
                holds = interval < last
                if node >= n_positive:
                    cell = presence[node - n_positive]
                    holds = not holds and before[cell] != before[cell + 1]
                # The value goes up as long as it decides a node or was the last one that the node waited for.
                while depth >= 0:
                    inner = path[0, depth]
                    if holds != (operations[inner] != AND) and path[1, depth] < child_offsets[inner + 1]:
                        break
                    depth -= 1
            is_open = depth >= 0
            if is_open:
                node = children[path[1, depth]]
                path[1, depth] += 1
        if holds:
            out[n_found] = rule
            n_found += 1
    return n_found


class ScanEngine(RanksFound):
    """The engine `scan`. It has no structure of its own: it needs only the Program."""

    name = "scan"
    options_type = NoOptions

    def __init__(self, program: Program) -> None:
        self.program = program
        self._ranker = Ranker(program)
        self._literals = literals_of(program)
        self._nodes = nodes_of(program)
        self._root = frozen(program.root, np.int32)

    @classmethod
    def build(
        cls,
        program: Program,
        statistics: Statistics | None = None,  # noqa: ARG003 - see the docstring
        options: NoOptions | None = None,  # noqa: ARG003 - there are none
    ) -> Self:
        """Return the engine. Nothing is computed, and statistics would change nothing."""
        return cls(program)

    @classmethod
    def from_arrays(cls, program: Program, arrays: Arrays) -> Self:  # noqa: ARG003 - there are none
        """Return the engine over `program`; it has no arrays of its own."""
        return cls(program)

    def arrays(self) -> Arrays:
        """None."""
        return {}

    def match(self, batch: EventBatch, alive: Alive | None = None) -> Matches:
        """Return all rules that are true, ascending within each event."""
        found = list(self._found(batch, alive))
        offsets = np.zeros(len(found) + 1, np.int64)
        np.cumsum([len(rules) for rules in found], out=offsets[1:])
        return Matches(offsets, np.concatenate([np.zeros(0, np.int32), *found]))

    def count(self, batch: EventBatch, alive: Alive | None = None) -> NDArray[np.int64]:
        """Return how many rules are true of each event."""
        return np.array([len(rules) for rules in self._found(batch, alive)], np.int64)

    def describe(self) -> dict[str, Any]:
        """Describe what the engine is made of."""
        return {"engine": self.name, "n_rules": self.program.n_rules, "n_nodes": self.program.n_nodes, "bytes": 0}

    def _found(self, batch: EventBatch, alive: Alive | None) -> list[NDArray[np.int32]]:
        batch = freeze_batch(batch)
        alive_bytes = freeze_alive(alive, self.program.n_rules)
        path = np.zeros((2, len(self.program.level_offsets) + 1), np.int64)
        before = np.zeros(self.program.n_cells + 1, np.int32)
        out = np.zeros(self.program.n_rules, np.int32)
        found = []
        index = self._literals, self._nodes, self._root, alive_bytes
        for event in range(batch.n_events):
            begin, end = batch.offsets[event], batch.offsets[event + 1]
            n_found = scan_rules(*index, batch.cells, begin, end, path, before, out)
            found.append(out[:n_found].copy())
        return found
