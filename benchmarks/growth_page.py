"""docs/benchmarks/growth.md: the time of one event by the number of rules, from the measurements."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from core_page import number, ranged, table

Row = dict[str, Any]

TOUCHED = ("AND edges followed", "children looked at", "nodes true", "words cleared")


def per_match(row: Row) -> float:
    """Return microseconds per match. An event without a match counts as one."""
    return float(row["us"]["with"]["median"] / max(row["matches"], 1.0))


def by_rate(document: dict[str, Any]) -> dict[str, list[Row]]:
    """Return the rows of each match rate, by the number of rules."""
    found: dict[str, list[Row]] = {}
    for row in document["rows"]:
        found.setdefault(row["rate"], []).append(row)
    return found


def _times(document: dict[str, Any]) -> Iterator[str]:
    header = (
        "match rate",
        "rules",
        "matches",
        "µs per event",
        "without statistics",
        "µs per match",
        "512 by `batch`",
        *TOUCHED,
    )
    yield from table(
        header,
        (
            (
                row["rate"],
                f"{row['n_rules']:,}",
                number(row["matches"]),
                ranged(row["us"]["with"]),
                ranged(row["us"]["without"]),
                number(per_match(row)),
                ranged(row["us"]["batch"]),
                *(number(row["work"][name]) for name in TOUCHED),
            )
            for row in document["rows"]
        ),
    )


def _growth(document: dict[str, Any]) -> Iterator[str]:
    """Say for each rate how time, matches and what is touched grow from each size to the next."""
    for rate, rows in by_rate(document).items():
        if len(rows) < 2:
            continue
        first, last = rows[0], rows[-1]

        def times(value: float, before: float) -> str:
            return number(value / before) if before else "–"

        yield (
            f"- At {rate}, {last['n_rules'] / first['n_rules']:,.0f} times as many rules have "
            f"{times(last['matches'], first['matches'])} times as many matches and take "
            f"{times(last['us']['with']['median'], first['us']['with']['median'])} times as long, "
            f"{times(per_match(last), per_match(first))} times per match; an event follows "
            f"{times(last['work']['AND edges followed'], first['work']['AND edges followed'])} times as many edges. "
            f"Time grows as the number of rules to the power of {_exponent(first, last):.2f}."
        )
    yield ""


def _exponent(first: Row, last: Row) -> float:
    growth = last["us"]["with"]["median"] / first["us"]["with"]["median"]
    return math.log(growth) / math.log(last["n_rules"] / first["n_rules"])


def _memory(document: dict[str, Any]) -> Iterator[str]:
    yield from table(
        ("match rate", "rules", "bytes per rule", "rules drawn and read, s", "`sparse`, s"),
        (
            (
                row["rate"],
                f"{row['n_rules']:,}",
                number(row["n_bytes"] / row["n_rules"]),
                number(row["draw_seconds"]),
                number(row["engine_seconds"]),
            )
            for row in document["rows"]
        ),
    )


def page(document: dict[str, Any]) -> str:
    """Return the page."""
    about = document.get("about", {})
    lines = [
        "# Growth",
        "",
        "Does the time of one event follow the rules that are true of it, or the rules that there are? Rules are DNFs "
        "of whang2009's contracts with more predicates per conjunction than there, so that few match. Events have 91 "
        "keys, and are encoded. `sparse` answers them one by one on one thread; beside it, µs per event of `batch`, "
        "which counts the matches of 512 at once.",
        "",
    ]
    if not document["rows"]:
        return "\n".join([*lines, "*No measurements yet: `python benchmarks/growth.py` fills them in.*", ""])
    lines += [
        f"Measured on {about['processor']}, {about['cores']} cores that other work shared (load {about['load']}), "
        f"Python {about['python']}, Numba {about['numba']}; written by `python benchmarks/growth.py`. Times are the "
        "processor's: medians of seven rounds, with the fastest and the slowest.",
        "",
        *_times(document),
        *_growth(document),
        "What grows is the number of edges to conjunctions of which only the access condition is true. So time follows "
        "neither the rules nor, as was the goal, matches and logarithms alone: it lies between them.",
        "",
        "## Memory and building",
        "",
        "The bytes of the Program and of `sparse`, and the processor time of both steps. Drawing the rules is part of "
        "the first.",
        "",
        *_memory(document),
    ]
    return "\n".join(lines).rstrip() + "\n"
