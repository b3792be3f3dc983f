"""What the engines `dewey` and `interval` are held to on fontoura2010's rules, against the measurements of one run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core_goals import Goal, extremes
from papers_page import Line, bytes_per_rule, exponent, ratio, us

PAPER_BYTES = 91  # at depth 2: 9.1 MB for 100,000 expressions (Table 4)
LABELS = ("dewey", "interval")


def interval_first(line: Line, alone: Line) -> Goal:
    """At least as fast as Dewey."""
    share, evaluation = (1 / ratio(point, "dewey", "interval") for point in (line.point, alone.point))
    times = line.point["algorithms"]
    return Goal(
        f"`interval` at least as fast as `dewey` at depth {line.label}",
        f"{share:.2f} of the time ({us(line.point, 'interval'):,.0f} against {us(line.point, 'dewey'):,.0f} µs per "
        f"event), {evaluation:.2f} of it for the evaluation alone",
        share <= 1,
        "both have the same index; what differs besides the evaluation was not measured apart",
        extremes(times["interval"]["us"], times["dewey"]["us"], 1.0),
    )


def memory(line: Line, algorithm: str) -> Goal:
    """Within twice the paper's bytes an expression."""
    found = bytes_per_rule(line.point, algorithm)
    made = line.point["algorithms"][algorithm]["made_of"]
    leaves, conjunctions = (made[name] / line.point["n_rules"] for name in ("n_leaves", "n_conjunctions"))
    return Goal(
        f"`{algorithm}` at depth 2 within twice the paper's {PAPER_BYTES} bytes an expression",
        f"{found:.0f} at {line.label} rules",
        found <= 2 * PAPER_BYTES,
        f"{leaves:.1f} leaves and {conjunctions:.1f} distinct conjunctions an expression",
    )


def proportion(lines: Sequence[Line], algorithm: str, what: str) -> Goal:
    """No faster than in proportion."""
    power = exponent(lines, algorithm)
    return Goal(
        f"the evaluation of `{algorithm}` grows with {what} no faster than in proportion",
        f"power {power:.2f}",
        power <= 1.1,
        "what an expression costs besides its true leaves was not measured apart",
    )


def depth_growth(lines: Sequence[Line]) -> Goal:
    """The paper's Figure 11: Interval's evaluation grows less with depth than Dewey's."""
    low, high = lines[0].point, lines[-1].point
    grown = {name: us(high, name) / us(low, name) for name in LABELS}
    return Goal(
        "the evaluation of `interval` grows less with depth than that of `dewey`",
        f"{grown['interval']:.1f} against {grown['dewey']:.1f} times from depth {lines[0].label} to {lines[-1].label}",
        grown["interval"] <= grown["dewey"],
        "an ID of one byte a level costs little more at depth 4 than at depth 1",
    )


def all_goals(
    depths: Sequence[Line],
    depths_alone: Sequence[Line],
    numbers: Sequence[Line],
    numbers_alone: Sequence[Line],
    selectivities_alone: Sequence[Line],
) -> Iterator[Goal]:
    """In the order of the page. That all engines beat `scan` at a million rules is on the page of whang2009."""
    for line, alone in zip(depths, depths_alone, strict=True):
        yield interval_first(line, alone)
    for algorithm in LABELS:
        yield memory(numbers[-1], algorithm)
    yield depth_growth(depths_alone)
    for algorithm in LABELS:
        yield proportion(numbers_alone, algorithm, "the number of expressions")
        yield proportion(selectivities_alone, algorithm, "the match probability")
