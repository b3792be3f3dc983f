"""`scan`: every rule against every event. It is the baseline, and enough for small rule sets.

A rule is evaluated from its root down, and a node is left as soon as its value is known. The work counter runs apart
from matching, from the bottom up: a node costs what those of its children cost that are evaluated before its value is
known.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.constants import ALWAYS, AND
from ruledex.compiled.decorator import jit
from ruledex.engines.inputs import Nodes, frozen_alive, frozen_batch, literals_of, nodes_of
from ruledex.engines.protocol import Alive, Arrays, Matches, NoOptions, Rank, Statistics, Work, averages
from ruledex.engines.ranking import Ranker
from ruledex.events.batch import EventBatch
from ruledex.program.program import Literals, Program


@jit
def scan(
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


@jit
def count_evaluated(
    nodes: Nodes,
    root: NDArray[np.int32],
    is_true: NDArray[np.bool_],
    n_evaluated: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Add to `counts` how many literals and how many inner nodes all rules take.

    `is_true` has the truth of literals, and room for that of inner nodes behind them; `n_evaluated` is scratch of two
    rows of the same length.
    """
    n_literals = is_true.size - nodes.node_op.size
    for node in range(is_true.size):
        literals, inner = 1, 0
        if node >= n_literals:
            operation = nodes.node_op[node - n_literals]
            literals, inner = 0, 1
            place, last = nodes.child_offsets[node - n_literals], nodes.child_offsets[node - n_literals + 1]
            is_true[node] = operation == AND
            while place < last:
                child = nodes.children[place]
                literals += n_evaluated[0, child]
                inner += n_evaluated[1, child]
                place += 1
                if is_true[child] != (operation == AND):
                    is_true[node] = is_true[child]
                    place = last
        n_evaluated[0, node], n_evaluated[1, node] = literals, inner
    for node in root:
        if node >= 0:
            counts[0] += n_evaluated[0, node]
            counts[1] += n_evaluated[1, node]


class ScanEngine:
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

    def top(
        self,
        batch: EventBatch,
        k: int,
        rank: Rank = "sum",
        alive: Alive | None = None,
        static_score: NDArray[np.float64] | None = None,
    ) -> Matches:
        """Return the best k rules of each event with their ranks as scores, the best first, ties by position."""
        return self._ranker.top(batch, self.match(batch, alive), k, rank, static_score)

    def describe(self) -> dict[str, Any]:
        """Describe what the engine is made of."""
        return {"engine": self.name, "n_rules": self.program.n_rules, "n_nodes": self.program.n_nodes, "bytes": 0}

    def work(self, batch: EventBatch) -> Work:
        """Return what an event makes the engine evaluate, on average."""
        counts = np.zeros(2, np.int64)
        n_evaluated = np.zeros((2, self.program.n_nodes), np.int64)
        for event in range(batch.n_events):
            is_true = np.zeros(self.program.n_nodes, np.bool_)
            is_true[: self.program.n_literals] = self._true_literals(
                batch.cells[batch.offsets[event] : batch.offsets[event + 1]]
            )
            count_evaluated(self._nodes, self._root, is_true, n_evaluated, counts)
        return averages(dict(zip(("literals evaluated", "nodes evaluated"), counts.tolist(), strict=True)), batch)

    def _true_literals(self, cells: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which literals an event of these cells makes true."""
        literals = self._literals
        before = np.concatenate([[0], np.cumsum(np.bincount(cells, minlength=self.program.n_cells))])
        n_intervals = np.diff(literals.interval_offsets)
        is_hit = before[literals.interval_low] != before[literals.interval_high + 1]
        is_true = (
            np.bincount(np.repeat(np.arange(len(n_intervals)), n_intervals)[is_hit], minlength=len(n_intervals)) > 0
        )
        is_there = before[literals.negative_presence] != before[literals.negative_presence + 1]
        return np.concatenate([is_true, is_there & ~is_true[literals.negative_of]])

    def _found(self, batch: EventBatch, alive: Alive | None) -> list[NDArray[np.int32]]:
        batch = frozen_batch(batch)
        alive_bytes = frozen_alive(alive, self.program.n_rules)
        path = np.zeros((2, len(self.program.level_offsets) + 1), np.int64)
        before = np.zeros(self.program.n_cells + 1, np.int32)
        out = np.zeros(self.program.n_rules, np.int32)
        found = []
        literals = self._literals
        for event in range(batch.n_events):
            begin, end = batch.offsets[event], batch.offsets[event + 1]
            n_found = scan(literals, self._nodes, self._root, alive_bytes, batch.cells, begin, end, path, before, out)
            found.append(out[:n_found].copy())
        return found
