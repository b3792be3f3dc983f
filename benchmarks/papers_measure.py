"""All algorithms on the same rules and events: built, compared with each other, and timed in turn."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from baselines import PLACES as BASELINES
from baselines import baseline_class
from core_timing import affordable, scaled, seconds, spread
from papers_data import Data, first_events
from ruledex.engines.auto import AutoEngine
from ruledex.engines.protocol import Matches, Statistics
from ruledex.engines.registry import engine_class, read_engine_options
from ruledex.program.program import Program
from work import work_of

N_ROUNDS = 3
N_TRIED = 3  # events that all algorithms answer before anything else
LEAST_EVENTS, MOST_EVENTS = 16, 200
N_COUNTED = 8  # events whose work is counted
BUDGET = 1.5  # seconds of a round of the slowest algorithm
SCAN_BUDGET = 0.8

SCAN = ("scan", "scan with conjunctions")  # so slow that they answer fewer events than the others


class Algorithm(NamedTuple):
    """A name, the class of an engine or baseline, and options of its build."""

    name: str
    options: Mapping[str, Any] = {}
    kind: str = ""  # the class, where it is not that of the name

    def build(self, program: Program, statistics: Statistics, made: Mapping[str, Any]) -> Any:
        """Over what is `made` already, where it can."""
        kind = self.kind or self.name
        if kind == "auto" and "sparse" in made:
            return AutoEngine(program, made["sparse"], statistics)
        if kind in BASELINES:
            return baseline_class(kind).build(program, statistics, **self.options)
        return engine_class(kind).build(program, statistics, read_engine_options(kind, self.options))


def named(*names: str) -> list[Algorithm]:
    """Algorithms without options."""
    return [Algorithm(name) for name in names]


def build(
    data: Data, algorithms: list[Algorithm], step: Callable[[str], None]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The engines by name, and for each the seconds that its build took and the bytes that it has."""
    engines: dict[str, Any] = {}
    facts: dict[str, Any] = {}
    for algorithm in algorithms:
        step(f"building {algorithm.name}")
        gc.collect()
        made: list[Any] = []
        took = seconds(lambda: made.append(algorithm.build(data.program, data.statistics, engines)))  # noqa: B023
        engines[algorithm.name] = made[0]
        facts[algorithm.name] = {"build_seconds": took, "bytes": made[0].describe()["bytes"]}
    return engines, facts


def measure(
    data: Data,
    engines: Mapping[str, Any],
    step: Callable[[str], None],
    budget: float = BUDGET,
) -> dict[str, dict[str, Any]]:
    """Microseconds per event of each engine; all give the same answers first, and in each round all take their turn.

    All answer the same events, but for those of `SCAN`, which answer the first few of them, and `auto`, which gets
    as many as one block of it has.
    """
    few = first_events(data.events, min(N_TRIED, data.events.n_events))
    step("comparing")
    second_per_event = {}
    first: dict[bool, Matches] = {}  # of those that give all rules, and of those that rank
    for name, engine in engines.items():
        found = engine.match(few)
        require_same(name, found, first.setdefault(found.scores is None, found))
        second_per_event[name] = seconds(lambda: engine.match(few)) / few.n_events  # noqa: B023
    slowest = max(second_per_event[name] for name in engines if name not in SCAN)
    n_events = affordable(slowest, budget, LEAST_EVENTS, MOST_EVENTS)
    n_of = dict.fromkeys(engines, n_events)
    for name in SCAN:
        if name in engines:
            n_of[name] = affordable(second_per_event[name], SCAN_BUDGET, N_TRIED, n_events)
    if "auto" in engines:
        n_of["auto"] = data.events.n_events
    batches = {n: first_events(data.events, min(n, data.events.n_events)) for n in n_of.values()}
    first.clear()
    for name, engine in engines.items():
        if name not in SCAN:
            found = engine.match(batches[n_of[name]])
            require_same(name, found, first.setdefault(found.scores is None, found))
    del found
    first.clear()
    times: dict[str, list[float]] = {name: [] for name in engines}
    for turn in range(N_ROUNDS):
        for name, engine in engines.items():
            step(f"round {turn + 1} of {N_ROUNDS}: {name}")
            times[name].append(seconds(lambda: engine.match(batches[n_of[name]])))  # noqa: B023
    return {
        name: {"us": scaled(spread(taken), 1e6 / batches[n_of[name]].n_events), "events": batches[n_of[name]].n_events}
        for name, taken in times.items()
    }


def require_same(name: str, found: Matches, expected: Matches) -> None:
    """Hold that answers are the same on the events that both have."""
    n_events = min(found.n_events, expected.n_events)
    end = expected.offsets[n_events]
    same = np.array_equal(found.offsets[: n_events + 1], expected.offsets[: n_events + 1])
    same = same and np.array_equal(found.rule[:end], expected.rule[:end])
    if same and found.scores is not None and expected.scores is not None:
        same = np.array_equal(found.scores[:end], expected.scores[:end])
    if not same:
        raise AssertionError(f"{name} gives other rules than the algorithms before it")


def made_of(engine: Any) -> dict[str, int]:
    """The numbers that an engine says of itself: what it indexed."""
    left_out = ("n_rules", "bytes")
    return {name: n for name, n in engine.describe().items() if isinstance(n, int) and name not in left_out}


def point(
    data: Data, algorithms: list[Algorithm], step: Callable[[str], None], budget: float = BUDGET
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Everything about one set of rules, and the engines for what else is to be measured on it."""
    engines, facts = build(data, algorithms, step)
    times = measure(data, engines, step, budget=budget)
    step("counting")
    counted = first_events(data.events, min(MOST_EVENTS, data.events.n_events))
    few = first_events(data.events, min(N_COUNTED, data.events.n_events))
    found = engines["sparse"].count(counted)
    return {
        "n_rules": data.program.n_rules,
        "matching": float(found.mean()) / data.program.n_rules,
        "algorithms": {
            name: {**facts[name], **times[name], "work": work_of(engine, few), "made_of": made_of(engine)}
            for name, engine in engines.items()
        },
    }, engines
