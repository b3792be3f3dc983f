"""ranked-pubsub2008's experiments: Table 2, Figures 6 to 9, and what goes beyond them.

    python benchmarks/ranked2008.py             at the paper's sizes; writes docs/papers/ranked2008.{md,json,png}
    python benchmarks/ranked2008.py --quick     a hundredth of them, to standard output
    python benchmarks/ranked2008.py --render    the page and the plot anew from the measurements that are there

Subscriptions and events are those of the paper's Table 1 (`ruledex.workloads`). Times are the processor's, of the one
thread that works. Structures that are compared take turns in each round where they fit into memory together; with
several dimensions each is built, asked and dropped.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from core_timing import calls, in_turn, scaled, start_compiled
from ranked2008_baselines import NumpyScan, StabAllSort, numpy_relaxed
from ranked2008_beyond import measure_changes, measure_many
from ranked2008_page import page
from ranked2008_plot import draw
from ranked2008_timing import N_ROUNDS, SEED, K, Steps, points, steps, timed
from ruledex.ranked.index import STRUCTURES, RankedIndex
from ruledex.ranked.irtree import IRTree
from ruledex.workloads import workload

DOCS = Path(__file__).resolve().parent.parent / "docs" / "papers"
N_WARM, N_QUERIES = 100, 1000

FULL = {
    "sizes": (100_000, 200_000, 500_000, 1_000_000),
    "n": 1_000_000,
    "ks": (1, 20, 100, 1000, 5000, 20_000),
    "dimensions": (1, 2, 3, 4, 6, 8),
    "skews": (0.25, 0.5, 0.75, 1.0, 1.25, 1.5),
    "n_many": 500_000,
    "budget": 2.0,
}
QUICK = {
    "sizes": (1_000, 10_000),
    "n": 10_000,
    "ks": (1, 20, 100, 1000),
    "dimensions": (1, 2, 4),
    "skews": (0.5, 0.75, 1.25),
    "n_many": 5_000,
    "budget": 0.2,
}


def measure_sizes(sizes: dict[str, Any], bar: Steps) -> list[dict[str, Any]]:
    """Table 2: bytes, and the time to build."""
    results = []
    generator: Any = workload("intervals", seed=SEED)
    for n in sizes["sizes"]:
        arrays = [column[0] for column in generator.arrays(n)]
        for name, structure in STRUCTURES.items():
            bar.next(f"Table 2: {name}, {n:,}")
            n_bytes = structure.build(*arrays).n_bytes
            times = in_turn({name: lambda s=structure, a=arrays: s.build(*a)}, 3)[name]
            results.append({"n": n, "structure": name, "bytes": n_bytes, "build_seconds": times})
    return results


def measure_one_dimension(sizes: dict[str, Any], bar: Steps) -> dict[str, Any]:
    """Figure 6: the time for the best k of a point, all structures in turn."""
    generator: Any = workload("intervals", seed=SEED)
    left, right, score = (column[0] for column in generator.arrays(sizes["n"]))
    queries = points(generator, N_WARM + N_QUERIES)[N_WARM:, 0]
    trees = {name: structure.build(left, right, score) for name, structure in STRUCTURES.items()}
    plain, scan = StabAllSort(left, right, score), NumpyScan(left, right, score)
    n_stabbed = float(np.mean([scan.n_stabbed(query) for query in queries[:50]]))
    by_k, few = [], queries[:5]
    for k in sizes["ks"]:
        bar.next(f"Figure 6: k = {k:,}")
        for query in queries[:3]:
            expected = scan.top(query, k)
            compared: list[Any] = [*trees.values(), plain]
            for tree in compared:
                assert np.array_equal(tree.stab_top(query, k).ids, expected.ids)
        n_asked = int(np.clip(200_000 // k, 20, N_QUERIES))
        asked = queries[:n_asked]
        run = {name: lambda t=tree, k=k, a=asked: t.stab_top_batch(a, k) for name, tree in trees.items()}
        times = {name: scaled(t, 1e6 / n_asked) for name, t in in_turn(run, N_ROUNDS).items()}
        slow = {
            "stab all, sort": lambda k=k: [plain.stab_top(query, k) for query in few],
            "stab all, select": lambda k=k: [plain.stab_select(query, k) for query in few],
            "numpy scan": lambda k=k: [scan.top(query, k) for query in few],
        }
        times |= {name: scaled(t, 1e6 / len(few)) for name, t in in_turn(slow, 3).items()}
        by_k.append({"k": k, "us": times})
    bar.next("one dimension: single calls, intervals")
    singles = {
        name: calls(lambda query, t=tree: t.stab_top(query, K), np.array_split(queries[:300], 3))
        for name, tree in trees.items()
    }
    overlaps = {
        name: calls(lambda q, t=tree: t.overlap_top(q, q + 0.01, K), np.array_split(queries[:60], 3))
        for name, tree in trees.items()
        if tree.can_overlap
    }
    return {"n": sizes["n"], "n_stabbed": n_stabbed, "by_k": by_k, "single_us": singles, "overlap_us": overlaps}


def measure_index(generator: Any, sizes: dict[str, Any], bar: Steps, label: str) -> dict[str, Any]:
    """The best k in several dimensions, by each structure's Threshold Algorithm and by the other ways."""
    arrays = generator.arrays(sizes["n"])
    events = points(generator, 300)
    result: dict[str, Any] = {"n": sizes["n"], "us": {}, "n_read": {}}
    for name in STRUCTURES:
        bar.next(f"{label}: {name}")
        both = name == "sopt"
        index = RankedIndex.from_columns(*arrays, structure=name, modes=["exact", "relaxed"] if both else ["relaxed"])
        for event in events[:2]:
            assert np.array_equal(
                index.top(event, K, "relaxed", method="threshold").ids, numpy_relaxed(arrays, event, K)
            )
        ask = lambda event, i=index: i.top(event, K, "relaxed", method="threshold")  # noqa: E731
        result["us"][name] = timed(ask, events, sizes["budget"])
        if both:
            reports = [index.top_reported(event, K, "relaxed", method="threshold")[1] for event in events[:20]]
            result["n_read"] = float(np.median([report.n_read for report in reports]))
            for method in ("auto", "best_first", "add_up", "scan"):
                ask = lambda event, i=index, m=method: i.top(event, K, "relaxed", method=m)  # noqa: E731
                result["us"][method] = timed(ask, events, sizes["budget"])
            result["us"]["exact"] = timed(lambda event, i=index: i.top(event, K), events, sizes["budget"])
            result["bytes"] = index.describe()["bytes"]
        del index
        gc.collect()
    result["us"]["numpy scan"] = timed(lambda event: numpy_relaxed(arrays, event, K), events, sizes["budget"])
    return result


def warm_up() -> None:
    """Load or compile every kernel before anything is timed."""
    columns = np.zeros((2, 200)), np.ones((2, 200)), np.arange(400.0).reshape(2, 200)
    for name, structure in STRUCTURES.items():
        index = RankedIndex.from_columns(*columns, structure=name)
        index.top([0.5, 0.5], 3)
        for method in ("threshold", "best_first", "add_up", "scan"):
            index.top([0.5, 0.5], 3, "relaxed", method=method)
        structure.build(*(column[0] for column in columns)).stab_top(0.5, 3)
    tree = IRTree.build([0], [1], [1])
    tree.insert(0, 1, 2)
    tree.set_score(0, 3)
    tree.remove(0)


def about() -> dict[str, Any]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return {
        "python": platform.python_version(),
        "processor": model[0] if model else platform.processor(),
        "cores": os.cpu_count(),
        "numba": version("numba"),
        "numpy": version("numpy"),
        "seed": SEED,
        "k": K,
    }


def measure(sizes: dict[str, Any], keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    n_structures = len(STRUCTURES)
    n_steps = n_structures * (len(sizes["sizes"]) + len(sizes["dimensions"]) + len(sizes["skews"]))
    document: dict[str, Any] = {"about": about(), "dimensions": [], "skews": []}
    with steps(n_steps + len(sizes["ks"]) + 5) as bar:
        warm_up()
        document["sizes"] = measure_sizes(sizes, bar)
        document["one"] = measure_one_dimension(sizes, bar)
        for d in sizes["dimensions"]:
            generator = workload("intervals", seed=SEED, n_dimensions=d)
            result = measure_index(generator, sizes, bar, f"Figures 7, 8: {d} dimensions")
            document["dimensions"].append({"d": d, **result})
        for skew in sizes["skews"]:
            generator = workload("intervals", seed=SEED, n_dimensions=4, skew_length=skew)
            document["skews"].append({"skew": skew, **measure_index(generator, sizes, bar, f"Figure 9: skew {skew}")})
        document["many"] = measure_many(sizes, bar)
        document["changes"] = measure_changes(sizes, bar)
    keep(document)
    return document


def write(document: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ranked2008.json").write_text(json.dumps(document, indent=1) + "\n")
    (folder / "ranked2008.md").write_text(page(document))
    draw(document, folder / "ranked2008.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a hundredth of the paper's sizes")
    parser.add_argument("--render", action="store_true", help="measure nothing, write the page and the plot anew")
    parser.add_argument("--output", type=Path, help="where to write; docs/papers unless --quick")
    arguments = parser.parse_args()
    start_compiled()
    folder = arguments.output or (None if arguments.quick else DOCS)
    if arguments.render:
        write(json.loads(((folder or DOCS) / "ranked2008.json").read_text()), folder or DOCS)
        return
    document = measure(QUICK if arguments.quick else FULL, lambda d: write(d, folder) if folder else None)
    if folder is None:
        sys.stdout.write(page(document))


if __name__ == "__main__":
    main()
