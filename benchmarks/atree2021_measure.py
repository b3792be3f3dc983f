"""All algorithms on the same rules, one event a call: built, compared with each other, and timed in turn."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from atree2021_data import single_events
from core_timing import affordable, calls, scaled, seconds, spread
from fontoura2010_experiments import translated_sizes, tree_bytes
from papers_data import Data, draw, first_events
from papers_measure import N_COUNTED, N_ROUNDS, Algorithm, made_of, named, require_same
from ruledex.errors import BudgetError
from ruledex.workloads import workload
from work import work_of

N_COMPARED = 8  # events that all algorithms answer before anything else
LEAST_EVENTS, MOST_EVENTS = 7, 100
BUDGET = 0.5  # seconds of a round of one algorithm
MOST_LITERALS = 40_000_000  # of all rules translated to DNF
TRANSLATION = Algorithm("dnf translation", {"budget": 1_000_000})

Step = Callable[[str], None]


def bdd(seconds_of_cpu: float, n_bytes: int) -> Algorithm:
    """The decision diagrams with limits on what the library may take."""
    return Algorithm("bdd", {"seconds": seconds_of_cpu, "n_bytes": n_bytes})


def all_algorithms(diagrams: Algorithm, *more: str) -> list[Algorithm]:
    """Ours first, then the paper's in the order of its Table 4."""
    return [*named("sparse", "auto", "atree"), diagrams, TRANSLATION, *named("bop", "interval", *more, "scan")]


def warm_up(algorithms: list[Algorithm]) -> None:
    """Let everything be compiled before anything is timed."""
    data = draw(workload("abe", n_expressions=200), 200)
    few = first_events(data.events, 2)
    for engine in build_all(data, algorithms, lambda _: None)[0].values():
        engine.match(few)
        work_of(engine, few)


def build_all(
    data: Data, algorithms: list[Algorithm], step: Step
) -> tuple[dict[str, Any], dict[str, Any], dict[str, str]]:
    """The engines by name, what their builds took, and why others were given up."""
    engines: dict[str, Any] = {}
    facts: dict[str, Any] = {}
    given_up: dict[str, str] = {}
    for algorithm in algorithms:
        step(f"building {algorithm.name}")
        if algorithm is TRANSLATION:
            n_literals = translated_sizes(data.program)["literals"] * data.program.n_rules
            if n_literals > MOST_LITERALS:
                given_up[algorithm.name] = f"{n_literals:,.0f} literals of all rules, over {MOST_LITERALS:,}"
                continue
        gc.collect()
        made: list[Any] = []
        try:
            took = seconds(lambda: made.append(algorithm.build(data.program, data.statistics, engines)))  # noqa: B023
        except BudgetError as error:
            given_up[algorithm.name] = str(error)
            continue
        engines[algorithm.name] = made[0]
        n_bytes = tree_bytes(data.program) if algorithm.name == "scan" else made[0].describe()["bytes"]
        facts[algorithm.name] = {"build_seconds": took, "bytes": n_bytes}
    return engines, facts, given_up


def time_all(data: Data, engines: dict[str, Any], step: Step) -> dict[str, dict[str, Any]]:
    """Microseconds of a call with one event: the p50 of all calls, and of the best and the worst round."""
    step("comparing")
    few = first_events(data.events, N_COMPARED)
    first = None
    events = single_events(data.events)
    n_of = {}
    for name, engine in engines.items():
        found = engine.match(few)
        first = first or found
        require_same(name, found, first)
        engine.match(events[0])
        took = seconds(lambda: [engine.match(event) for event in events[:3]]) / 3  # noqa: B023
        n_of[name] = affordable(took, BUDGET, LEAST_EVENTS, min(MOST_EVENTS, len(events)))
    rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in engines}
    for turn in range(N_ROUNDS):
        for name, engine in engines.items():
            step(f"round {turn + 1} of {N_ROUNDS}: {name}")
            rounds[name].append(calls(engine.match, [events[: n_of[name]]]))
    return {
        name: {"us": spread([found["p50"] for found in taken]), "events": n_of[name]} for name, taken in rounds.items()
    }


def point(data: Data, algorithms: list[Algorithm], step: Step) -> dict[str, Any]:
    """Everything about one set of rules."""
    engines, facts, given_up = build_all(data, algorithms, step)
    times = time_all(data, engines, step)
    step("counting")
    few = first_events(data.events, N_COUNTED)
    n_found = next(iter(engines.values())).count(first_events(data.events, min(MOST_EVENTS, data.events.n_events)))
    found = {
        name: {**facts[name], **times[name], "work": work_of(engine, few), "made_of": made_of(engine)}
        for name, engine in engines.items()
    }
    if "auto" in engines:
        step("auto on a block of events")
        batch = [seconds(lambda: engines["auto"].match(data.events)) for _ in range(N_ROUNDS + 1)][1:]
        found["auto"]["block_us"] = scaled(spread(batch), 1e6 / data.events.n_events)
    return {
        "n_rules": data.program.n_rules,
        "matching": float(n_found.mean()) / data.program.n_rules,
        "algorithms": found,
        "given_up": given_up,
    }
