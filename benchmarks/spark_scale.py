"""docs/scale.md: what 100 million rules and ten billion events a day take, by measured rates and a simulated hour."""

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
N_EVENTS = 10_000_000_000  # a day
MATCH_RATE = 1e-5  # of the rules, of an event: a thousand rules
K = 10
RULES_A_SHARD = 1_000_000
CORES_A_HOST = 16
PEAK = 2.0  # the busiest hour, times the mean
ID_BYTES, SCORE_BYTES = 8, 8
TASKS_A_CORE = 4  # in an hour
LOST_TASKS = 0.001  # run again, for whatever reason
HOUR = 3600.0

Document = dict[str, Any]


def hourly_events() -> list[float]:
    """A day's events by hour: a wave around the mean, with its peak as assumed."""
    wave = [1 + (PEAK - 1) * math.sin(2 * math.pi * (hour - 9) / 24) for hour in range(24)]
    return [N_EVENTS / 24 * max(value, 0.0) / (sum(max(v, 0.0) for v in wave) / 24) for value in wave]


def simulated_hour(n_events: float, seconds_an_event: float, spread: float, n_cores: int) -> float:
    """Seconds that an hour's events take on so many cores: tasks of uneven length, some of them run again."""
    generator = np.random.default_rng(0)
    n_tasks = TASKS_A_CORE * n_cores
    mean = n_events / n_tasks * seconds_an_event
    lengths = mean * generator.lognormal(-(spread**2) / 2, spread, n_tasks)
    lengths = np.concatenate([lengths, lengths[generator.random(n_tasks) < LOST_TASKS]])
    ends = [0.0] * n_cores
    for length in lengths.tolist():
        heapq.heapreplace(ends, ends[0] + length)
    return max(ends)


def cores_needed(seconds_an_event: float, spread: float) -> int:
    """The fewest cores, in whole hosts, on which the busiest hour's events are done within an hour."""
    busiest = max(hourly_events())
    low = max(1, math.ceil(busiest * seconds_an_event / HOUR / CORES_A_HOST))  # without any unevenness

    def is_enough(hosts: int) -> bool:
        return simulated_hour(busiest, seconds_an_event, spread, hosts * CORES_A_HOST) <= HOUR

    return (low + bisect_left(range(low, 4 * low), True, key=is_enough)) * CORES_A_HOST


def core_seconds(result: Document, name: str, n_cores: int) -> float:
    """Of one core, for one event and all rules of the result, in Spark."""
    found = result["match"][MAPS.name]
    return float(found[name]["spark"]["median"] * n_cores / found["n_events"][name])


def plan(document: Document, core: Document) -> dict[str, Any]:
    """The figures of the page, from the largest index that was measured, which is as large as a shard."""
    result = max(complete(document), key=lambda r: r["n_rules"])
    n_shards = N_RULES // RULES_A_SHARD
    n_used = document["about"]["spark_cores"]
    scale = N_RULES / result["n_rules"]
    largest = max((r for r in core["results"] if r["workload"] == "abe"), key=lambda r: r["n_rules"])
    figures: dict[str, Any] = {"measured_rules": result["n_rules"], "n_shards": n_shards}
    of_one = {name: core_seconds(result, name, n_used) for name in ("count", "top")}
    a_ranked_match = max(0.0, of_one["top"] - of_one["count"]) / result["match"][MAPS.name]["matches_an_event"]
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
    figures["batch_bytes"] = largest["engines"]["batch"]["bytes_a_rule"] * N_RULES
    # In shards, as so many rules are built.
    figures["build_core_seconds"] = built.get("in_shards", built)["seconds"] * n_used * scale
    handed = result["match"][MAPS.name]["handed"]
    figures["ns_a_match"] = handed["seconds"]["arrays"]["median"] * 1e9 / handed["n_matches"]
    return figures


def _figures(found: dict[str, Any]) -> list[str]:
    matches = N_EVENTS * N_RULES * MATCH_RATE
    rows = []
    for name, what in (("count", "all matches counted"), ("top", f"the best {K}")):
        of = found[name]
        rows.append((what, number(of["core_ms"]), f"{of['cores']:,}", f"{of['hosts']:,}", f"{of['spread']:.0%}"))
    gb = 1e9
    return [
        *table(("", "core time an event, ms", "cores", f"hosts of {CORES_A_HOST}", "spread of tasks"), rows),
        f"- **Shards**: {found['n_shards']:,} of {RULES_A_SHARD:,} rules; a task runs its events through all of them.",
        f"- **Memory**: the index is {found['index_bytes'] / gb:,.0f} GB, mapped and shared by all workers of a host; "
        f"what `batch` adds when it is first used, {found['batch_bytes'] / gb:,.0f} GB, is each Python worker's own, "
        "which is the first limit: at this size take few workers with many threads each (`spark.task.cpus`).",
        f"- **Build**: {found['build_core_seconds'] / 3600:,.1f} core hours, every shard in a task of its own.",
        f"- **Network, out**: matches as ids are {matches * ID_BYTES / 1e12:,.0f} TB a day, "
        f"{matches * ID_BYTES * 8 / 86_400 / gb:,.1f} Gbit/s in the mean; the best {K} with scores "
        f"{N_EVENTS * K * (ID_BYTES + SCORE_BYTES) / 1e12:,.1f} TB, counts {N_EVENTS * 8 / 1e12:,.2f} TB.",
        f"- **Handing over**: at {found['ns_a_match']:.0f} ns a match, all matches take "
        f"{matches * found['ns_a_match'] * 1e-9 / 86_400:,.0f} cores more, all day.",
        f"- **Network, in**: a new version is {found['index_bytes'] / gb:,.0f} GB for each host, once.",
        "",
    ]


def scale_page(document: Document | None, core: Document) -> str:
    """The page; without measurements it says what will stand there."""
    measured = "measures on two cores" if document is None else "measured on two cores ([page](benchmarks/spark.md))"
    lines = [
        "# A hundred million rules",
        "",
        f"What {N_RULES:,} rules and {N_EVENTS:,} events a day take, at a match rate of {MATCH_RATE:g} "
        f"({N_RULES * MATCH_RATE:,.0f} rules an event) and for the best {K}. Nobody has run this: rates are those that "
        f"`python benchmarks/spark.py` {measured}, carried over by the assumptions below, and the busiest hour of a "
        "day is simulated.",
        "",
        "## Figures",
        "",
    ]
    ranking: list[str] = []
    if document is None or max((r["n_rules"] for r in complete(document)), default=0) < RULES_A_SHARD:
        lines += [f"*No measurements of {RULES_A_SHARD:,} rules yet: `python benchmarks/spark.py` fills them in.*", ""]
    else:
        found = plan(document, core)
        lines += [f"Carried over from {found['measured_rules']:,} rules.", "", *_figures(found)]
        ranking = [
            f"- The best {K} take what counting takes and {found['ns_a_ranked_match']:,.0f} ns for each match, "
            "which is what they take more than counting where they were measured."
        ]
    lines += [
        "## What was assumed",
        "",
        "- Time an event grows in proportion to the rules: shards are of one size, and each is as far out of the cache "
        "as the measured one. Rules and events are `abe`'s, in maps; its match rate is higher than the one stated, so "
        "counting here is dearer than it need be.",
        *ranking,
        "- Cores do not slow each other down. They share memory bandwidth, which `batch` waits for beyond the cache; a "
        "host with many cores and few memory channels gets less out of each.",
        f"- The busiest hour has {PEAK:g} times the mean, and every hour's events must be done within the next.",
        "- Tasks differ in length as much as the measured rounds did, at least by 5%; "
        f"{LOST_TASKS:.1%} of them run twice; {TASKS_A_CORE} tasks a core and hour.",
        "",
        "## Where the limits are",
        "",
        f"- {2**31 - 1:,} rules: a rule's position has 32 bits. A shard's nodes and cells have 32 bits as well.",
        "- One dictionary for all shards: its merge is one task, and every worker keeps what it uses of it in memory.",
        "- The ids of all rules are in every worker's address space (mapped), and `backtest` and `coverage` have "
        "counters of 8 bytes a rule in every task: three for `backtest`, one for `coverage`.",
        "- An index larger than a host's memory needs events routed to shards, which is not built.",
    ]
    return "\n".join(lines).rstrip() + "\n"
