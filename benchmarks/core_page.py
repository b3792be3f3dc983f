"""The page that people read, from the measurements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from core_goals import goals, in_memory


def number(value: float | None) -> str:
    """Return a number with three digits, or more if it needs them."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ranged(times: dict[str, float]) -> str:
    """Return a median with the range of its rounds."""
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
            "characters per rule",
            "build, s",
            "parser alone, s",
            "`sparse`, s",
            "`batch`, s",
            "µs per rule",
        ),
        (
            (
                named(r),
                number(r["text_bytes_per_rule"]),
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
            "texts alone",
            "open, s",
            "first open, s",
        ),
        (
            (
                named(r),
                number(r["program_bytes_per_rule"]),
                number(r["engines"]["sparse"]["bytes_per_rule"]),
                number(r["engines"]["batch"]["bytes_per_rule"]),
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
    """Return the name of an engine as code, followed by what distinguishes this build of it."""
    engine, *more = name.split(",")
    return ",".join([f"`{engine}`", *more])


def engine_rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, engine in result["engines"].items():
        whole, alone = engine["single"]["whole"], engine["single"]["engine"]
        batch = engine["batch"]["us_per_event"]
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
            "matches per event",
            "finding, µs",
            "writing, µs",
            "writing, ns per match",
            "plain trial, µs",
            "one thread, µs",
            "two threads, µs",
        ),
        (
            (
                named(r),
                number(r["matches_per_event"]),
                ranged(r["stages"]["matching_us_per_event"]),
                ranged(r["stages"]["emission_us_per_event"]),
                ranged(r["stages"]["emission_ns_per_match"]),
                ranged(r["stages"]["trial_us_per_event"]) if r["stages"]["trial_us_per_event"] else "–",
                ranged(r["threads_us_per_event"]["one"]),
                ranged(r["threads_us_per_event"]["two"]),
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
    """Describe the workloads of this run, and name those that were not measured."""
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
        f"`python benchmarks/core.py` wrote this page after one run on {facts['processor']} with {facts['cores']} "
        f"cores, which other processes shared, Python {facts['python']}, numba {facts['numba']} and orjson "
        f"{facts['orjson']}. Times of one thread are the processor time of that thread. The times of opening an index, "
        "and the comparison of one thread with two, are wall time. Figures are medians over rounds; the fastest and "
        "the slowest round are in parentheses. Before the timing, all engines returned the same matches for three "
        "events, and `sparse` and `batch` for 512.",
        "",
        described({result["workload"].partition(",")[0] for result in results}),
        "",
        "## Goals",
        "",
        *table(("goal", "measured", ""), goal_rows(document), 3),
        "The plain trial is a bit-parallel loop over rules with the shape of `abe`'s, drawn directly as arrays. It "
        "takes 512 events at a time, counts matches and writes none (`benchmarks/engine_kernels.py`). Its rounds "
        "alternated with those of the engine.",
        "",
        "## Engines",
        "",
        "`sparse` was built twice: from the rules alone, and with the frequencies of cells in 2,896 other events. "
        "Times of single events are in µs, for the whole call `Index.match(dict)` and for the engine alone on the "
        "encoded event. Each event was timed once, and a p99 of fewer than 100 calls is not shown. For batches, the "
        "table shows the µs per event and the events per second of the engine alone, which reads encoded events and "
        "writes matches, and the events per second of the whole call `match_batch` on an Arrow table.",
        "",
        *table(
            (
                "workload",
                "engine",
                "call p50",
                "call p99",
                "engine p50",
                "engine p99",
                "batch, µs per event",
                "engine, events/s",
                "`match_batch`, events/s",
                "events",
            ),
            rows,
            2,
        ),
        "## The stages of `batch`, and threads",
        "",
        "Times are per event: the median and the range of three blocks of 512 events.",
        "",
        *stages(results),
        "## Building",
        "",
        "A build starts from an Arrow table of texts and ends with an index that has the default engine. The parser "
        "scans all rules, parses each distinct predicate and makes its literals. The parser and the engines were also "
        "timed alone.",
        "",
        *building(results),
    ]
    for r in results:
        if "orjson" in r:
            lines += [
                f"orjson takes {ranged(r['orjson']['seconds'])} s to parse the {r['n_rules']:,} rules of `abe` as JSON "
                f"trees ({r['orjson']['bytes'] / r['n_rules']:,.0f} bytes each), one by one, without keeping them.",
                "",
            ]
    lines += [
        "## Bytes per rule, and opening",
        "",
        "The first columns count the arrays of the Program and of the engines in memory. `auto` holds `sparse`, and "
        "also `batch` once it has matched a large batch. The size on disk is that of the artifact with the default "
        "engine, texts included. The index was opened in a new process with its files in the system's cache; imports "
        "are not counted. The first open verifies all checksums; later ones find a receipt of that on the host.",
        "",
        *sizes(results),
        "## Growth",
        "",
        "![Time per event and bytes per rule against the number of rules](growth.png)",
        "",
        "## The parts of the engines",
        "",
        *work(results),
    ]
    return "\n".join(lines).rstrip() + "\n"
