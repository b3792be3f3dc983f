"""What the engines `dnf` and `cnf` are held to on whang2009's rules, each goal against the measurements of one run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core_goals import Goal, extremes
from core_page import number
from papers_page import Line, Point, bytes_per_rule, exponent, growth, ratio, us

TIMES_SCAN = 20
PAPER_BYTES = {"dnf": 35, "cnf": 91}


def against_scan(point: Point, algorithm: str, what: str) -> Goal:
    """Many times as fast as `scan` where little matches."""
    times = point["algorithms"]
    return Goal(
        f"`{algorithm}` at least {TIMES_SCAN} times `scan` on {point['n_rules']:,} {what}, 1% matching",
        f"{ratio(point, 'scan', algorithm):.1f} times ({us(point, algorithm):,.0f} against {us(point, 'scan'):,.0f} µs "
        f"per event, {point['matching']:.2%} matching)",
        ratio(point, "scan", algorithm) >= TIMES_SCAN,
        f"an event matches {point['matching'] * point['n_rules']:,.0f} rules, so that this is "
        f"{us(point, algorithm) * 1e3 / max(point['matching'] * point['n_rules'], 1):,.0f} ns for each; "
        f"`scan` takes {us(point, 'scan') * 1e3 / point['n_rules']:,.0f} ns per rule",
        extremes(times[algorithm]["us"], times["scan"]["us"], 1 / TIMES_SCAN),
    )


def memory(point: Point, algorithm: str) -> Goal:
    """Within twice the paper's bytes an expression."""
    made, paper = point["algorithms"][algorithm]["made_of"], PAPER_BYTES[algorithm]
    return Goal(
        f"`{algorithm}` within twice the paper's {paper} bytes an expression",
        f"{bytes_per_rule(point, algorithm):.0f}",
        bytes_per_rule(point, algorithm) <= 2 * paper,
        f"{made['n_entries'] / point['n_rules']:.1f} entries of 4 bytes an expression, in {made['n_lists']:,} lists",
    )


def against_size(lines: Sequence[Line], algorithm: str) -> Goal:
    """In proportion to the number of rules, or less."""
    power = exponent(lines, algorithm)
    return Goal(
        f"`{algorithm}` grows with the number of expressions no faster than in proportion",
        f"{growth(lines, algorithm):.2f} times the time for {lines[-1].at / lines[0].at:.0f} times the rules "
        f"(power {power:.2f})",
        power <= 1.1,
        "the index outgrows the processor's caches; what that costs was not measured apart",
    )


def against_matching(lines: Sequence[Line]) -> Goal:
    """The paper: a sub-linear increase with the probability of a match."""
    power = exponent(lines, "dnf")
    return Goal(
        "`dnf` grows with the match probability slower than in proportion",
        f"{growth(lines, 'dnf'):.1f} times the time for {lines[-1].at / lines[0].at:.1f} times the matches "
        f"(power {power:.2f})",
        power < 1,
        "with fewer months more conjunctions must be looked at that then fail on another predicate",
    )


def against_dimension(lines: Sequence[Line]) -> Goal:
    """The paper: faster where there are fewer attributes to choose from."""
    low, high = lines[0], lines[-1]
    share = us(low.point, "dnf") / us(high.point, "dnf")
    indexed = [line.point["algorithms"]["dnf"]["made_of"]["n_indexed"] for line in (low, high)]
    return Goal(
        "`dnf` is faster on rules of fewer attributes",
        f"{share:.2f} of the time at {low.label} attributes ({indexed[0]:,} conjunctions) of that at {high.label} "
        f"({indexed[1]:,})",
        share < 1,
        f"{low.point['matching']:.1%} of the rules match instead of {high.point['matching']:.1%}, since logs have the "
        f"attributes that are left more often: an event leads to {_work(low, 'entries noted'):,.0f} entries instead of "
        f"{_work(high, 'entries noted'):,.0f}, and marks {_work(low, 'rules marked'):,.0f} rules instead of "
        f"{_work(high, 'rules marked'):,.0f}",
    )


def _work(line: Line, what: str) -> float:
    """What an event makes `dnf` touch."""
    return float(line.point["algorithms"]["dnf"]["work"].get(what, 0))


def against_expression(lines: Sequence[Line]) -> Goal:
    """The paper: 1.9 times the time for 2.19 times the conjunctions of a rule."""
    longer = lines[-1].at / lines[0].at
    found = growth(lines, "dnf")
    return Goal(
        "`dnf` grows with the size of expressions no faster than in proportion",
        f"{found:.2f} times the time for {longer:.2f} times the conjunctions per rule",
        found <= 1.1 * longer,
        f"{number(100 * lines[-1].point['matching'])}% of the rules match instead of "
        f"{number(100 * lines[0].point['matching'])}%",
    )


def ranking(lines: Sequence[Line], algorithm: str) -> Goal:
    """The paper: the best five are found faster than all where many match."""
    line = lines[-1]
    share = us(line.point, f"{algorithm}, top 5") / us(line.point, algorithm)
    return Goal(
        f"`{algorithm}` finds the best 5 faster than all where most match",
        f"{share:.2f} of the time at {line.point['matching']:.1%} matching",
        share < 1,
        "what bounds cost and what they save was not measured apart",
        extremes(line.point["algorithms"][f"{algorithm}, top 5"]["us"], line.point["algorithms"][algorithm]["us"], 1.0),
    )


def all_goals(
    dnf_selective: Point,
    cnf_selective: Point,
    sizes: Sequence[Line],
    cnf_sizes: Sequence[Line],
    selectivity: Sequence[Line],
    dimension: Sequence[Line],
    expression: Sequence[Line],
    rankings: dict[str, Sequence[Line]],
) -> Iterator[Goal]:
    """In the order of the page."""
    for algorithm in ("dnf", "dewey", "interval"):
        yield against_scan(dnf_selective, algorithm, "DNF rules")
    for algorithm in ("cnf", "dewey", "interval"):
        yield against_scan(cnf_selective, algorithm, "CNF rules")
    yield memory(sizes[-1].point, "dnf")
    yield memory(cnf_sizes[-1].point, "cnf")
    yield against_size(sizes, "dnf")
    yield against_size(cnf_sizes, "cnf")
    yield against_matching(selectivity)
    yield against_dimension(dimension)
    yield against_expression(expression)
    for algorithm, lines in rankings.items():
        yield ranking(lines, algorithm)
