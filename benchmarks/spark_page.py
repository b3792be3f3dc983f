"""The page that people read, from the measurements of spark.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from core_goals import Goal, extremes
from core_page import number, ranged, table
from core_timing import scaled
from spark_shapes import MAPS, SHAPES

Result = dict[str, Any]
MOST_ON_TOP = 1.5  # times what the index takes in a process
MOST_BESIDE_EMPTY = 1.5  # times what an empty task takes over the same columns
GOAL_RULES = 1_000  # on ordinary columns
GOAL_SIZES = (100_000, 1_000_000)
STAGES = ("count", "check", "compile", "merge", "build", "publish")


def asked(result: Result) -> Iterator[tuple[str, str, Result]]:
    """Each shape of the events with each question that was asked of it, and what was measured of the shape."""
    for shape, found in result["match"].items():
        yield from ((shape, name, found) for name in found["n_events"])


def question(name: str) -> str:
    return {"count": "`count`", "top": "`top=10`"}[name]


def on_top(result: Result, shape: str, name: str, found: Result) -> Goal:
    spark, process = found[name]["spark"], found[name]["process"]
    ratio = spark["median"] / process["median"]
    read, handed = found["count"]["read"], found["count"]["packed"]
    n_events = found["n_events"]
    an_event, reading_an_event = 1e6 * found["cores"] / n_events[name], 1e6 * found["cores"] / n_events["count"]
    return Goal(
        f"{question(name)} of events in {shape} at `abe` {result['n_rules']:,} in Spark takes at most half on top of "
        "the index in a process",
        f"{ratio - 1:.0%} on top ({number(spark['median'])} against {number(process['median'])} s for "
        f"{n_events[name]:,} events)",
        ratio <= MOST_ON_TOP,
        f"of Spark's {number(spark['median'] * an_event)} µs of a core per event, "
        f"{number(read['median'] * reading_an_event)} are for reading the events, and "
        f"{number(handed['median'] * reading_an_event)} for reading them and handing them to Python; the process has "
        "them in memory",
        extremes(spark, process, MOST_ON_TOP),
    )


def goals(document: Result) -> Iterator[Goal]:
    for result in complete(document):
        if result["n_rules"] in GOAL_SIZES:
            yield from (on_top(result, *found) for found in asked(result))
    for result in document.get("columns", {}).get("results", ()):
        if result["n_rules"] == GOAL_RULES:
            yield beside_empty(document["columns"]["n_events"], result)


def beside_empty(n_events: int, result: Result) -> Goal:
    count, empty = result["seconds"]["count"]["core"], result["seconds"]["empty"]["core"]
    ratio = count["median"] / empty["median"]
    return Goal(
        f"`count` of 20 ordinary columns at {result['n_rules']:,} rules takes at most {MOST_BESIDE_EMPTY} times what "
        "an empty `mapInArrow` takes over the same columns",
        f"{ratio:.2f} times ({number(count['median'] * 1e6 / n_events)} against "
        f"{number(empty['median'] * 1e6 / n_events)} µs of a core per event)",
        ratio <= MOST_BESIDE_EMPTY,
        f"encoding the events takes {number(result['encode_in_process']['median'] * 1e6)} µs, and finding the rules "
        f"{number(matching_alone(result) * 1e6)} µs",
        extremes(count, empty, MOST_BESIDE_EMPTY),
    )


def matching_alone(result: Result) -> float:
    """Seconds per event that finding the rules takes, once events are encoded."""
    return max(0.0, result["count_in_process"]["median"] - result["encode_in_process"]["median"])


def ordinary_stages(found: Result) -> Iterator[str]:
    rows = []
    for result in found["results"]:
        seconds = {name: times["core"]["median"] / found["n_events"] for name, times in result["seconds"].items()}
        encode, alone = result["encode_in_process"]["median"], matching_alone(result)
        back = seconds["count"] - seconds["laid out"] - encode - alone
        stages = (seconds["read"], seconds["laid out"] - seconds["read"], encode, alone, back)
        more = (seconds["arrays"] - seconds["count"], seconds["rows"] - seconds["count"])
        rows.append((f"{result['n_rules']:,}", *(_micros(each) for each in (*stages, seconds["count"], *more))))
    header = ("rules", "read", "to Python", "encode", "match", "back, and the rest", "all of `count`")
    yield from table((*header, "arrays on top", "rows on top"), rows)


def ordinary_ways(found: Result) -> Iterator[str]:
    names = {
        "read": "reading the columns, and nothing else",
        "empty": "an empty `mapInArrow`",
        "count": "`match(count=True)`",
        "arrays": "`match`, arrays",
        "rows": "`match(explode=True)`, rows",
        "function": "the table function, counting",
        "source": "the data source, counting",
        "sql": "one SQL condition per rule, counting",
    }
    rows = []
    for name, title in names.items():
        cells = []
        for result in found["results"]:
            n_events = result["n_sql_events"] if name == "sql" else found["n_events"]
            cells.append(ranged(scaled(result["seconds"][name]["core"], 1e6 / n_events)))
        rows.append((title, *cells))
    matches = (number(result["matches_per_event"]) for result in found["results"])
    rows.append(("*matches per event*", *matches))
    yield from table(("", *(f"{result['n_rules']:,} rules" for result in found["results"])), rows)


def _micros(seconds: float) -> str:
    return number(seconds * 1e6) if abs(seconds) >= 5e-9 else "0"


def matching(results: list[Result]) -> Iterator[str]:
    rows = []
    for r in results:
        for shape, name, found in asked(r):
            times, n_events = found[name], found["n_events"][name]
            rows.append(
                (
                    f"{r['n_rules']:,}",
                    f"{question(name)} of {shape}",
                    f"{n_events:,}",
                    ranged(times["spark"]),
                    ranged(times["process"]),
                    number(n_events / times["spark"]["median"]),
                    number(n_events / times["process"]["median"]),
                    f"{times['spark']['median'] / times['process']['median']:.2f}",
                )
            )
    yield from table(
        ("rules", "", "events", "Spark, s", "process, s", "Spark, events/s", "process, events/s", "ratio"), rows, 2
    )


def alone(results: list[Result]) -> Iterator[str]:
    rows = []
    for r in results:
        for shape, found in r["match"].items():
            n_events = found["n_events"]["count"]
            factor = 1e6 * found["cores"] / n_events
            times = (ranged(scaled(found["count"][name], factor)) for name in ("read", "plain", "packed"))
            rows.append((f"{r['n_rules']:,}", shape, f"{n_events:,}", *times))
    header = ("rules", "events in", "events", "read", "read, and handed over", "handed over as `match` does")
    yield from table(header, rows, 2)


def handing(results: list[Result]) -> Iterator[str]:
    rows = []
    for r in results:
        found = r["match"][MAPS.name]
        handed = found["handed"]
        factor = 1e9 / handed["n_matches"]
        rows.append(
            (
                f"{r['n_rules']:,}",
                number(found["matches_per_event"]),
                f"{handed['n_matches']:,}",
                *(
                    ranged(scaled(handed["seconds"][name], factor))
                    for name in ("arrays", "empty arrays", "rows", "empty rows")
                ),
            )
        )
    yield from table(
        ("rules", "matches per event", "matches", "arrays", "empty arrays", "rows", "empty rows"),
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
                number(peer["index_events"] / peer["index_seconds"]),
            )
        )
        name = peer["peer"]
    yield from table(("way", "rules", "to prepare, s", "to run, s", "events/s", "the index, events/s"), rows, 1)


def building(results: list[Result]) -> Iterator[str]:
    rows = []
    for r in results:
        for shape, built in _builds(r):
            rows.append(
                (
                    f"{r['n_rules']:,}",
                    f"in {shape}",
                    number(built["seconds"]),
                    *(number(built["by_stage"][stage]) for stage in STAGES),
                    *(
                        number(size / 1e6)
                        for size in (built["shuffled"]["bytes"], built["text_bytes"], built["n_bytes"])
                    ),
                    str(built["n_shards"]),
                )
            )
    sizes = ("shuffled, MB", "texts, MB", "index, MB", "shards")
    yield from table(("rules", "attributes", "whole, s", *(f"{stage}, s" for stage in STAGES), *sizes), rows, 2)


def _builds(result: Result) -> Iterator[tuple[str, Result]]:
    for shape, built in result["build"].items():
        yield shape, built
        if "in_shards" in built:
            yield shape, built["in_shards"]


def complete(document: Result) -> list[Result]:
    """The results of all parts that were run to their end."""
    return [result for result in document["results"] if len(result.get("match", ())) == len(SHAPES)]


def page(document: Result) -> str:
    """Goals first, then every table."""
    facts = document["about"]
    results = complete(document)
    found = [(goal.text, goal.measured, goal.verdict) for goal in goals(document)]
    lines = [
        "# Spark",
        "",
        f"Measured on {facts['processor']}, {facts['cores']} cores that other work shared, Python {facts['python']}, "
        f"PySpark {facts['pyspark']}, a local session with {facts['spark_cores']} cores and {facts['driver_memory']} "
        "for the JVM; written by `python benchmarks/spark.py`, the rows of one number of rules in one run (`--only` "
        "measures some anew). Times are wall time, medians over rounds, in "
        "parentheses the fastest to the slowest round. Rules and events are `abe`, a-tree2021's default: of a thousand "
        "attributes an event has twenty. They lie in *maps*, one column with an entry for each attribute that an event "
        "has (`attributes.a17 = 5` in a rule), and in *columns*, one for each attribute, nearly all of them null.",
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
        "Microseconds of a core per event for what no index can save: Spark reads them from Parquet, and hands them to "
        "Python workers that do nothing, as they are and as `match` lays them out (columns of one type as one list).",
        "",
        *alone(results),
        "## Handing matches over",
        "",
        "Nanoseconds per match, matching included, as arrays and as rows; beside them tasks that match nothing and "
        "write as many numbers in batches as large. Events lie in maps.",
        "",
        *handing(results),
    ]
    if "columns" in document:
        found_columns = document["columns"]
        sql_events = ", ".join(f"{each['n_sql_events']:,}" for each in found_columns["results"])
        lines += [
            "## Twenty ordinary columns",
            "",
            f"{found_columns['n_events']:,} events of {found_columns['n_columns']} columns (texts, integers, doubles, "
            "decimals, times, dates, an array), from Parquet; rules are conjunctions of three to five conditions. "
            "Microseconds of processor time per event, of the JVM and of Python together, medians over rounds. What "
            "other work takes of the machine hardly counts. Encoding and matching are measured in one thread of a "
            "process; the rest of a stage is a difference of jobs. SQL got fewer events at more rules "
            f"({sql_events}). SQL, `match` and the index in a process find equally many matches."
            " Few events, as `--quick` has, measure what a job costs by itself.",
            "",
            *ordinary_stages(found_columns),
            *ordinary_ways(found_columns),
        ]
    if document["peers"]:
        lines += [
            "## Other ways to do it in Spark",
            "",
            "At growing numbers of rules until one takes too long. All find as many matches as the index does on the "
            "same 2,048 events; in the last column is its whole job, with planning, on these events 32 times (for one "
            "pass that would be most of it), in maps. One SQL condition a rule did not end at 10,000 rules: Spark ran "
            "out of memory while it planned. The join is on rules in whang2009's conjunction form (`advertising`), "
            "with one row a key of a conjunction, broadcast; the others on `abe`.",
            "",
            *peers(document["peers"]),
        ]
    lines += [
        "## Building",
        "",
        "From Parquet of texts to a published index, by stage; shuffled is all that stages write for other stages. "
        "`count` reads the rules into Spark's cache. Rules of one shard are compiled as they are checked, and `check` "
        "is then for those that cannot be used, of which there are none; rules of several are checked first. The "
        "first build after a start (10,000 rules in maps, and what `--only` began with) has the workers' start and the "
        "compilation of their kernels in it.",
        "",
        *building(results),
    ]
    return "\n".join(lines).rstrip() + "\n"
