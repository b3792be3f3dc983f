"""docs/scale.md: the cost of 100 million rules and ten billion events per day, by measured rates and a simulation."""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from typing import Any

import numpy as np

from core_page import number, table
from spark_page import complete
from spark_shapes import MAPS

N_RULES = 100_000_000
N_EVENTS = 10_000_000_000  # per day
MATCH_RATE = 1e-5  # the part of the rules that matches an event: a thousand rules
K = 10
RULES_A_SHARD = 1_000_000
CORES_A_HOST = 16
PEAK = 2.0  # the events of the busiest hour, as a multiple of the mean
ID_BYTES, SCORE_BYTES = 8, 8
TASKS_A_CORE = 4  # in an hour
LOST_TASKS = 0.001  # the part of the tasks that runs again, for any reason
HOUR = 3600.0

Document = dict[str, Any]


def hourly_events() -> list[float]:
    """Return the events of a day by hour: a wave around the mean, with the assumed peak."""
    wave = [1 + (PEAK - 1) * math.sin(2 * math.pi * (hour - 9) / 24) for hour in range(24)]
    return [N_EVENTS / 24 * max(value, 0.0) / (sum(max(v, 0.0) for v in wave) / 24) for value in wave]


def simulated_hour(n_events: float, seconds_per_event: float, spread: float, n_cores: int) -> float:
    """Return the seconds that the events of an hour take: tasks differ in length, and some of them run again."""
    generator = np.random.default_rng(0)
    n_tasks = TASKS_A_CORE * n_cores
    mean = n_events / n_tasks * seconds_per_event
    lengths = mean * generator.lognormal(-(spread**2) / 2, spread, n_tasks)
    lengths = np.concatenate([lengths, lengths[generator.random(n_tasks) < LOST_TASKS]])
    ends = [0.0] * n_cores
    for length in lengths.tolist():
        heapq.heapreplace(ends, ends[0] + length)
    return max(ends)


def cores_needed(seconds_per_event: float, spread: float) -> int:
    """Return the fewest cores, in whole hosts, that match the events of the busiest hour within an hour."""
    busiest = max(hourly_events())
    low = max(1, math.ceil(busiest * seconds_per_event / HOUR / CORES_A_HOST))  # without any unevenness

    def is_enough(hosts: int) -> bool:
        return simulated_hour(busiest, seconds_per_event, spread, hosts * CORES_A_HOST) <= HOUR

    return (low + bisect_left(range(low, 4 * low), True, key=is_enough)) * CORES_A_HOST


def core_seconds(result: Document, name: str, n_cores: int) -> float:
    """Return the seconds that one core takes in Spark for one event and all rules of the result."""
    found = result["match"][MAPS.name]
    return float(found[name]["spark"]["median"] * n_cores / found["n_events"][name])


def plan(document: Document, core: Document) -> dict[str, Any]:
    """Return the figures of the page, from the largest index that was measured, which is as large as a shard."""
    result = max(complete(document), key=lambda r: r["n_rules"])
    n_shards = N_RULES // RULES_A_SHARD
    n_used = document["about"]["spark_cores"]
    scale = N_RULES / result["n_rules"]
    largest = max((r for r in core["results"] if r["workload"] == "abe"), key=lambda r: r["n_rules"])
    figures: dict[str, Any] = {"measured_rules": result["n_rules"], "n_shards": n_shards}
    of_one = {name: core_seconds(result, name, n_used) for name in ("count", "top")}
    a_ranked_match = max(0.0, of_one["top"] - of_one["count"]) / result["match"][MAPS.name]["matches_per_event"]
    figures["ns_a_ranked_match"] = a_ranked_match * 1e9
    n_ranked = {"count": 0.0, "top": N_RULES * MATCH_RATE}
    for name in ("count", "top"):
        times = result["match"][MAPS.name][name]["spark"]
        spread = max(0.05, (times["high"] - times["low"]) / times["median"] / 2)
        an_event = of_one["count"] * scale + n_ranked[name] * a_ranked_match
        n_cores = cores_needed(an_event, spread)
        figures[name] = {
            "core_ms": an_event * 1e3,
            "spread": spread,
            "cores": n_cores,
            "hosts": n_cores // CORES_A_HOST,
        }
    built = result["build"][MAPS.name]
    figures["index_bytes"] = built["n_bytes"] * scale
    figures["batch_bytes"] = largest["engines"]["batch"]["bytes_per_rule"] * N_RULES
    # An index of this many rules is built in shards.
    figures["build_core_seconds"] = built.get("in_shards", built)["seconds"] * n_used * scale
    handed = result["match"][MAPS.name]["handed"]
    figures["ns_per_match"] = handed["seconds"]["arrays"]["median"] * 1e9 / handed["n_matches"]
    return figures


def _figures(found: dict[str, Any]) -> list[str]:
    matches = N_EVENTS * N_RULES * MATCH_RATE
    rows = []
    for name, what in (("count", "all matches counted"), ("top", f"the best {K}")):
        of = found[name]
        rows.append((what, number(of["core_ms"]), f"{of['cores']:,}", f"{of['hosts']:,}", f"{of['spread']:.0%}"))
    gb = 1e9
    return [
        *table(("", "core time per event, ms", "cores", f"hosts of {CORES_A_HOST}", "spread of tasks"), rows),
        f"- **Shards**: {found['n_shards']:,} of {RULES_A_SHARD:,} rules; a task runs its events through all of them.",
        f"- **Memory**: the index takes {found['index_bytes'] / gb:,.0f} GB, shared by all workers of a host. "
        f"When `batch` is first used, each Python worker allocates {found['batch_bytes'] / gb:,.0f} GB of its own. "
        "This is the first limit: at this size, use few workers with many threads each (`spark.task.cpus`).",
        f"- **Build**: {found['build_core_seconds'] / 3600:,.1f} core hours, with one task per shard.",
        f"- **Network, out**: matches as ids are {matches * ID_BYTES / 1e12:,.0f} TB per day, "
        f"{matches * ID_BYTES * 8 / 86_400 / gb:,.1f} Gbit/s on average. The best {K} with scores are "
        f"{N_EVENTS * K * (ID_BYTES + SCORE_BYTES) / 1e12:,.1f} TB per day, and counts {N_EVENTS * 8 / 1e12:,.2f} TB.",
        f"- **Handing matches to Spark**: at {found['ns_per_match']:.0f} ns per match, all matches keep "
        f"{matches * found['ns_per_match'] * 1e-9 / 86_400:,.0f} more cores busy all day.",
        f"- **Network, in**: each host loads a new version once, {found['index_bytes'] / gb:,.0f} GB.",
        "",
    ]


def scale_page(document: Document | None, core: Document) -> str:
    """Return the page. Without measurements, it says how to get them."""
    measured = "measures on two cores" if document is None else "measured on two cores ([page](benchmarks/spark.md))"
    lines = [
        "# A hundred million rules",
        "",
        f"This page estimates the cost of {N_RULES:,} rules and {N_EVENTS:,} events per day, at a match rate of "
        f"{MATCH_RATE:g} ({N_RULES * MATCH_RATE:,.0f} rules per event) and for the best {K}. Nobody has run this. The "
        f"rates are those that `python benchmarks/spark.py` {measured}, extrapolated under the assumptions below. The "
        "busiest hour of a day is simulated.",
        "",
        "## Figures",
        "",
    ]
    ranking: list[str] = []
    if document is None or max((r["n_rules"] for r in complete(document)), default=0) < RULES_A_SHARD:
        lines += [f"*No measurements of {RULES_A_SHARD:,} rules yet: `python benchmarks/spark.py` fills them in.*", ""]
    else:
        found = plan(document, core)
        lines += [f"Extrapolated from {found['measured_rules']:,} rules.", "", *_figures(found)]
        ranking = [
            f"- Finding the best {K} takes as long as counting, plus {found['ns_a_ranked_match']:,.0f} ns per match. "
            "This is the difference between the two where they were measured."
        ]
    lines += [
        "## Assumptions",
        "",
        "- The time per event grows in proportion to the number of rules: all shards have the same size, and each "
        "exceeds the cache as much as the measured one. Rules and events are those of `abe`, as maps. Its match rate "
        "is higher than the one stated, so the estimate for counting is too high.",
        *ranking,
        "- Cores do not slow each other down. In fact they share memory bandwidth, which limits `batch` when an index "
        "exceeds the cache, so a host with many cores and few memory channels is slower per core.",
        f"- The busiest hour has {PEAK:g} times as many events as the mean hour, and the events of an hour must be "
        "matched within the next.",
        "- Tasks differ in length as much as the measured rounds did, and by at least 5%. "
        f"{LOST_TASKS:.1%} of them run twice. Each core runs {TASKS_A_CORE} tasks per hour.",
        "",
        "## Limits",
        "",
        f"- An index has at most {2**31 - 1:,} rules: a position has 32 bits. The nodes and cells of a shard also have "
        "32 bits.",
        "- All shards share one dictionary. One task merges it, and every worker keeps the parts that it uses.",
        "- Every worker maps the ids of all rules. Every task of `backtest` has three counters of 8 bytes per rule, "
        "and every task of `coverage` has one.",
        "- If an index is larger than the memory of a host, events must be routed to shards. That is not implemented.",
    ]
    return "\n".join(lines).rstrip() + "\n"
