"""The page that people read, from the measurements of spark.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from core_goals import Goal, extremes
from core_page import number, ranged, table
from core_timing import scaled

Result = dict[str, Any]
MOST_ON_TOP = 1.5  # times what the index takes in a process
GOAL_SIZES = (100_000, 1_000_000)


def events_a_second(result: Result, name: str, side: str) -> float:
    return float(result["match"]["n_events"][name] / result["match"][name][side]["median"])


def on_top(result: Result, name: str) -> Goal:
    times = result["match"][name]
    spark, process = times["spark"], times["process"]
    what = {"count": "`count`", "top": "`top=10`"}[name]
    ratio = spark["median"] / process["median"]
    alone, cores, n_events = result["match"]["alone"], result["match"]["cores"], result["match"]["n_events"]
    an_event, alone_an_event = 1e6 * cores / n_events[name], 1e6 * cores / n_events["count"]
    return Goal(
        f"{what} at `abe` {result['n_rules']:,} in Spark takes at most half on top of the index in a process",
        f"{ratio - 1:.0%} on top ({number(spark['median'])} against {number(process['median'])} s for "
        f"{result['match']['n_events'][name]:,} events)",
        ratio <= MOST_ON_TOP,
        f"of Spark's {number(times['spark']['median'] * an_event)} µs of a core an event, "
        f"{number(alone['read']['median'] * alone_an_event)} are for reading the events, and "
        f"{number(alone['packed']['median'] * alone_an_event)} for reading them and handing them to Python; the "
        "process has them in memory",
        extremes(spark, process, MOST_ON_TOP),
    )


def goals(document: Result) -> Iterator[Goal]:
    for result in document["results"]:
        if result["n_rules"] in GOAL_SIZES and "match" in result:
            yield from (on_top(result, name) for name in ("count", "top"))


def matching(results: list[Result]) -> Iterator[str]:
    rows = []
    for r in results:
        for name, what in (("count", "`count`"), ("top", "`top=10`")):
            times = r["match"][name]
            rows.append(
                (
                    f"{r['n_rules']:,}" if name == "count" else "",
                    what,
                    f"{r['match']['n_events'][name]:,}",
                    ranged(times["spark"]),
                    ranged(times["process"]),
                    number(events_a_second(r, name, "spark")),
                    number(events_a_second(r, name, "process")),
                    f"{times['spark']['median'] / times['process']['median']:.2f}",
                )
            )
    yield from table(
        ("rules", "", "events", "Spark, s", "process, s", "Spark, events/s", "process, events/s", "ratio"), rows, 2
    )


def alone(results: list[Result]) -> Iterator[str]:
    rows = []
    for r in results:
        factor = 1e6 * r["match"]["cores"] / r["match"]["n_events"]["count"]
        times = r["match"]["alone"]
        rows.append(
            (
                f"{r['n_rules']:,}",
                f"{r['match']['n_events']['count']:,}",
                *(ranged(scaled(times[name], factor)) for name in ("read", "plain", "packed")),
            )
        )
    yield from table(("rules", "events", "read", "read, and handed over in columns", "in lists, as `match` does"), rows)


def handing(results: list[Result]) -> Iterator[str]:
    rows = []
    for r in results:
        handed = r["match"]["handed"]
        factor = 1e9 / handed["n_matches"]
        rows.append(
            (
                f"{r['n_rules']:,}",
                number(r["match"]["matches_an_event"]),
                f"{handed['n_matches']:,}",
                *(
                    ranged(scaled(handed["seconds"][name], factor))
                    for name in ("arrays", "empty arrays", "rows", "empty rows")
                ),
            )
        )
    yield from table(
        ("rules", "matches an event", "matches", "arrays", "empty arrays", "rows", "empty rows"),
        rows,
    )


def peers(found: list[Result]) -> Iterator[str]:
    rows = []
    name = ""
    for peer in found:
        seconds = peer.get("seconds")
        rows.append(
            (
                peer["peer"] if peer["peer"] != name else "",
                f"{peer['n_rules']:,}",
                peer.get("error", "") if seconds is None else number(peer["prepare_seconds"]),
                "–" if seconds is None else number(seconds),
                "–" if seconds is None else number(peer["n_events"] / seconds),
                number(peer["n_events"] / peer["index_seconds"]),
            )
        )
        name = peer["peer"]
    yield from table(("way", "rules", "to prepare, s", "to run, s", "events/s", "the index, events/s"), rows, 1)


def building(results: list[Result]) -> Iterator[str]:
    stages = list(results[0]["build"]["by_stage"])
    yield from table(
        ("rules", "whole, s", *(f"{stage}, s" for stage in stages), "shuffled, MB", "texts, MB", "index, MB", "shards"),
        (
            (
                f"{r['n_rules']:,}",
                number(r["build"]["seconds"]),
                *(number(r["build"]["by_stage"].get(stage)) for stage in stages),
                number(r["build"]["shuffled"]["bytes"] / 1e6),
                number(r["build"]["text_bytes"] / 1e6),
                number(r["build"]["n_bytes"] / 1e6),
                str(r["build"]["n_shards"]),
            )
            for r in results
        ),
    )


def page(document: Result) -> str:
    """Goals first, then every table."""
    facts = document["about"]
    results = [result for result in document["results"] if "match" in result]
    found = [(goal.text, goal.measured, goal.verdict) for goal in goals(document)]
    lines = [
        "# Spark",
        "",
        f"One run on {facts['processor']}, {facts['cores']} cores that other work shared, Python {facts['python']}, "
        f"PySpark {facts['pyspark']}, a local session with {facts['spark_cores']} cores and {facts['driver_memory']} "
        "for the JVM; written by `python benchmarks/spark.py`. Times are wall time, medians over rounds, in "
        "parentheses the fastest to the slowest round. Rules and events are `abe`, a-tree2021's default, which has a "
        "thousand columns of which an event has twenty.",
        "",
    ]
    if found:
        lines += ["## Goals", "", *table(("goal", "measured", ""), found, 3)]
    lines += [
        "## Matching, beside the index in a process",
        "",
        "Spark reads the events from Parquet, matches them, and writes nowhere. The process has the same events as an "
        "Arrow table in memory, cut into the same blocks, and as many threads as Spark has cores. Both take turns.",
        "",
        *matching(results),
        "## The events alone",
        "",
        "Microseconds of a core an event for what no index can save: Spark reads a thousand columns from Parquet, and "
        "hands them to Python workers that do nothing.",
        "",
        *alone(results),
        "## Handing matches over",
        "",
        "Nanoseconds a match, matching included, as arrays and as rows; beside them tasks that match nothing and write "
        "as many numbers in batches as large.",
        "",
        *handing(results),
    ]
    if document["peers"]:
        lines += [
            "## Other ways to do it in Spark",
            "",
            "At growing numbers of rules until one takes too long or fails. All find as many matches as the index does "
            "on the same events, whose whole job is in the last column. The join is on rules in whang2009's "
            "conjunction form (`advertising`), with one row a key of a conjunction, broadcast; the others on `abe`.",
            "",
            *peers(document["peers"]),
        ]
    lines += [
        "## Building",
        "",
        "From Parquet of texts to a published index, by stage; shuffled is all that stages write for other stages.",
        "",
        *building(document["results"]),
    ]
    return "\n".join(lines).rstrip() + "\n"
