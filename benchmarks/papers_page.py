"""What the papers' pages are made of: tables of points, plots of lines, and sentences that follow from numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np

mpl.use("Agg")

import matplotlib.pyplot as plt  # the backend is chosen first: there may be no screen

from core_page import number, ranged, table

Point = dict[str, Any]


class Line(NamedTuple):
    """A point and where it stands on the axis of a figure."""

    at: float
    label: str
    point: Point


def us(point: Point, algorithm: str) -> float:
    """Microseconds per event, the median of the rounds."""
    return float(point["algorithms"][algorithm]["us"]["median"])


def ratio(point: Point, slower: str, faster: str) -> float:
    """How many times as long one takes as the other."""
    return us(point, slower) / us(point, faster)


def bytes_per_rule(point: Point, algorithm: str) -> float:
    """Of the algorithm's own arrays."""
    return float(point["algorithms"][algorithm]["bytes"] / point["n_rules"])


def algorithms_of(lines: Sequence[Line]) -> list[str]:
    """Those that all points have."""
    return [name for name in lines[0].point["algorithms"] if all(name in line.point["algorithms"] for line in lines)]


def times_table(axis: str, lines: Sequence[Line]) -> Iterator[str]:
    """Milliseconds an event: a row a point, a column an algorithm."""
    names = algorithms_of(lines)
    yield from table(
        (axis, "matching", *(f"{name}, ms" for name in names)),
        (
            (
                line.label,
                f"{line.point['matching']:.2%}",
                *(ranged(milliseconds(line.point["algorithms"][name]["us"])) for name in names),
            )
            for line in lines
        ),
    )


def milliseconds(times: Mapping[str, float]) -> dict[str, float]:
    """A spread of microseconds, in milliseconds."""
    return {name: value if name == "rounds" else value / 1e3 for name, value in times.items()}


def work_table(lines: Sequence[Line]) -> Iterator[str]:
    """What an event makes each algorithm touch, where it can be told."""
    yield from table(
        ("point", "algorithm", "made of", "an event makes it touch", "bytes per rule", "build, s"),
        (
            (
                line.label,
                name,
                ", ".join(f"{n:,} {what.removeprefix('n_').replace('_', ' ')}" for what, n in facts["made_of"].items())
                or "–",
                ", ".join(f"{value:,.0f} {what}" for what, value in facts["work"].items()) or "–",
                number(facts["bytes"] / line.point["n_rules"]),
                number(facts["build_seconds"]),
            )
            for line in lines
            for name, facts in line.point["algorithms"].items()
        ),
        4,
    )


def exponent(lines: Sequence[Line], algorithm: str) -> float:
    """The power of the axis with which the time grows, fitted to all points."""
    at = np.log([line.at for line in lines])
    return float(np.polyfit(at, np.log([us(line.point, algorithm) for line in lines]), 1)[0])


def growth(lines: Sequence[Line], algorithm: str) -> float:
    """The time at the last point over that at the first."""
    return us(lines[-1].point, algorithm) / us(lines[0].point, algorithm)


def span(values: Iterable[float]) -> str:
    """The least and the largest of some ratios."""
    found = list(values)
    low, high = number(min(found)), number(max(found))
    return low if low == high else f"{low} to {high}"


def plot(path: Path, title: str, axis: str, lines: Sequence[Line], names: Sequence[str], log_x: bool = False) -> str:
    """Draw the algorithms' times against the axis with the range of their rounds; the Markdown that shows it."""
    figure, axes = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
    at = [line.at for line in lines]
    for name, mark in zip(names, "osv^Dxp*<>", strict=False):
        times = [milliseconds(line.point["algorithms"][name]["us"]) for line in lines]
        middle = [time["median"] for time in times]
        reach = [
            [time["median"] - time["low"] for time in times],
            [time["high"] - time["median"] for time in times],
        ]
        axes.errorbar(at, middle, reach, marker=mark, capsize=2, label=name)
    axes.set(xlabel=axis, ylabel="ms per event", yscale="log", xscale="log" if log_x else "linear", title=title)
    axes.grid(True, which="major", alpha=0.3)
    figure.legend(fontsize=8, loc="outside right upper")
    figure.savefig(path, dpi=100)
    plt.close(figure)
    return f"![{title}]({path.name})"


def run_facts(document: Mapping[str, Any], script: str) -> str:
    """Where, with what and how a page's numbers were measured."""
    facts = document["about"]
    took = sum(document["seconds"].values())
    return (
        f"One run on {facts['processor']}, {facts['cores']} cores, Python {facts['python']}, numba {facts['numba']}, "
        f"of {took / 60:.0f} minutes; written by `python benchmarks/{script}`. Times are processor time of the one "
        "thread that matches encoded events, all matches written; medians of three rounds in which all algorithms "
        "take turns, in parentheses the fastest to the slowest round. Before they were timed, all algorithms gave the "
        "same rules for the same events. All were given the same statistics of 1,024 other events. All answer the same "
        "events but for `scan` and `scan with conjunctions`, which answer fewer of them, and `auto`, which is given "
        "512 at once, as many as it works on together. Freed memory stays with the process, so that no round pays for "
        "fresh pages."
    )


def beside(found: Sequence[float], low: float, high: float) -> str:
    """How ratios lie to those of a paper."""
    if max(found) < low:
        return "below the paper's"
    if min(found) > high:
        return "above the paper's"
    return "within the paper's" if low <= min(found) and max(found) <= high else "partly within the paper's"


def faster(ratios: Sequence[float], one: str, other: str) -> str:
    """Which of two algorithms is the faster one, by how many times as long the other takes."""
    if min(ratios) >= 1:
        return f"{one} is {span(ratios)} times as fast as {other}"
    if max(ratios) <= 1:
        return f"{one} is slower than {other}, which is {span(1 / value for value in ratios)} times as fast"
    return f"{one} is {span(ratios)} times as fast as {other}, slower at some points and faster at others"


def orders(ratios: Sequence[float]) -> str:
    """Whether ratios are orders of magnitude."""
    whole = int(np.floor(np.log10(max(min(ratios), 1e-9))))
    if whole >= 1:
        return "an order of magnitude at least" if whole == 1 else f"{whole} orders of magnitude at least"
    return "no order of magnitude" if max(ratios) < 10 else "an order of magnitude at some points"


def ns_each(point: Point, algorithm: str, what: str) -> float:
    """Nanoseconds of an algorithm's time per event for each thing that it touches."""
    return us(point, algorithm) * 1e3 / max(point["algorithms"][algorithm]["work"][what], 1)
