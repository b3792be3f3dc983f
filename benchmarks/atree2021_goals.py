"""What the engine `atree` is held to on a-tree2021's rules, each goal against the measurements of one run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from core_goals import Goal, extremes
from papers_page import Point, us

MOST_MS = 3.0
BASELINES = ("bdd", "dnf translation", "bop", "interval", "dewey", "scan")  # those of the paper's Table 4


def absolute(point: Point) -> Goal:
    """One event at the largest size."""
    times = point["algorithms"]["atree"]["us"]
    n_matches = point["matching"] * point["n_rules"]
    return Goal(
        f"`atree` p50 of one event at {point['n_rules']:,} rules below {MOST_MS:g} ms",
        f"{times['median'] / 1e3:.2f} ms",
        times["median"] < MOST_MS * 1e3,
        f"an event matches {n_matches:,.0f} rules: {times['median'] * 1e3 / n_matches:,.0f} ns for each",
        (times["low"] / 1e3, times["high"] / 1e3, MOST_MS),
    )


def against_baselines(point: Point) -> Goal:
    """Below each of the paper's other algorithms that could be built."""
    found = {name: us(point, name) for name in BASELINES if name in point["algorithms"]}
    next_best = min(found, key=found.__getitem__)
    given_up = [f"`{name}` ({reason})" for name, reason in point["given_up"].items()]
    return Goal(
        f"`atree` at {point['n_rules']:,} rules below every baseline",
        f"{us(point, 'atree') / found[next_best]:.2f} of `{next_best}`, the next best"
        + (f"; not built: {', '.join(given_up)}" if given_up else ""),
        us(point, "atree") < found[next_best],
        "what an event touches of each is in the tables of work",
        extremes(point["algorithms"]["atree"]["us"], point["algorithms"][next_best]["us"], 1.0),
    )


def auto_first(point: Point) -> Goal:
    """The default is faster than the engine that can be changed."""
    times = point["algorithms"]
    return Goal(
        f"`auto` at {point['n_rules']:,} rules below `atree`",
        f"{us(point, 'auto') / us(point, 'atree'):.2f} of it ({us(point, 'auto'):,.0f} against "
        f"{us(point, 'atree'):,.0f} µs)",
        us(point, "auto") < us(point, "atree"),
        "for one event `auto` is `sparse`, which is laid out for reading alone",
        extremes(times["auto"]["us"], times["atree"]["us"], 1.0),
    )


def rate(what: str, found: dict[str, float], least: float) -> Goal:
    """The lowest of several rates per second."""
    lowest = min(found.values())
    return Goal(
        f"at least {least:,.0f} {what} a second in bulk",
        ", ".join(f"{name.replace('_', ' ')}: {value:,.0f}" for name, value in found.items()),
        lowest >= least,
        f"the lowest is {lowest / least:.0%} of it",
    )


def below(what: str, found_us: float, most_us: float, beside: str = "") -> Goal:
    """A time."""
    return Goal(
        f"{what} under {most_us:,.0f} µs p50",
        f"{found_us:,.1f} µs{beside}",
        found_us < most_us,
        f"{found_us / most_us:.1f} times that",
    )


def update_goals(found: dict[str, Any]) -> Iterator[Goal]:
    """Those of changes, on a tree and on an index of so many rules."""
    where = f"at {found['n_rules']:,} rules"
    rates = found["bulk"]["rules_per_second"]
    yield rate(f"insertions {where}", {name: rates[name] for name in ("load_all", "insert_a_tenth")}, 50_000)
    yield rate(f"deletions {where}", {name: rates[name] for name in ("delete_a_tenth", "delete_half")}, 100_000)
    alone, live = found["bulk"]["one_by_one"], found["single"]
    for name, of_live, what in (("insert", "insert_encoded", "insertion"), ("delete", "delete", "deletion")):
        yield below(f"a single {what} {where}, without parsing and journal,", alone[name]["cpu_p50_us"], 100)
        time = live[of_live]["cpu_p50_us"]
        yield below("the same in a `LiveTree`, which makes it twice so that readers do not wait,", time, 100)
    index = found["index"]
    flush = f" (a bare write and fsync: {index['bare_flush']['wall_p50_us']:,.0f})"
    for name in ("add", "update", "remove", "set_score"):
        time = index["journalled"][name]["wall_p50_us"]
        yield below(f"`Index.{name}` of one rule {where}, with parsing, journal and fsync,", time, 2000, flush)


def all_goals(parts: dict[str, Any]) -> Iterator[Goal]:
    """In the order of the page; those of what was not measured are left out."""
    if "figure12a" in parts:
        largest = list(parts["figure12a"].values())[-1]
        yield absolute(largest)
        yield against_baselines(largest)
        yield auto_first(largest)
    if "updates" in parts:
        yield from update_goals(parts["updates"])
