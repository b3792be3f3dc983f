"""The experiments of a-tree2021's Section 6: which rules, which algorithms, in which order.

Figures 11 (memory), 12 (matching) and 13 (construction) show the same points; they go under the names of Figure 12.
Sizes end at a million rules, where the paper goes on to 30 millions. The other sweeps are made at a twentieth of the
paper's million rules, those of depth and of children with 5,000: at depth 6 a rule has some 700 predicates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from atree2021_data import ADS_RULES, SEED, binary_program, draw_ads, draw_events, sharing_by_level
from atree2021_measure import all_algorithms, bdd, build_all, point, time_all, warm_up
from papers_data import Data, chosen_rules, draw
from papers_measure import Algorithm, made_of
from papers_progress import Steps
from ruledex.engines.atree.engine import AtreeEngine
from ruledex.engines.atree.tree import Switches
from ruledex.workloads import workload
from updates import measure_bulk, measure_index, measure_single

PARAMETERS: dict[str, tuple[str, tuple[float, ...]]] = {
    "figure12b": ("depth", (1, 2, 3, 4, 5, 6)),
    "figure12c": ("n_children", (2, 4, 6, 8, 10, 12)),
    "figure12d": ("alpha", (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)),
    "figure12e": ("n_dimensions", (30, 100, 300, 1000, 3000, 10_000)),
    "figure12f": ("cardinality", (3, 10, 30, 100, 300, 1000)),
    "figure12g": ("attribute_alpha", (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)),
}
DEEP = ("figure12b", "figure12c")
EVENT_SIZES = (5, 10, 15, 20, 25, 30)
ALPHAS = (0.0, 0.3, 0.6, 1.0)
CONJUNCTIONS = (1.0, 0.0, 0.0, 0.0, 0.0)
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
N_ORDERS = 3  # in which the same rules are inserted


def switched(name: str, *off: str) -> Algorithm:
    """The engine `atree` without some of its parts."""
    return Algorithm(name, dict.fromkeys(off, False), "atree")


BINARY = switched("two children, shared", "reorganisation", "self_adjustment")
SHARING = [
    Algorithm("scan"),
    switched("many children, not shared", "sharing", "reorganisation", "self_adjustment"),
    switched("many children, shared"),
]
CONSTRUCTION = [
    switched("nothing", "sharing", "reorganisation", "self_adjustment"),
    switched("unique nodes", "reorganisation", "self_adjustment"),
    switched("and reorganisation", "self_adjustment"),
    switched("and self-adjustment"),
]
MATCHING = [
    switched("neither", "zero_suppression", "propagation_on_demand"),
    switched("zero suppression", "propagation_on_demand"),
    switched("propagation on demand", "zero_suppression"),
    switched("both"),
]


class Sizes:
    """How many rules each experiment has."""

    def __init__(self, quick: bool) -> None:
        self.sizes = (1_000, 4_000) if quick else SIZES
        self.sweep = 2_000 if quick else 50_000
        self.deep = 200 if quick else 5_000
        self.ads = 6_000 if quick else ADS_RULES
        self.ads_parts = 3_000 if quick else 200_000
        self.updates = 4_000 if quick else 1_000_000
        # Seconds and bytes of the decision diagrams, where there are many rules and in a sweep.
        self.bdd = bdd(10.0, 1 << 28) if quick else bdd(90.0, 6 << 30)
        self.bdd_of_sweep = bdd(10.0, 1 << 28) if quick else bdd(30.0, 3 << 29)


class Experiments:
    """Runs experiments into `document["parts"]`; `save` is called after each of them."""

    def __init__(self, sizes: Sizes, document: dict[str, Any], save: Callable[[], None]) -> None:
        self.sizes = sizes
        self.document = document
        self._save = save
        self.parts: dict[str, Callable[[Steps], Any]] = {
            "figure12a": self._number,
            **{name: lambda steps, name=name: self._sweep(steps, name) for name in PARAMETERS},
            "figure12h": self._event_size,
            "figure7": self._sharing_analysis,
            "figure8": self._sharing,
            "figure9": self._construction,
            "figure10": self._matching,
            "table4": self._ads,
            "updates": self._updates,
        }

    def run(self, only: Iterable[str]) -> None:
        """Those that are named, or all, with a bar on the terminal."""
        chosen = {name: part for name, part in self.parts.items() if not only or name in only}
        with Steps("atree2021", len(chosen)) as steps:
            steps.part("compiling")
            warm_up([*all_algorithms(self.sizes.bdd, "dewey"), *SHARING, *MATCHING])
            for name, part in chosen.items():
                steps.part(name)
                self.document["parts"][name] = part(steps)
                steps.done()
                self.document["seconds"].update(steps.seconds)
                self._save()

    def _expressions(self, n_rules: int, **parameters: Any) -> Data:
        size = min(20, int(parameters.get("n_dimensions", 20)))
        return draw(workload("abe", seed=SEED, n_expressions=n_rules, event_size=size, **parameters), n_rules)

    def _number(self, steps: Steps) -> dict[str, Any]:
        algorithms = all_algorithms(self.sizes.bdd)
        return self._points(steps, "rules", self.sizes.sizes, lambda n: self._expressions(int(n)), algorithms, True)

    def _sweep(self, steps: Steps, name: str) -> dict[str, Any]:
        parameter, values = PARAMETERS[name]
        n_rules = self.sizes.deep if name in DEEP else self.sizes.sweep
        algorithms = all_algorithms(self.sizes.bdd_of_sweep)

        def drawn(value: float) -> Data:
            return self._expressions(n_rules, **{parameter: value})

        return self._points(steps, parameter, values, drawn, algorithms, name in DEEP)

    def _points(
        self,
        steps: Steps,
        axis: str,
        values: Iterable[float],
        drawn: Callable[[float], Data],
        algorithms: list[Algorithm],
        grows: bool,
    ) -> dict[str, Any]:
        """The points of a sweep. Where it `grows`, what was too large for an algorithm is not tried on larger rules."""
        found: dict[str, Any] = {}
        given_up: dict[str, str] = {}
        for value in values:
            steps.step(f"drawing rules, {axis} {value:g}")
            data = drawn(value)
            here = point(data, [each for each in algorithms if each.name not in given_up], steps.step)
            here["given_up"] = {**given_up, **here["given_up"]}
            found[str(value)] = here
            if grows:
                given_up = dict.fromkeys(here["given_up"], f"at {value:,g} already") | given_up
        return found

    def _event_size(self, steps: Steps) -> dict[str, Any]:
        n_rules = self.sizes.sweep
        rules = workload("abe", seed=SEED, n_expressions=n_rules)
        events = {str(size): workload("abe", seed=SEED, n_expressions=n_rules, event_size=size) for size in EVENT_SIZES}
        algorithms = all_algorithms(self.sizes.bdd_of_sweep)
        return {size: point(data, algorithms, steps.step) for size, data in draw_events(rules, n_rules, events).items()}

    def _sharing_analysis(self, steps: Steps) -> dict[str, Any]:
        steps.step("counting what is shared")
        return {
            "ads": sharing_by_level(draw_ads(self.sizes.ads).program),
            "abe": sharing_by_level(self._expressions(self.sizes.sweep).program),
        }

    def _sharing(self, steps: Steps) -> dict[str, Any]:
        found = {}
        for alpha in ALPHAS:
            steps.step(f"drawing rules, alpha {alpha:g}")
            found[f"{alpha:g}"] = self._sharing_point(self._expressions(self.sizes.sweep, alpha=alpha), steps)
        found["ads"] = self._sharing_point(draw_ads(self.sizes.ads_parts), steps)
        return found

    def _sharing_point(self, data: Data, steps: Steps) -> dict[str, Any]:
        """The tree of two children is built over rules of that form, so the two are built apart and timed together."""
        binary = data._replace(program=binary_program(data.program))
        engines, facts, _ = build_all(binary, [BINARY], steps.step)
        others, other_facts, _ = build_all(data, SHARING, steps.step)
        engines.update(others)
        facts.update(other_facts)
        times = time_all(data, engines, steps.step)
        return {
            "n_rules": data.program.n_rules,
            "algorithms": {name: {**facts[name], **times[name], "made_of": made_of(engines[name])} for name in engines},
        }

    def _construction(self, steps: Steps) -> dict[str, Any]:
        data = draw_ads(self.sizes.ads_parts)
        found = point(data, CONSTRUCTION, steps.step)
        for algorithm in CONSTRUCTION[1:]:
            edges = []
            for order in range(N_ORDERS):
                steps.step(f"{algorithm.name}: order {order + 1} of {N_ORDERS}")
                rules = np.random.default_rng(order).permutation(data.program.n_rules)
                built = AtreeEngine.build(
                    chosen_rules(data.program, rules), data.statistics, Switches(**algorithm.options)
                ).describe()
                edges.append(built["n_edges"])
            found["algorithms"][algorithm.name]["edges_by_order"] = edges
        return found

    def _matching(self, steps: Steps) -> dict[str, Any]:
        found = {}
        for name, parameters in {"default": {}, "conjunctions": {"operator_weights": CONJUNCTIONS}}.items():
            steps.step(f"drawing rules, {name}")
            found[name] = point(self._expressions(self.sizes.sweep, **parameters), MATCHING, steps.step)
        found["ads"] = point(draw_ads(self.sizes.ads_parts), MATCHING, steps.step)
        return found

    def _ads(self, steps: Steps) -> dict[str, Any]:
        return point(draw_ads(self.sizes.ads), all_algorithms(self.sizes.bdd, "dewey"), steps.step)

    def _updates(self, steps: Steps) -> dict[str, Any]:
        n_rules = self.sizes.updates
        steps.step("many rules at once")
        found = {"n_rules": n_rules, "bulk": measure_bulk(n_rules)}
        steps.step("one rule at a time")
        found["single"] = measure_single(n_rules)
        steps.step("an index on disk")
        with TemporaryDirectory() as folder:
            found["index"] = measure_index(n_rules, Path(folder))
        return found
