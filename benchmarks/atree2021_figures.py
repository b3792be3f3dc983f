"""Tables and plots of a-tree2021's sweeps: an algorithm that gave up at a point is left out there, not everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from core_page import number, ranged, table
from papers_page import Line, milliseconds, plt

MARKS = "osv^Dxp*<>"


class Measure(NamedTuple):
    """What is drawn of an algorithm at a point."""

    title: str
    unit: str
    of: Callable[[dict[str, Any], int], float]


MEASURES = (
    Measure("memory", "bytes per rule", lambda facts, n_rules: facts["bytes"] / n_rules),
    Measure("matching", "ms per event", lambda facts, _: facts["us"]["median"] / 1e3),
    Measure("construction", "µs per rule", lambda facts, n_rules: facts["build_seconds"] * 1e6 / n_rules),
)


def names_of(lines: Sequence[Line]) -> list[str]:
    """All algorithms that some point has, in their order."""
    names: dict[str, None] = {}
    for line in lines:
        names.update(dict.fromkeys(line.point["algorithms"]))
    return list(names)


def cell(line: Line, name: str, show: Callable[[dict[str, Any]], str]) -> str:
    """What is shown of an algorithm at a point, if it is there."""
    facts = line.point["algorithms"].get(name)
    return "–" if facts is None else show(facts)


def times(axis: str, lines: Sequence[Line]) -> Iterator[str]:
    """Milliseconds of one event."""
    names = names_of(lines)
    yield from table(
        (axis, "matching", *(f"{name}, ms" for name in names)),
        (
            (
                line.label,
                f"{line.point['matching']:.2%}" if "matching" in line.point else "–",
                *(cell(line, name, lambda facts: ranged(milliseconds(facts["us"]))) for name in names),
            )
            for line in lines
        ),
    )


def memory_and_building(axis: str, lines: Sequence[Line]) -> Iterator[str]:
    """Bytes a rule and seconds of the build, both in one cell."""
    names = names_of(lines)

    def show(line: Line, name: str) -> str:
        n_rules = line.point["n_rules"]
        return cell(line, name, lambda facts: f"{number(facts['bytes'] / n_rules)} / {number(facts['build_seconds'])}")

    yield from table(
        (axis, *(f"{name}, bytes per rule / s" for name in names)),
        ((line.label, *(show(line, name) for name in names)) for line in lines),
    )


def work(lines: Sequence[Line]) -> Iterator[str]:
    """What an event makes each algorithm touch, or what it is made of where it does not count that."""
    rows = []
    for line in lines:
        for name, facts in line.point["algorithms"].items():
            touched = ", ".join(f"{value:,.0f} {what}" for what, value in facts.get("work", {}).items())
            made = ", ".join(
                f"{n:,} {what.removeprefix('n_').replace('_', ' ')}" for what, n in facts["made_of"].items()
            )
            rows.append((line.label, name, touched or "–", made or "–"))
    yield from table(("point", "algorithm", "an event makes it touch", "made of"), rows, 4)


def given_up(lines: Sequence[Line]) -> Iterator[str]:
    """Where an algorithm was left out, and why."""
    found = [
        f"`{name}` at {line.label}: {reason}"
        for line in lines
        for name, reason in line.point.get("given_up", {}).items()
    ]
    if found:
        yield "Given up: " + "; ".join(found) + "."
        yield ""


def plot(path: Path, axis: str, lines: Sequence[Line], log_x: bool) -> str:
    """Memory, matching and construction side by side; the Markdown that shows them."""
    figure, panels = plt.subplots(1, len(MEASURES), figsize=(14, 4.2), layout="constrained")
    for panel, measure in zip(panels, MEASURES, strict=True):
        for name, mark in zip(names_of(lines), MARKS, strict=False):
            there = [line for line in lines if name in line.point["algorithms"]]
            values = [measure.of(line.point["algorithms"][name], line.point["n_rules"]) for line in there]
            # A logarithmic axis has no 0, which is what a build of nothing takes.
            shown = [(line.at, value) for line, value in zip(there, values, strict=True) if value > 0]
            if shown:
                panel.plot(*zip(*shown, strict=True), marker=mark, label=name)
        panel.set(xlabel=axis, ylabel=measure.unit, title=measure.title, yscale="log")
        panel.set_xscale("log" if log_x else "linear")
        panel.grid(True, which="major", alpha=0.3)
    figure.legend(*panels[1].get_legend_handles_labels(), fontsize=8, loc="outside right upper")
    figure.savefig(path, dpi=90)
    plt.close(figure)
    return f"![{axis}]({path.name})"
