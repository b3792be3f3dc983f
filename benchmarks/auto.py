"""`auto` beside every other engine and baseline, at the points of the papers' pages and of the benchmarks' pages.

    python benchmarks/auto.py                   all of it; writes docs/benchmarks/auto.*
    python benchmarks/auto.py --quick           few rules, to standard output
    python benchmarks/auto.py --most 50000      fewer rules per point
    python benchmarks/auto.py --main            fewer points of each page
    python benchmarks/auto.py --only whang      points whose page or name has this in it, to standard output
    python benchmarks/auto.py --only ads --add  the same, put among the measurements that are there
    python benchmarks/auto.py --render          the page anew from the measurements that are there

Every question is asked with one event per call, with 64 and with 512. Structures that took much longer than the fastest
in a trial are not timed again; the others take turns in seven rounds.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import Any

from atree2021_data import single_events
from auto_page import page
from auto_points import EVERYWHERE, FULL, QUICK, Point, all_points
from core_timing import affordable, say, seconds, start_compiled
from papers_command import keep_memory
from papers_data import Data, about, first_events
from papers_measure import Algorithm, require_same
from ruledex.engines.kindex.normal_forms import NormalFormOptions
from ruledex.engines.registry import engine_class
from ruledex.errors import RuledexError
from ruledex.events.batch import EventBatch

DOCS = Path(__file__).resolve().parent.parent / "docs" / "benchmarks"
N_ROUNDS = 7
SIZES = {"one": 1, "512": 512, "64": 64}  # events per call; the largest builds what `auto` holds for batches
BEST = 5
BUDGET = 0.04  # seconds of a round of one structure
MOST_CALLS = 48  # a round, with one event each
N_TRIED = 4  # events that all answer alike before they are timed
N_SETTLING = 6  # calls in which `auto` learns what its roads cost, before it is timed
FAR = 2.0  # times the fastest, from where on a structure is not timed again
RANK = {"best": "sum", "static": "static"}

Ask = Callable[[], object]


def build_engines(point: Point, data: Data) -> dict[str, Any]:
    """All structures that can hold the rules; `auto` is one more, over a `sparse` of its own."""
    engines: dict[str, Any] = {}
    for name in ("auto", *EVERYWHERE, *point.others):
        options = {"overflow": "error"} if name in ("dnf", "cnf") else {}
        try:
            if name in ("dnf", "cnf"):
                engine = engine_class(name).build(data.program, data.statistics, NormalFormOptions(**options))
            else:
                engine = Algorithm(name).build(data.program, data.statistics, {})
        except RuledexError as error:
            say(f"    without {name}: {error}")
            continue
        engines[name] = engine
    return engines


def question(engine: Any, kind: str) -> Callable[[EventBatch], Any]:
    """What is asked about a batch."""
    if kind == "all":
        return lambda batch: engine.match(batch)
    return lambda batch: engine.top(batch, BEST, RANK[kind])


def calls_of(ask: Callable[[EventBatch], Any], batches: Iterable[EventBatch]) -> Ask:
    """A function that makes all calls."""
    chosen = list(batches)

    def call() -> None:
        for batch in chosen:
            ask(batch)

    return call


def measure_case(engines: dict[str, Any], data: Data, kind: str, size: int) -> dict[str, Any]:
    """Time one question with so many events per call."""
    asked = {
        name: question(engine, kind) for name, engine in engines.items() if kind == "all" or hasattr(engine, "top")
    }
    singles = single_events(first_events(data.events, min(MOST_CALLS, data.events.n_events)))
    whole = first_events(data.events, min(size, data.events.n_events))
    trial = singles[:1] if size == 1 else [whole]
    took = {}
    for name, ask in asked.items():
        # What is far behind with one event is not asked about 512.
        one = seconds(lambda: ask(singles[0]))  # noqa: B023
        one = min(one, seconds(lambda: ask(singles[1])))  # noqa: B023
        if name != "auto" and "auto" in took and size > 1 and name != "batch" and one * size > 8 * took["auto"] + 0.2:
            took[name] = one * size
            continue
        for _ in range(N_SETTLING if name == "auto" and size > 1 else 1):
            ask(trial[0])
        took[name] = min(seconds(calls_of(ask, trial)) for _ in range(2))
    fastest = min(took.values())
    near = [name for name in asked if name == "auto" or took[name] <= FAR * fastest]
    slowest = max(took[name] for name in near)
    n_calls = affordable(slowest, BUDGET, 2 if size == 1 else 1, MOST_CALLS if size == 1 else 8)
    batches = singles[:n_calls] if size == 1 else [whole] * n_calls
    calls = {name: calls_of(asked[name], batches) for name in near}
    gc.collect()
    for call in calls.values():
        call()
    rounds: dict[str, list[float]] = {name: [] for name in near}
    for turn in range(N_ROUNDS):
        for name in near[turn % len(near) :] + near[: turn % len(near)]:
            rounds[name].append(seconds(calls[name]) * 1e6 / (n_calls * trial[0].n_events))
    others = [name for name in near if name != "auto"]
    best = min(others or [name for name in asked if name != "auto"], key=lambda n: median(rounds.get(n, [took[n]])))
    # Where no other is near, the trial says by how much.
    beside = rounds.get(best, [took[best] * 1e6 / trial[0].n_events] * N_ROUNDS)
    ratios = sorted(mine / its for mine, its in zip(rounds["auto"], beside, strict=True))
    return {
        "us": {name: median(times) for name, times in rounds.items()},
        "trial_us": {name: took[name] * 1e6 / trial[0].n_events for name in asked},
        "best": best,
        "ratio": median(ratios),
        "low": ratios[0],
        "high": ratios[-1],
    }


def measure_point(point: Point) -> dict[str, Any]:
    """All questions about one set of rules."""
    data = point.drawn()
    say(f"{point.page}: {point.name}, {data.program.n_rules:,} rules")
    engines = build_engines(point, data)
    few = first_events(data.events, N_TRIED)
    found = engines["auto"].match(few)
    for name, engine in engines.items():
        require_same(name, engine.match(few), found)
    cases = {}
    for kind in point.kinds:
        if kind != "all":
            best = engines["auto"].top(few, BEST, RANK[kind])
            for name, engine in engines.items():
                if hasattr(engine, "top"):
                    require_same(name, engine.top(few, BEST, RANK[kind]), best)
        for label, size in SIZES.items():
            case = measure_case(engines, data, kind, size)
            cases[f"{kind}, {label}"] = case
            say(f"    {kind}, {label}: {case['ratio']:.2f} ({case['low']:.2f} to {case['high']:.2f}) of {case['best']}")
    return {
        "page": point.page,
        "name": point.name,
        "n_rules": data.program.n_rules,
        "matches": float(engines["sparse"].count(data.events).mean()),
        "engines": list(engines),
        "cases": cases,
    }


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, to standard output")
    parser.add_argument("--render", action="store_true", help="measure nothing, write the page anew")
    parser.add_argument("--main", action="store_true", help="fewer points of each page")
    parser.add_argument("--most", type=int, help="rules per point")
    parser.add_argument("--add", action="store_true", help="keep the measurements of other points that are there")
    parser.add_argument("--only", help="points whose page or name has this in it, to standard output")
    arguments = parser.parse_args()
    stored, most = DOCS / "auto.json", arguments.most or (QUICK if arguments.quick else FULL)
    start_compiled()
    is_kept = arguments.add or not (arguments.quick or arguments.only)
    if arguments.render:
        document = json.loads(stored.read_text())
    else:
        keep_memory()
        points = list(all_points(most))
        document = {"about": about(0), "most": most, "n_all_points": len(points), "points": []}
        if arguments.add and stored.exists():
            document["points"] = json.loads(stored.read_text())["points"]
        for point in points:
            if arguments.only and arguments.only not in f"{point.page}: {point.name}":
                continue
            if arguments.main and not point.is_main:
                continue
            measured = {(each["page"], each["name"], each["n_rules"]): each for each in document["points"]}
            made = measure_point(point)
            measured[made["page"], made["name"], made["n_rules"]] = made
            document["points"] = list(measured.values())
            gc.collect()
            if is_kept:
                stored.write_text(json.dumps(document, indent=1) + "\n")
    if is_kept or arguments.render:
        (DOCS / "auto.md").write_text(page(document))
    else:
        sys.stdout.write(page(document))


if __name__ == "__main__":
    main()
