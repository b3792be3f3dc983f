"""The core in one run: building, memory, disk, single events and batches, all engines on the papers' workloads.

    python benchmarks/core.py                       all of it; writes docs/benchmarks/core.* and growth.png
    python benchmarks/core.py --quick               10,000 rules of each workload, to standard output
    python benchmarks/core.py --sizes 1000 50000    other sizes of `abe`
    python benchmarks/core.py --render              the page and the plot anew from the measurements that are there

Where one thread works, the time is the processor's, of that thread: the machine may be shared. Opening an index and
two threads are wall time. Medians over rounds; functions that are compared take turns in each round.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from arrow_events import measure_share
from core_build import measure_build, measure_orjson
from core_disk import measure_disk
from core_engines import Events, measure_engines
from core_page import page
from core_plot import draw_growth
from core_timing import say, start_compiled
from ruledex.index import Index
from ruledex.workloads import workload
from ruledex.workloads.base import Workload

SEED = 0
DOCS = Path(__file__).resolve().parent.parent / "docs" / "benchmarks"
ABE_SIZES = (1_000, 100_000, 1_000_000, 10_000, 5_000_000)
LARGEST_FIRST = 1_000_000  # what is larger comes last: it takes longest, and no goal needs it
QUICK_SIZE = 10_000
ORJSON_SIZE = 100_000
LARGE = 500_000  # rules from which on there are fewer rounds and events
N_LARGE_TABLE = 100_000  # events of the one large call

COUNTS = ("distinct_conditions", "positive_literals", "negative_literals", "inner_nodes", "levels", "cells")

# Conjunctions of at least two predicates: with twelve months some 0.1% of the rules match, with the default 1%.
SELECTIVE = {"predicate_weights": (0.0, 0.10, 0.30, 0.30, 0.15, 0.08, 0.04, 0.02, 0.01)}


def draw(generator: Workload, n_rules: int) -> Events:
    """Events to warm up, to match one by one, to count for statistics, and to match as a table: all of them others."""
    n_warm, n_single, n_table = 300, 900, 2048 if n_rules >= LARGE else 8192
    events = list(generator.events(n_warm + n_single))
    # Lists of events and tables come from the same blocks, so the tables begin behind those in the list.
    table = generator.event_table(4096 + n_table)
    return Events(events[:n_warm], events[n_warm:], table[n_warm + n_single : 4096], table[4096:])


def measure_large_call(index: Index, generator: Workload) -> dict[str, Any]:
    """`match_batch` on one Arrow table of 100,000 events, the default engine, its kernels timed inside of the call."""
    table = generator.event_table(N_LARGE_TABLE)
    index.match_batch(table[:2048])
    return {"events": N_LARGE_TABLE, "seconds": measure_share(index, table)}


def measure(name: str, label: str, n_rules: int, parameters: dict[str, Any]) -> dict[str, Any]:
    """One workload at one size."""
    say(f"{label}, {n_rules:,} rules: drawing")
    generator = workload(name, seed=SEED, **parameters)
    rules, events = generator.rule_table(n_rules), draw(generator, n_rules)
    say("    building")
    index, build = measure_build(rules, 1 if n_rules >= LARGE else 2)
    described = index.describe()
    result = {
        "workload": label,
        "n_rules": n_rules,
        "parameters": parameters,
        "text_bytes_per_rule": rules["expr"].nbytes / n_rules,
        "build_seconds": build,
        "program_bytes_per_rule": described["bytes"]["program"] / n_rules,
        "counts": {key: described[key] for key in COUNTS},
    }
    if name == "abe" and n_rules == ORJSON_SIZE:
        say("    orjson")
        result["orjson"] = measure_orjson(rules, 3)
    del rules
    say("    disk")
    result["disk"] = measure_disk(index, events.single[:20], 2)
    result |= measure_engines(index, events, n_rules if name == "abe" else None)
    if name == "abe" and n_rules == ORJSON_SIZE:
        say("    one table of 100,000 events")
        result["large_call"] = measure_large_call(index, generator)
    gc.collect()
    return result


def plan(arguments: argparse.Namespace) -> list[tuple[str, str, int, dict[str, Any]]]:
    sizes = arguments.sizes or ((QUICK_SIZE,) if arguments.quick else ABE_SIZES)
    abe: list[tuple[str, str, int, dict[str, Any]]] = [("abe", "abe", n, {"n_expressions": n}) for n in sizes]
    runs = [run for run in abe if run[2] <= LARGEST_FIRST]
    n_advertising, n_exchange = (QUICK_SIZE, QUICK_SIZE) if arguments.quick else (1_000_000, 100_000)
    runs.append(("advertising", "advertising", n_advertising, {"form": "dnf", **SELECTIVE}))
    for depth in range(1, 5):
        label = f"exchange, depth {depth}"
        runs.append(("exchange", label, n_exchange, {"min_depth": depth, "max_depth": depth}))
    return runs + [run for run in abe if run[2] > LARGEST_FIRST]


def about() -> dict[str, Any]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processor": model[0] if model else platform.processor(),
        "cores": os.cpu_count(),
        "numba": version("numba"),
        "numpy": version("numpy"),
        "orjson": version("orjson"),
        "seed": SEED,
    }


def warm_up() -> None:
    """Load or compile every kernel before anything is timed."""
    say("warming up")
    generator = workload("abe", seed=1, n_expressions=2_000)
    index, _ = measure_build(generator.rule_table(2_000), 1)
    for name in ("scan", "sparse", "batch", "auto"):
        one = Index.build(generator.rule_table(2_000), name)
        one.match_batch(generator.event_table(1024))
        for event in generator.events(10):
            one.match(event)
    index.match_batch(generator.event_table(1024))


def write(document: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "core.json").write_text(json.dumps(document, indent=1) + "\n")
    (folder / "core.md").write_text(page(document))
    draw_growth(document, folder / "growth.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="10,000 rules of each workload")
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of rules of abe")
    parser.add_argument("--render", action="store_true", help="measure nothing, write the page and the plot anew")
    parser.add_argument("--output", type=Path, help="where to write; docs/benchmarks unless --quick")
    arguments = parser.parse_args()
    start_compiled()
    folder = arguments.output or (None if arguments.quick else DOCS)
    if arguments.render:
        folder = folder or DOCS
        write(json.loads((folder / "core.json").read_text()), folder)
        return
    warm_up()
    document: dict[str, Any] = {"about": about(), "results": []}
    for run in plan(arguments):
        document["results"].append(measure(*run))
        if folder is not None:
            write(document, folder)  # after each workload, so that a run that is stopped leaves what it has
    say("done")
    if folder is None:
        sys.stdout.write(page(document))


if __name__ == "__main__":
    main()
