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
SELECTIVE = "0.001%"  # of growth.py: the match rate above
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


def shard_of(growth: Document) -> Document:
    """Return the largest index of selective rules that was measured, of those that match as rarely as is asked."""
    return max((row for row in growth["rows"] if row["rate"] == SELECTIVE), key=lambda row: row["n_rules"])


def plan(document: Document, growth: Document) -> dict[str, Any]:
    """Return the figures of the page.

    What an event costs before there are many rules is Spark's time on few rules. What the rules cost is the time of
    `sparse` on shards of selective rules.
    """
    results = complete(document)
    few, most = (choose(results, key=lambda result: result["n_rules"]) for choose in (min, max))
    n_used = document["about"]["spark_cores"]
    shard = shard_of(growth)
    n_shards = math.ceil(N_RULES / shard["n_rules"])
    shard_seconds = shard["us"]["with"]["median"] * 1e-6
    around = core_seconds(few, "count", n_used)
    of_one = {name: core_seconds(most, name, n_used) for name in ("count", "top")}
    a_ranked_match = max(0.0, of_one["top"] - of_one["count"]) / most["match"][MAPS.name]["matches_per_event"]
    figures: dict[str, Any] = {
        "shard": shard,
        "n_shards": n_shards,
        "around": around,
        "few_rules": few["n_rules"],
        "ns_a_ranked_match": a_ranked_match * 1e9,
    }
    n_ranked = {"count": 0.0, "top": N_RULES * MATCH_RATE}
    for name in ("count", "top"):
        times = most["match"][MAPS.name][name]["spark"]
        spread = max(0.05, (times["high"] - times["low"]) / times["median"] / 2)
        an_event = around + n_shards * shard_seconds + n_ranked[name] * a_ranked_match
        n_cores = cores_needed(an_event, spread)
        figures[name] = {
            "core_ms": an_event * 1e3,
            "spread": spread,
            "cores": n_cores,
            "hosts": n_cores // CORES_A_HOST,
        }
    figures["index_bytes"] = shard["n_bytes"] / shard["n_rules"] * N_RULES
    figures["build_core_seconds"] = n_shards * (shard["draw_seconds"] + shard["engine_seconds"])
    handed = most["match"][MAPS.name]["handed"]
    figures["ns_per_match"] = handed["seconds"]["arrays"]["median"] * 1e9 / handed["n_matches"]
    return figures


def _figures(found: dict[str, Any]) -> list[str]:
    matches = N_EVENTS * N_RULES * MATCH_RATE
    rows = []
    for name, what in (("count", "all matches counted"), ("top", f"the best {K}")):
        of = found[name]
        rows.append((what, number(of["core_ms"]), f"{of['cores']:,}", f"{of['hosts']:,}", f"{of['spread']:.0%}"))
    gb = 1e9
    shard = found["shard"]
    return [
        *table(("", "core time per event, ms", "cores", f"hosts of {CORES_A_HOST}", "spread of tasks"), rows),
        f"- **Shards**: {found['n_shards']:,} of {shard['n_rules']:,} rules; a task runs its events through all of "
        f"them. An event takes {number(shard['us']['with']['median'])} µs of each, with {number(shard['matches'])} "
        f"matches, and {found['around'] * 1e6:,.0f} µs around them.",
        f"- **Memory**: the arrays take {found['index_bytes'] / gb:,.0f} GB, shared by all workers of a host.",
        f"- **Build**: {found['build_core_seconds'] / 3600:,.1f} core hours, with one task per shard.",
        f"- **Network, out**: matches as ids are {matches * ID_BYTES / 1e12:,.0f} TB per day, "
        f"{matches * ID_BYTES * 8 / 86_400 / gb:,.1f} Gbit/s on average. The best {K} with scores are "
        f"{N_EVENTS * K * (ID_BYTES + SCORE_BYTES) / 1e12:,.1f} TB per day, and counts {N_EVENTS * 8 / 1e12:,.2f} TB.",
        f"- **Handing matches to Spark**: at {found['ns_per_match']:.0f} ns per match, all matches keep "
        f"{matches * found['ns_per_match'] * 1e-9 / 86_400:,.0f} more cores busy all day.",
        f"- **Network, in**: each host loads a new version once, {found['index_bytes'] / gb:,.0f} GB and the texts.",
        "",
    ]


def scale_page(document: Document | None, growth: Document | None) -> str:
    """Return the page. Without measurements, it says how to get them."""
    lines = [
        "# A hundred million rules",
        "",
        f"This page estimates the cost of {N_RULES:,} rules and {N_EVENTS:,} events per day, at a match rate of "
        f"{MATCH_RATE:g} ({N_RULES * MATCH_RATE:,.0f} rules per event) and for the best {K}. Nobody has run this. The "
        "rates are those of [Spark](benchmarks/spark.md) and of [selective rules](benchmarks/growth.md) on two cores, "
        "extrapolated under the assumptions below. The busiest hour of a day is simulated. "
        "`python benchmarks/spark.py --render` writes it.",
        "",
        "## Figures",
        "",
    ]
    ranking: list[str] = []
    is_measured = document is not None and complete(document) and growth is not None
    if not is_measured or all(row["rate"] != SELECTIVE for row in growth["rows"]):
        lines += ["*No measurements yet: `python benchmarks/spark.py` and `benchmarks/growth.py` fill them in.*", ""]
    else:
        found = plan(document, growth)
        lines += _figures(found)
        ranking = [
            f"- Finding the best {K} takes as long as counting, plus {found['ns_a_ranked_match']:,.0f} ns per match. "
            "This is the difference between the two on rules of `abe`.",
            "- What an event costs around the shards (reading it, handing it to Python, encoding it) is what all of "
            f"Spark's `count` takes at {found['few_rules']:,} rules of `abe`, with events as maps.",
        ]
    lines += [
        "## Assumptions",
        "",
        "- Rules are selective contracts of `advertising`, of which an event matches as small a part as stated, and "
        "the time per event grows in proportion to the number of shards. One index of all rules would take less, since "
        "time grows more slowly than the rules do, but its nodes and cells would exceed 32 bits.",
        *ranking,
        "- Cores do not slow each other down. In fact they share memory bandwidth, so a host with many cores and few "
        "memory channels is slower per core.",
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
