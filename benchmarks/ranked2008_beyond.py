"""What goes beyond the paper: many dimensions, and trees that change."""

from __future__ import annotations

from typing import Any

import numpy as np

from core_timing import calls, in_turn, scaled, seconds
from ranked2008_timing import N_ROUNDS, SEED, K, Steps, points, timed
from ruledex.ranked.index import RankedIndex
from ruledex.ranked.irtree import IRTree
from ruledex.workloads import workload


def measure_many(sizes: dict[str, Any], bar: Steps) -> list[dict[str, Any]]:
    """200 dimensions, of which a subscription has five; events that have all of them, and events that have ten."""
    n, n_dimensions, n_each = sizes["n_many"], 200, 5
    bar.next("200 dimensions")
    generator: Any = workload("intervals", seed=SEED, n_dimensions=n_each)
    arrays = generator.arrays(n)
    rng = np.random.default_rng(SEED)
    # Five that ascend, none of them twice.
    dimension = np.sort(rng.integers(0, n_dimensions - n_each + 1, (n, n_each)), axis=1) + np.arange(n_each)
    columns = [column.T.reshape(-1) for column in arrays]
    index = RankedIndex.build(np.arange(n + 1) * n_each, dimension.reshape(-1), *columns, n_dimensions=n_dimensions)
    values = points(generator, 40)
    results = []
    for n_had in (n_dimensions, 10):
        bar.next(f"200 dimensions, events with {n_had}")
        events = np.full((len(values), n_dimensions), np.nan)
        for event, value in zip(events, values, strict=True):
            event[rng.permutation(n_dimensions)[:n_had]] = rng.choice(value, n_had)
        times = {
            method: timed(lambda e, m=method: index.top(e, K, "relaxed", method=m), events, sizes["budget"])
            for method in ("threshold", "best_first", "add_up", "scan", "auto")
        }
        times["exact"] = timed(lambda event: index.top(event, K), events, sizes["budget"])
        results.append({"n": n, "n_dimensions": n_dimensions, "n_each": n_each, "n_had": n_had, "us": times})
    return results


def measure_changes(sizes: dict[str, Any], bar: Steps) -> dict[str, Any]:
    """An IR-tree that changes: microseconds a change, and what a query costs after a tenth was inserted."""
    bar.next("changes of an IR-tree")
    generator: Any = workload("intervals", seed=SEED)
    left, right, score = (column[0] for column in generator.arrays(sizes["n"]))
    queries = points(generator, 300)[:, 0]
    n_built = sizes["n"] * 9 // 10
    tree = IRTree.build(left[:n_built], right[:n_built], score[:n_built])
    whole = IRTree.build(left, right, score)
    tree.insert(left[n_built : n_built + 10], right[n_built : n_built + 10], score[n_built : n_built + 10])
    more = slice(n_built + 10, sizes["n"])
    n_more = sizes["n"] - n_built - 10
    insert = seconds(lambda: tree.insert(left[more], right[more], score[more])) * 1e6 / n_more
    rng = np.random.default_rng(SEED)
    chosen = rng.permutation(sizes["n"])[:2000].tolist()
    rescore = calls(lambda identity: tree.set_score(identity, score[identity] / 2), np.array_split(chosen[:1000], 3))
    remove = calls(tree.remove, np.array_split(chosen[1000:], 3))
    for name, one in (("changed", tree), ("built", whole)):
        one.stab_top_batch(queries[:10], K)
        times = in_turn({name: lambda o=one: o.stab_top_batch(queries, K)}, N_ROUNDS)[name]
        if name == "changed":
            changed = scaled(times, 1e6 / len(queries))
        else:
            built = scaled(times, 1e6 / len(queries))
    return {
        "n": sizes["n"],
        "insert_us": insert,
        "set_score_us": rescore,
        "remove_us": remove,
        "query_us_changed": changed,
        "query_us_built": built,
        "bytes_changed": tree.n_bytes / sizes["n"],
    }
