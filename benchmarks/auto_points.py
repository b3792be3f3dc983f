"""The points at which auto.py measures: the rules and events of the papers' pages and of the benchmarks' pages.

Where a page has more rules than `most`, the first of them are taken. Every point has all structures that can hold its
rules: the engines, and the baselines of the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from atree2021_data import draw_ads
from papers_data import Data, draw
from ruledex.workloads import workload
from whang2009_weights import weighted

SEED = 0
FULL, QUICK = 200_000, 2_000
# Conjunctions of at least two predicates: with twelve months some 0.1% of the rules match, or 0.01%.
SELECTIVE = {"predicate_weights": (0.0, 0.10, 0.30, 0.30, 0.15, 0.08, 0.04, 0.02, 0.01)}
VERY_SELECTIVE = {"predicate_weights": (0.0, 0.0, 0.0, 0.15, 0.35, 0.25, 0.15, 0.10)}
SELECTIVE_CNF = {"predicate_weights": (0.75, 0.2, 0.05), "size_exponent": 2.0}

DNF = ("dnf", "sift", "le subscribe", "dewey", "interval")
CNF = ("cnf", "pscan", "dewey", "interval")
TREES = ("dewey", "interval", "scan with conjunctions")
ABE = ("dnf", "bop", "sift", "le subscribe")
EVERYWHERE = ("scan", "sparse", "batch", "atree")


class Point(NamedTuple):
    """One set of rules with its events."""

    page: str
    name: str
    drawn: Callable[[], Data]
    others: tuple[str, ...]  # besides those that are everywhere
    kinds: tuple[str, ...] = ("all", "best")
    is_main: bool = True  # measured also where there is little time


def advertising(n_rules: int, n_attributes: int | None = None, **parameters: Any) -> Data:
    """Rules of whang2009; the paper takes rare names out of the rules, and events keep all of theirs."""
    rules = workload("advertising", seed=SEED, **parameters, **({"n_attributes": n_attributes} if n_attributes else {}))
    events = workload("advertising", seed=SEED, n_months=parameters["n_months"]) if n_attributes else None
    return draw(rules, n_rules, events)


def with_weights(n_rules: int, form: Any, n_months: int) -> Data:
    """Rules and events with the weights of whang2009's rankings."""
    return weighted(advertising(n_rules, form=form.lower(), n_months=n_months), form, SEED)


def exchange(n_rules: int, depth: int) -> Data:
    """Rules of fontoura2010."""
    return draw(workload("exchange", seed=SEED, min_depth=depth, max_depth=depth), n_rules)


def abe(n_rules: int, **parameters: Any) -> Data:
    """Rules of a-tree2021."""
    size = min(20, int(parameters.get("n_dimensions", 20)))
    parameters = {"event_size": size, **parameters}
    return draw(workload("abe", seed=SEED, n_expressions=n_rules, **parameters), n_rules)


def with_bids(drawn: Callable[[], Data]) -> Data:
    """The same rules with static scores, many low and few high."""
    data = drawn()
    bids = np.round(np.random.default_rng(SEED).lognormal(0.0, 1.0, data.program.n_rules), 2)
    return data._replace(program=data.program._replace(static_score=bids))


def all_points(most: int) -> Iterator[Point]:
    """Yield the points in the order of their pages."""
    for months in (12, 6, 3, 1):
        yield Point(
            "whang2009",
            f"DNF, {months} months",
            partial(advertising, most, form="dnf", n_months=months),
            DNF,
            is_main=months in (12, 1),
        )
    for n in (100, 300, 700):
        attributes = partial(advertising, most, n, form="dnf", n_months=1)
        yield Point("whang2009", f"DNF, {n} attributes", attributes, DNF, ("all",), False)
    for exponent in (3.0, 2.0):
        sized = partial(advertising, most, form="dnf", n_months=1, size_exponent=exponent)
        yield Point("whang2009", f"DNF, exponent {exponent:g}", sized, DNF, ("all",), False)
    for months in (12, 6, 1):
        rules = partial(advertising, most, form="cnf", n_months=months)
        yield Point("whang2009", f"CNF, {months} months", rules, CNF, is_main=months == 6)
    selective = partial(advertising, most, form="cnf", n_months=12, **SELECTIVE_CNF)
    yield Point("whang2009", "CNF, 1% matching", selective, CNF, is_main=False)
    for months in (12, 6, 3, 1):
        ranked = partial(with_weights, most, "DNF", months)
        yield Point("whang2009", f"DNF with weights, {months} months", ranked, ("dnf",), ("best",), months == 1)
    for months in (12, 6, 1):
        ranked = partial(with_weights, int(0.4 * most), "CNF", months)
        yield Point("whang2009", f"CNF with weights, {months} months", ranked, ("cnf",), ("best",), months == 1)
    for depth in (1, 2, 3, 4):
        yield Point(
            "fontoura2010", f"depth {depth}", partial(exchange, most // 4, depth), TREES, is_main=depth in (2, 4)
        )
    for n_rules in (most // 200, most // 20, most // 2):
        yield Point("a-tree2021, core", "abe", partial(abe, n_rules), ABE, is_main=n_rules != most // 20)
    for name, values in {
        "depth": (1, 3, 5),
        "n_children": (2, 6, 12),
        "alpha": (0.0, 1.0),
        "n_dimensions": (30, 300, 3000),
        "cardinality": (3, 30, 300),
        "attribute_alpha": (0.0, 1.0),
        "event_size": (5, 15, 30),
    }.items():
        deep = name in ("depth", "n_children")
        for value in values:
            drawn = partial(abe, most // (40 if deep else 10), **{name: value})
            is_main = (name, value) in (("n_dimensions", 3000), ("event_size", 30))
            yield Point("a-tree2021", f"{name} {value:g}", drawn, () if deep else ABE, is_main=is_main)
    yield Point("a-tree2021", "ads", partial(draw_ads, most), TREES)
    for rate, parameters in (("0.1%", SELECTIVE), ("0.01%", VERY_SELECTIVE)):
        rules = partial(advertising, most, form="dnf", n_months=12, **parameters)
        yield Point("core, growth", f"advertising, {rate} matching", rules, DNF, is_main=rate == "0.01%")
    yield Point("with bids", "abe", partial(with_bids, partial(abe, most // 2)), (), ("best", "static"))
    dnf = partial(advertising, most, form="dnf", n_months=1)
    yield Point("with bids", "DNF, 1 month", partial(with_bids, dnf), ("dnf",), ("best", "static"))
    yield Point("equal scores", "DNF, 1 month", dnf, ("dnf",), ("static",))
    yield Point("equal scores", "abe", partial(abe, most // 2), (), ("static",))
