"""The page of benchmarks/peers.py, what must hold, and the README's table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from core_page import number, table

Document = dict[str, Any]
GOALS = {10: 6.0, 100: 1.5, 1_000: 0.3}  # the most that `match` may take, in times of the generated function
GOAL_WORKLOAD = "flat"
YARDSTICK = "generated function"
MARKS = ("<!-- peers -->", "<!-- /peers -->")
HEADLINE_SIZES = (10, 1_000, 100_000, 1_000_000)
HEADLINE_PEERS = ("ruledex", YARDSTICK, "datalogic", "CEL", "a-tree", "event-ruler", "Lucene Monitor")
ABOUT_PEERS = (
    ("generated function", "Python", "one function with an `if` per rule, generated from the rules; the yardstick"),
    ("datalogic", "Rust, from Python", "JsonLogic rules, all evaluated by one call"),
    ("CEL", "Rust, from Python", "Common Expression Language, one program per rule"),
    ("zen-engine", "Rust, from Python", "one compiled expression per rule"),
    ("json-logic", "Python", "JsonLogic rules"),
    ("rule-engine", "Python", "one rule object per rule"),
    ("a-tree", "Rust", "an index, the crate of a-tree2021's structure"),
    ("event-ruler", "Java", "an index, of conjunctions; several patterns with one name are an OR"),
    ("Lucene Monitor", "Java", "an index, of Lucene's queries over one document"),
    ("polars", "Rust, from Python", "batches: one column of truth values per rule"),
    ("DuckDB", "C++, from Python", "batches: one column of truth values per rule"),
)


def page(document: Document) -> str:
    """Return the page."""
    about, points = document["about"], document["points"]
    limits = about["limits"]
    lines = [
        "# ruledex beside its peers",
        "",
        f"Written by `benchmarks/peers.py`: Python {about['python']}, one thread on {about['processor']} "
        f"({about['cores']} cores, load {about['load']:.1f} before the run).",
        "",
        "## What this shows",
        "",
        "All systems get the same rules and the same events. The rules are written in the language of each. Before a "
        f"system is timed, its answers to {limits['n_checked']} events are compared with ours, id by id.",
        "",
        "- `flat`: conjunctions of three to five equality and range conditions on 20 attributes.",
        "- `abe`: a-tree2021's default workload: nested AND, OR, NOT, XOR, XNOR; events with 20 of 1,000 attributes.",
        "- `conj`: whang2009's contracts in DNF: IN and NOT IN over 1,461 attributes, events with 91 of them.",
        "",
        "The time of ruledex is that of the public call `Index.match` from a dict, in which it reads the event and "
        "makes the list of ids. Peers in Python get the same dict. Peers in other languages get an event of their own "
        "type that is built before; event-ruler gets JSON, which is its type. So the figures favour the others.",
        "",
        "Times are wall time for calls of up to 200 µs, and processor time of the thread for longer ones, which a busy "
        "machine interrupts; of a batch it is that of the process. Systems that Python loads take turns in one "
        "process. The others run one after another, and ruledex runs before and after them. Memory is the most that a "
        "process of its own holds while it builds and answers, beyond what it held before.",
        "",
        *_systems(about),
        "Not here are systems that no package registry has (be-tree, Mustang), and Go's be_indexer, whose module the "
        "registry did not give out when this script was written.",
        "",
        "## How to run it",
        "",
        "```text",
        "python benchmarks/peers.py            all sizes; takes hours",
        "python benchmarks/peers.py --quick    10 to 1,000 rules, to standard output",
        "```",
        "",
        "cargo builds the driver of a-tree, and Maven that of event-ruler and Lucene. A system whose tool or package "
        "is missing is left out and named above. A system that takes more than "
        f"{limits['event_seconds'] * 1e3:,.0f} ms for an event (a hundredth of it in a batch) or "
        f"{limits['build_seconds']:,.0f} s for a build is not asked at larger sizes.",
        "",
        "## Goals of the short call",
        "",
        *(f"- {goal}" for goal in goals(points)),
        "",
    ]
    for name in dict.fromkeys(point["workload"] for point in points):
        lines += _workload(name, [point for point in points if point["workload"] == name])
    return "\n".join(lines).rstrip() + "\n"


def goals(points: Sequence[Document]) -> list[str]:
    """Return what must hold, and whether it does."""
    told = []
    for point in points:
        single, n_rules = point["single"], point["n_rules"]
        if point["workload"] != GOAL_WORKLOAD or n_rules not in GOALS or YARDSTICK not in single:
            continue
        ratio = single["ruledex"]["p50"] / single[YARDSTICK]["p50"]
        met = "**met**" if ratio <= GOALS[n_rules] else "**missed**"
        told.append(
            f"{met} `{GOAL_WORKLOAD}`, {n_rules:,} rules: `match` takes {ratio:.2f} times the generated function; "
            f"wanted: at most {GOALS[n_rules]:g}."
        )
    return told or ["not measured in this run"]


def _systems(about: Document) -> Iterator[str]:
    versions, missing = about["versions"], about["missing"]
    rows = []
    for peer, language, what in ABOUT_PEERS:
        told = f"missing: {missing[peer]}" if peer in missing else versions.get(peer, "")
        rows.append((peer, language, what, told))
    yield from table(("system", "written in", "what it is here", "version"), rows, n_left=4)


def _workload(name: str, points: Sequence[Document]) -> Iterator[str]:
    yield from (f"## `{name}`", "")
    matches = ", ".join(f"{point['matches_per_event']:,.1f} of {point['n_rules']:,}" for point in points)
    yield from (f"Rules that an event matches, on average: {matches}.", "")
    yield from (
        "### One event, µs",
        "",
        "The median, and in brackets what it is in times of ruledex.",
        "",
    )
    yield from _figures(points, "single", _median)
    yield from ("### One event, µs at p99", "", "Of at least 100 calls, or a dash.", "")
    yield from _figures(points, "single", lambda figures: number(figures["p99"]))
    yield from ("### A batch, µs per event", "", "One table of Arrow, polars or DuckDB, which is in memory before.", "")
    yield from _figures(points, "batch", _median)
    yield from ("### Building, s", "")
    yield from _figures(points, "single", lambda figures: number(figures["build_seconds"]))
    yield from ("### Memory, MB", "")
    yield from _figures(points, "single", lambda figures: number(figures["memory_mb"]))
    reasons = points[-1]["stopped"]
    if reasons:
        yield from ("A dash has a reason:", "")
        yield from (f"- {peer}: {reason}." for peer, reason in reasons.items())
        yield ""


def _median(figures: Document) -> str:
    ratio = figures["ratio"]
    if ratio == 1:
        return number(figures["p50"])
    return f"{number(figures['p50'])} ({ratio:,.0f}×)" if ratio >= 10 else f"{number(figures['p50'])} ({ratio:.2g}×)"


def _figures(points: Sequence[Document], kind: str, show: Any) -> Iterator[str]:
    peers = list(dict.fromkeys(peer for point in points for peer in point[kind]))
    rows = (
        [f"{point['n_rules']:,}", *(show(point[kind][peer]) if peer in point[kind] else "–" for peer in peers)]
        for point in points
    )
    yield from table(("rules", *peers), rows, n_left=0)


def headline(document: Document) -> str:
    """Return the table of README.md: µs per event of the systems that answer single events."""
    points = [point for point in document["points"] if point["n_rules"] in HEADLINE_SIZES]
    peers = [peer for peer in HEADLINE_PEERS if any(peer in point["single"] for point in points)]
    rows = []
    for point in points:
        single = point["single"]
        cells = (number(single[peer]["p50"]) if peer in single else "–" for peer in peers)
        rows.append((f"`{point['workload']}`", f"{point['n_rules']:,}", *cells))
    return "\n".join(table(("workload", "rules", *peers), rows)).rstrip()


def with_headline(readme: str, document: Document) -> str:
    """Return README.md with the table between its marks, or as it is if it has none."""
    begin, end = map(re.escape, MARKS)
    made = f"{MARKS[0]}\n{headline(document)}\n{MARKS[1]}"
    return re.sub(f"{begin}.*?{end}", lambda _: made, readme, flags=re.DOTALL)
