"""The page that auto.py writes: at each point, `auto` over the fastest other structure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from core_page import number

LEVEL = 1.05  # a point is missed where every round of it lies above
KINDS = {"all": "all matches", "best": "best 5", "static": "best 5 by static score"}
SIZES = {"one": "one event", "64": "64 events", "512": "512 events"}


def is_missed(case: dict[str, Any]) -> bool:
    """Whether another structure was faster in every round."""
    return bool(case["low"] > LEVEL)


def shown(case: dict[str, Any]) -> str:
    """The ratio with its spread, and what it is a ratio to."""
    ratio = f"{case['ratio']:.2f} ({case['low']:.2f} to {case['high']:.2f}) {case['best']}"
    if "best" in case and case["best"] not in case["us"]:
        ratio = f"{case['ratio']:.2f} {case['best']}"
    return f"**{ratio}**" if is_missed(case) else ratio


def page(document: dict[str, Any]) -> str:
    """Return the page as Markdown."""
    return "\n".join(_lines(document)) + "\n"


def _lines(document: dict[str, Any]) -> Iterator[str]:
    about, points = document["about"], document["points"]
    cases = [(point, name, case) for point in points for name, case in point["cases"].items()]
    missed = [(point, name, case) for point, name, case in cases if is_missed(case)]
    yield "# `auto` beside all others"
    yield ""
    yield (
        f"Measured on {about['processor']}, {about['cores']} cores, Python {about['python']}, numba {about['numba']}; "
        f"written by `python benchmarks/auto.py --most {document['most']}`, in parts. Rules and events are those of "
        f"the pages that are named, with at most {document['most']:,} rules per point. All structures of the "
        "repo that can hold the rules answer the same calls: of one event, of 64, of 512. They have the same "
        "statistics of other events. "
        "Each entry is the time of `auto` over that of the fastest other structure, which is named: the median of "
        "seven rounds in which all take turns, and the lowest and the highest round. Where no other took less than "
        "twice the fastest in a trial, only the trial is shown. Times are processor time of one thread, of encoded "
        "events, with answers written. Before it is timed, `auto` answers six batches of the same size, by which it "
        "learns what its roads cost. The machine may have been shared, which widens the spreads."
    )
    yield ""
    yield (
        f"Measured were {len(points)} of the {document['n_all_points']} points that the script knows. "
        f"Of {len(cases)} entries {len(missed)} are missed: every round lies above {LEVEL}. They are in bold. "
        "The structures compared everywhere are `scan`, `sparse`, `batch` and `atree`; on DNF also `dnf`, `dewey`, "
        "`interval`, `sift` and `le subscribe`, on CNF `cnf`, `pscan`, `dewey` and `interval`, on trees `dewey`, "
        "`interval` and `scan with conjunctions`, on `abe` `dnf`, `bop`, `sift` and `le subscribe`, as far as they can "
        "hold the rules. The baselines find all matches only."
    )
    yield ""
    if missed:
        yield "| missed | rules | question | `auto`, µs per event | other, µs per event | ratio |"
        yield "| --- | --: | --- | --: | --: | --: |"
        for point, name, case in missed:
            its = case["us"].get(case["best"], case["trial_us"][case["best"]])
            yield (
                f"| {point['page']}: {point['name']} | {point['n_rules']:,} | {_question(name)} "
                f"| {number(case['us']['auto'])} | {number(its)} | {shown(case)} |"
            )
        yield ""
    for kind, title in KINDS.items():
        here = [point for point in points if f"{kind}, one" in point["cases"]]
        if not here:
            continue
        yield f"## {title[0].upper()}{title[1:]}"
        yield ""
        yield f"| rules | number | matches per event | {' | '.join(SIZES.values())} | `auto`, µs per event |"
        yield f"| --- | --: | --: |{' --- |' * len(SIZES)} --: |"
        for point in here:
            mine = [point["cases"][f"{kind}, {size}"] for size in SIZES]
            entries = " | ".join(shown(case) for case in mine)
            us = ", ".join(number(case["us"]["auto"]) for case in mine)
            label = f"{point['page']}: {point['name']}"
            yield f"| {label} | {point['n_rules']:,} | {number(point['matches'])} | {entries} | {us} |"
        yield ""


def _question(name: str) -> str:
    kind, _, size = name.partition(", ")
    return f"{KINDS[kind]}, {SIZES[size]}"
