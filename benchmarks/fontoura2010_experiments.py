"""The experiments of fontoura2010's Section 5: depth, number and selectivity of expressions.

The paper does not say how many expressions its indexes of different depths hold. At depth 2 they take 18 MB, where
100,000 take 9.1 MB (Tables 2 and 4): 200,000.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from core_timing import CPU, scaled, spread
from papers_data import Data, chosen_rules, draw, first_events, first_rules
from papers_measure import N_ROUNDS, Algorithm, named, point
from papers_progress import Steps
from ruledex.engines.inputs import nodes_of
from ruledex.engines.kindex.normal_forms import OUTER, form_sizes
from ruledex.engines.labelled.engine import AnnotatedEngine
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program
from ruledex.workloads import workload

SEED = 0
FULL, QUICK = 200_000, 4_000
DEPTHS = (1, 2, 3, 4)
NUMBERS = (0.05, 0.1, 0.25, 0.5, 0.75)  # of all rules: 10,000 to 150,000 of 200,000
SELECTIVITIES = (0.1, 0.25, 0.5, 0.75, 1.0)  # of the match probability of rules as they are drawn
MOST_LITERALS = 40_000_000  # of all translated rules together
DNF_BUDGET = 1_000_000  # literals of one translated rule
LABELS = ("dewey", "interval")
TREES = named("sparse", "auto", "scan", *LABELS, "scan with conjunctions")
TRANSLATION = Algorithm("dnf translation", {"budget": DNF_BUDGET})


class Experiments:
    """Runs all points into `document`; `save` is called after each part."""

    def __init__(self, n_rules: int, document: dict[str, Any], save: Callable[[], None]) -> None:
        self.n_rules = n_rules
        self.document = document
        self._save = save

    def run(self) -> None:
        """Everything, with a bar on the terminal."""
        with Steps("fontoura2010", len(DEPTHS)) as steps:
            for depth in DEPTHS:
                steps.part(f"depth {depth}")
                self._depth(steps, depth)
                steps.done()
                self.document["seconds"] = dict(steps.seconds)
                self._save()

    def _depth(self, steps: Steps, depth: int) -> None:
        data = draw(workload("exchange", seed=SEED, min_depth=depth, max_depth=depth), self.n_rules)
        translated = translated_sizes(data.program)
        # The sum is that of forms before any conjunction is struck out, which is what a translation has to write.
        fits = translated["literals"] * self.n_rules <= MOST_LITERALS and translated["largest"] <= DNF_BUDGET
        found = self._point(steps, data, [*TREES, TRANSLATION] if fits else TREES)
        self.document["depths"][str(depth)] = {**found, "translated": translated}
        if depth == 2:
            for part in NUMBERS:
                n_rules = int(part * self.n_rules)
                self.document["numbers"][str(n_rules)] = self._point(steps, first_rules(data, n_rules), TREES)
        if depth == 3:
            self._selectivity(steps, data)

    def _selectivity(self, steps: Steps, data: Data) -> None:
        """Section 5.5: rules that match none of the events are added to those drawn, until so many match."""
        steps.step("looking for rules that match no event")
        engine = named("sparse")[0].build(data.program, data.statistics, {})
        is_found = np.zeros(data.program.n_rules, np.bool_)
        is_found[engine.match(data.events).rule] = True
        silent = np.flatnonzero(~is_found)
        n_rules = int(len(silent) / (1 - min(SELECTIVITIES)))
        for part in SELECTIVITIES:
            n_drawn = min(int(part * n_rules), data.program.n_rules)
            # Positions are shared out evenly, so that what matches does not lie together.
            rules = np.sort(np.concatenate([np.arange(n_drawn), silent[silent >= n_drawn][: n_rules - n_drawn]]))
            chosen = data._replace(program=chosen_rules(data.program, rules))
            self.document["selectivities"][str(part)] = self._point(steps, chosen, TREES)

    def _point(self, steps: Steps, data: Data, algorithms: list[Algorithm]) -> dict[str, Any]:
        found, engines = point(data, algorithms, steps.step)
        found["algorithms"]["scan"]["bytes"] = tree_bytes(data.program)
        for name in LABELS:
            steps.step(f"stages of {name}")
            batch = first_events(data.events, found["algorithms"][name]["events"])
            found["algorithms"][name]["evaluation_us"] = evaluation_us(engines[name], batch)
        return found


def evaluation_us(engine: AnnotatedEngine, batch: EventBatch) -> dict[str, float]:
    """Microseconds per event that the evaluator of labels takes, of those that a whole match takes."""
    evaluate = engine._evaluate
    rounds = []
    for _ in range(N_ROUNDS):
        taken = [0.0]

        def timed(*arguments: Any, taken: list[float] = taken) -> None:
            start = CPU()
            evaluate(*arguments)
            taken[0] += CPU() - start

        engine._evaluate = timed  # type: ignore[method-assign,assignment]
        try:
            engine.match(batch)
        finally:
            del engine._evaluate
        rounds.append(taken[0])
    return scaled(spread(rounds), 1e6 / batch.n_events)


def translated_sizes(program: Program) -> dict[str, float]:
    """The disjunctive normal forms of the rules, before any conjunction is struck out."""
    n_clauses, n_in_all = np.zeros(program.n_nodes), np.zeros(program.n_nodes)
    form_sizes(nodes_of(program), program.n_literals, OUTER["DNF"], n_clauses, n_in_all)
    root = program.root[program.root >= 0]
    return {
        "conjunctions": float(n_clauses[root].mean()),
        "literals": float(n_in_all[root].mean()),
        "median_literals": float(np.median(n_in_all[root])),
        "largest": float(n_in_all[root].max()),
    }


def tree_bytes(program: Program) -> int:
    """What `scan` reads: the literals, the nodes and the roots of a Program."""
    literals = (program.interval_offsets, program.interval_low, program.interval_high)
    negative = (program.negative_presence, program.negative_of)
    nodes = (program.node_op, program.child_offsets, program.children, program.root)
    return sum(array.nbytes for array in (*literals, *negative, *nodes))
