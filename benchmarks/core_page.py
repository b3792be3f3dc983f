"""The page that people read, from the measurements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from core_goals import goals, in_memory


def number(value: float | None) -> str:
    """Three digits or more, as many as are needed."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ranged(times: dict[str, float]) -> str:
    """A median, and the spread of its rounds."""
    if times["rounds"] == 1:
        return number(times["median"])
    return f"{number(times['median'])} ({number(times['low'])} to {number(times['high'])})"


def table(header: Iterable[str], rows: Iterable[Iterable[str]], n_left: int = 1) -> Iterator[str]:
    names = list(header)
    yield f"| {' | '.join(names)} |"
    yield f"| {' | '.join(['---'] * n_left + ['--:'] * (len(names) - n_left))} |"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def named(result: dict[str, Any]) -> str:
    return f"{result['workload']} {result['n_rules']:,}"


def building(results: list[dict[str, Any]]) -> Iterator[str]:
    yield from table(
        (
            "workload",
            "characters a rule",
            "build, s",
            "of it parser, s",
            "`sparse`, s",
            "`batch`, s",
            "µs a rule",
        ),
        (
            (
                named(r),
                number(r["text_bytes_a_rule"]),
                ranged(r["build_seconds"]["whole"]),
                ranged(r["build_seconds"]["parser"]),
                number(r["engines"]["sparse"]["build_seconds"]),
                number(r["engines"]["batch"]["build_seconds"]),
                number(r["build_seconds"]["whole"]["median"] * 1e6 / r["n_rules"]),
            )
            for r in results
        ),
    )


def sizes(results: list[dict[str, Any]]) -> Iterator[str]:
    yield from table(
        (
            "workload",
            "Program",
            "`sparse`",
            "`batch`",
            "Program and `sparse`",
            "disk",
            "of it texts",
            "open, s",
            "first open, s",
        ),
        (
            (
                named(r),
                number(r["program_bytes_a_rule"]),
                number(r["engines"]["sparse"]["bytes_a_rule"]),
                number(r["engines"]["batch"]["bytes_a_rule"]),
                number(in_memory(r)),
                number(r["disk"]["bytes"] / r["n_rules"]),
                number(r["disk"]["bytes_of_texts"] / r["n_rules"]),
                ranged(r["disk"]["open_with_receipt"]),
                ranged(r["disk"]["open_without_receipt"]),
            )
            for r in results
        ),
    )


def engine_name(name: str) -> str:
    """An engine's name as it is written in code, and in words what is beside it."""
    engine, *more = name.split(",")
    return ",".join([f"`{engine}`", *more])


def engine_rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, engine in result["engines"].items():
        whole, alone = engine["single"]["whole"], engine["single"]["engine"]
        batch = engine["batch"]["us_an_event"]
        yield (
            named(result) if name == "scan" else "",
            engine_name(name),
            f"{number(whole['p50'])} ({number(whole['p50_low'])} to {number(whole['p50_high'])})",
            number(whole["p99"]),
            number(alone["p50"]),
            number(alone["p99"]),
            ranged(batch["engine"]),
            number(1e6 / batch["engine"]["median"]),
            number(1e6 / batch["whole"]["median"]),
            f"{engine['batch']['events']:,}",
        )


def stages(results: list[dict[str, Any]]) -> Iterator[str]:
    yield from table(
        (
            "workload",
            "matches an event",
            "finding, µs",
            "writing, µs",
            "writing, ns a match",
            "plain trial, µs",
            "one thread, µs",
            "two threads, µs",
        ),
        (
            (
                named(r),
                number(r["matches_an_event"]),
                ranged(r["stages"]["matching_us_an_event"]),
                ranged(r["stages"]["emission_us_an_event"]),
                ranged(r["stages"]["emission_ns_a_match"]),
                ranged(r["stages"]["trial_us_an_event"]) if r["stages"]["trial_us_an_event"] else "–",
                ranged(r["threads_us_an_event"]["one"]),
                ranged(r["threads_us_an_event"]["two"]),
            )
            for r in results
        ),
    )


def work(results: list[dict[str, Any]]) -> Iterator[str]:
    for r in results:
        counts = {**r["counts"]}
        for name in ("sparse", "batch"):
            counts |= {f"{name} {key}": value for key, value in r["engines"][name]["work"].items()}
        listed = ", ".join(f"{key.replace('n_', '').replace('_', ' ')} {value:,}" for key, value in counts.items())
        yield f"- {named(r)}: {listed}"
    yield ""


def goal_rows(document: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for goal in goals(document):
        yield goal.text, goal.measured, goal.verdict


DESCRIBED = {
    "abe": "`abe` is a-tree2021's default, drawn for each size",
    "advertising": "`advertising` is whang2009's DNF with twelve months and at least two predicates besides the month",
    "exchange": "`exchange` is fontoura2010's trees",
}


def described(measured: set[str]) -> str:
    """What the workloads of this run are, and which of them it does not have."""
    told = "; ".join(text for name, text in DESCRIBED.items() if name in measured)
    missing = [f"`{name}`" for name in DESCRIBED if name not in measured]
    return f"{told}. " + (f"**Not measured in this run:** {', '.join(missing)}." if missing else "")


def page(document: dict[str, Any]) -> str:
    """Goals first, then every table."""
    facts = document["about"]
    results = sorted(document["results"], key=lambda result: (result["workload"], result["n_rules"]))
    rows = [row for result in results for row in engine_rows(result)]
    lines = [
        "# The core",
        "",
        f"One run on {facts['processor']}, {facts['cores']} cores that other work shared, Python {facts['python']}, "
        f"numba {facts['numba']}, orjson {facts['orjson']}; written by `python benchmarks/core.py`. Times of one "
        "thread are processor time of that thread; opening, and one thread beside two, are wall time. Medians over "
        "rounds, in parentheses the fastest to the slowest round. Before they were timed, all engines gave the same "
        "matches for three events, and `sparse` and `batch` for 512.",
        "",
        described({result["workload"].partition(",")[0] for result in results}),
        "",
        "## Goals",
        "",
        *table(("goal", "measured", ""), goal_rows(document), 3),
        "The plain trial is a bit-parallel loop over rules of `abe`'s shape drawn straight into arrays, 512 events at "
        "a time, which counts and writes nothing (`benchmarks/engine_kernels.py`); it ran in turn with the engine.",
        "",
        "## Engines",
        "",
        "`sparse` is built twice: knowing the rules alone, and with the frequencies of cells in 2,896 other events. "
        "Single events in µs: whole calls `Index.match(dict)` and the engine alone on the encoded event. Each event is "
        "timed once; a p99 of fewer than 100 calls is left out. Batches: µs an event of the engine alone on encoded "
        "events, matches written; events a second of it, and of whole calls `match_batch` on an Arrow table.",
        "",
        *table(
            (
                "workload",
                "engine",
                "call p50",
                "call p99",
                "engine p50",
                "engine p99",
                "batch, µs an event",
                "engine, events/s",
                "`match_batch`, events/s",
                "events",
            ),
            rows,
            2,
        ),
        "## The stages of `batch`, and threads",
        "",
        "Time an event; three blocks of 512 events, their median and range.",
        "",
        *stages(results),
        "## Building",
        "",
        "From an Arrow table of texts to an index with the default engine. The parser's part is scanning all rules, "
        "and parsing each distinct predicate and making its literals; it and the engines are timed by themselves.",
        "",
        *building(results),
    ]
    for r in results:
        if "orjson" in r:
            lines += [
                f"orjson takes {ranged(r['orjson']['seconds'])} s for the {r['n_rules']:,} rules of `abe` as JSON "
                f"trees ({r['orjson']['bytes'] / r['n_rules']:,.0f} bytes each), parsed one by one and not kept.",
                "",
            ]
    lines += [
        "## Bytes a rule, and opening",
        "",
        "In memory: the arrays of the Program and of the engines; `auto` has `sparse`, and `batch` as well once a "
        "large batch was matched. On disk: the default engine's artifact, texts included. Opened in a new process, "
        "whose imports are not counted, with the files in the system's cache: when the host has a receipt, and the "
        "first time, with all checksums.",
        "",
        *sizes(results),
        "## Growth",
        "",
        "![Time an event and bytes a rule against the number of rules](growth.png)",
        "",
        "## What the engines are made of",
        "",
        *work(results),
    ]
    return "\n".join(lines).rstrip() + "\n"
