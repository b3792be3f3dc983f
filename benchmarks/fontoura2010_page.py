"""The page on fontoura2010 that people read, from the measurements of one run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from core_page import number, ranged, table
from fontoura2010_goals import all_goals
from papers_page import (
    Line,
    algorithms_of,
    bytes_per_rule,
    exponent,
    faster,
    milliseconds,
    orders,
    plot,
    ratio,
    run_facts,
    times_table,
    us,
    work_table,
)

PAPER_MEGABYTES = {
    "1": ("9.5", "55", "373", "364"),
    "2": ("18", "501", "854", "836"),
    "3": ("35", "–", "–", "–"),
    "4": ("70", "–", "–", "–"),
}
PAPER_SCAN = {"1": 364, "2": 836}
PAPER_SELECTIVITY = {"1": 0.2285, "2": 0.5797, "3": 0.1097, "4": 0.4923}
PAPER_NUMBERS = ("1.1", "2.0", "4.7", "9.1", "14")
BYTES_PER_LITERAL = 4
LABELS = ("dewey", "interval")


class Figures:
    """The lines of each figure."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.depths = [Line(int(depth), depth, point) for depth, point in document["depths"].items()]
        self.numbers = [Line(int(n), f"{int(n):,}", point) for n, point in document["numbers"].items()]
        self.selectivities = [
            Line(point["matching"], f"{float(part):.0%}", point) for part, point in document["selectivities"].items()
        ]


def evaluation(lines: Sequence[Line]) -> list[Line]:
    """The same points with the times of the evaluators of labels alone."""
    found = []
    for line in lines:
        times = {name: {"us": line.point["algorithms"][name]["evaluation_us"]} for name in LABELS}
        found.append(line._replace(point={**line.point, "algorithms": times}))
    return found


def page(document: dict[str, Any], folder: Path) -> str:
    """Goals first, then every table and figure of the paper; plots go into the folder."""
    figures = Figures(document)
    lines = [
        "# fontoura2010: Efficiently Evaluating Complex Boolean Expressions",
        "",
        run_facts(document, "fontoura2010.py"),
        "",
        f"The rules and events are `exchange` (Section 5.1), {document['n_rules']:,} rules of each depth, all leaves "
        "at that depth; the contracts' own statistics were not published, `src/ruledex/workloads/exchange.py` says "
        "what stands for them. `scan with conjunctions` and `dnf translation` are baselines of "
        "`benchmarks/baselines/`. `sparse` and `auto` are no part of the paper; they share "
        "subexpressions, which the paper names as future work.",
        "",
        "## Goals",
        "",
        *table(
            ("goal", "measured", ""),
            (
                (goal.text, goal.measured, goal.verdict)
                for goal in all_goals(
                    figures.depths,
                    evaluation(figures.depths),
                    figures.numbers,
                    evaluation(figures.numbers),
                    evaluation(figures.selectivities),
                )
            ),
            3,
        ),
        *_memory(figures),
        *_translation(figures),
        *_selectivities(figures),
        *_all_algorithms(figures, folder),
        *_depths(figures, folder),
        *_numbers(figures, folder),
        *_selectivity(figures, folder),
        "## Work, memory and building",
        "",
        *work_table([line._replace(label=f"depth {line.label}") for line in figures.depths]),
        "What each part of the run took, in seconds: "
        + ", ".join(f"{name} {took:.0f}" for name, took in document["seconds"].items())
        + ".",
    ]
    return "\n".join(lines).rstrip() + "\n"


def _megabytes(line: Line, algorithm: str) -> str:
    facts = line.point["algorithms"].get(algorithm)
    return number(facts["bytes"] / 1e6) if facts else "–"


def _memory(figures: Figures) -> Iterator[str]:
    yield "## Table 2: memory by depth, in MB"
    yield ""
    columns = ("dewey", "interval", "dnf translation", "scan with conjunctions", "scan")
    yield from table(
        (
            "depth",
            "paper: Dewey and Interval",
            "paper: DNF",
            "paper: scan with conjunctions",
            "paper: scan",
            *(f"`{name}`" for name in columns),
        ),
        (
            (line.label, *PAPER_MEGABYTES[line.label], *(_megabytes(line, name) for name in columns))
            for line in figures.depths
        ),
    )
    low, high = figures.depths[0], figures.depths[-1]
    grown = bytes_per_rule(high.point, "interval") / bytes_per_rule(low.point, "interval")
    leaves = [line.point["algorithms"]["interval"]["made_of"]["n_leaves"] for line in (low, high)]
    shares = [line.point["algorithms"]["scan"]["bytes"] / 1e6 / PAPER_SCAN[line.label] for line in figures.depths[:2]]
    yield (
        f"From depth {low.label} to {high.label} the paper's index grows 7.4 times, that of `interval` {grown:.1f} "
        f"times, and the leaves of the trees here {leaves[1] / leaves[0]:.1f} times: a leaf has an annotation and a "
        "label of its own. What is counted for `scan` are the nodes of a Program, where each distinct subexpression "
        f"stands once: {' and '.join(f'{share:.1%}' for share in shares)} of the paper's trees at depths 1 and 2."
    )
    yield ""


def _translation(figures: Figures) -> Iterator[str]:
    yield "## Figure 7: the DNF of a tree"
    yield ""
    yield (
        "**The paper:** the size of a DNF-expanded expression grows exponentially with depth, so that depths past 2 "
        "could not be evaluated (20 expressions of each depth)."
    )
    yield ""
    yield from table(
        ("depth", "conjunctions", "literals", "KB", "literals, median", "literals, largest"),
        (
            (
                line.label,
                *(f"{line.point['translated'][name]:,.0f}" for name in ("conjunctions", "literals")),
                number(line.point["translated"]["literals"] * BYTES_PER_LITERAL / 1e3),
                *(f"{line.point['translated'][name]:,.0f}" for name in ("median_literals", "largest")),
            )
            for line in figures.depths
        ),
    )
    left_out = [line.label for line in figures.depths if "dnf translation" not in line.point["algorithms"]]
    steps = [
        after.point["translated"]["literals"] / before.point["translated"]["literals"]
        for before, after in zip(figures.depths, figures.depths[1:], strict=False)
    ]
    grown = ", ".join(f"{step:,.0f}" for step in steps)
    where = " and ".join(left_out)
    yield (
        f"**Here:** averages over all rules, before conjunctions are struck out, at {BYTES_PER_LITERAL} bytes "
        f"per literal. From depth to depth the average grows {grown} times. "
        + (f"`dnf translation` is left out at depth {where}, the paper's at 3 and 4." if left_out else "")
    )
    yield ""


def _selectivities(figures: Figures) -> Iterator[str]:
    yield "## Table 3: selectivity by depth"
    yield ""
    yield from table(
        ("depth", "paper", "here"),
        (
            (line.label, f"{PAPER_SELECTIVITY[line.label]:.2%}", f"{line.point['matching']:.2%}")
            for line in figures.depths
        ),
    )


def _all_algorithms(figures: Figures, folder: Path) -> Iterator[str]:
    lines = figures.depths
    yield "## Figures 8 and 9: all algorithms by depth"
    yield ""
    yield (
        "**The paper:** Scan and Scan with conjunction match are orders of magnitude slower than the others; DNF is as "
        "good as Dewey and Interval at depth 1 and does not scale to depth 2."
    )
    yield ""
    yield from times_table("depth", lines)
    translated = [line for line in lines if "dnf translation" in line.point["algorithms"]]
    yield from table(
        ("depth", "`dnf translation`, ms", "`interval`, ms", "bytes per rule of each"),
        (
            (
                line.label,
                ranged(milliseconds(line.point["algorithms"]["dnf translation"]["us"])),
                ranged(milliseconds(line.point["algorithms"]["interval"]["us"])),
                " and ".join(number(bytes_per_rule(line.point, name)) for name in ("dnf translation", "interval")),
            )
            for line in translated
        ),
    )
    yield plot(folder / "fontoura2010.figure8.png", "all algorithms", "depth", lines, algorithms_of(lines))
    yield ""
    scan = [ratio(line.point, "scan", "interval") for line in lines]
    conjunctions = [ratio(line.point, "scan with conjunctions", "interval") for line in lines]
    evaluated = [
        line.point["algorithms"]["scan with conjunctions"]["work"]["trees evaluated"] / line.point["n_rules"]
        for line in lines
    ]
    low, high = (us(line.point, "scan") * 1e3 / line.point["n_rules"] for line in (lines[0], lines[-1]))
    yield (
        f"**Here:** {faster(scan, '`interval`', '`scan`')}: {orders(scan)}; "
        f"{faster(conjunctions, '`interval`', 'scan with conjunctions')}: {orders(conjunctions)}. `scan` walks arrays "
        f"and leaves a tree at the first child that decides it ({low:.0f} ns per rule at depth {lines[0].label}, "
        f"{high:.0f} ns at depth {lines[-1].label}), and of all trees {min(evaluated):.0%} to {max(evaluated):.0%} "
        "have a true conjunction and cannot be left out."
    )
    yield ""


def _stages(lines: Sequence[Line], axis: str) -> Iterator[str]:
    yield from table(
        (
            axis,
            *(f"`{name}` {what}, ms" for what in ("in all", "evaluation") for name in LABELS),
            "index, sorting, writing: part of `interval`",
        ),
        (
            (
                line.label,
                *(ranged(milliseconds(line.point["algorithms"][name]["us"])) for name in LABELS),
                *(ranged(milliseconds(line.point["algorithms"][name]["evaluation_us"])) for name in LABELS),
                f"{1 - us(alone.point, 'interval') / us(line.point, 'interval'):.0%}",
            )
            for line, alone in zip(lines, evaluation(lines), strict=True)
        ),
    )


def _evaluators(lines: Sequence[Line], what: str) -> str:
    alone = evaluation(lines)
    ratios = [ratio(line.point, "dewey", "interval") for line in alone]
    powers = ", ".join(f"{name} {exponent(alone, name):.2f}" for name in LABELS)
    return (
        f"{faster(ratios, 'the evaluator of `interval`', 'that of `dewey`')}; with {what} their times grow by the "
        f"powers {powers}."
    )


def _depths(figures: Figures, folder: Path) -> Iterator[str]:
    lines = figures.depths
    yield "## Figures 10 and 11: Dewey and Interval by depth"
    yield ""
    yield "**The paper:** Interval scales better with depth than Dewey."
    yield ""
    yield from _stages(lines, "depth")
    yield plot(folder / "fontoura2010.figure10.png", "in all", "depth", lines, LABELS)
    yield plot(folder / "fontoura2010.figure11.png", "evaluation alone", "depth", evaluation(lines), LABELS)
    yield ""
    yield f"**Here:** {_evaluators(lines, 'the depth')} The leaves of a tree grow with the depth as well."
    yield ""


def _numbers(figures: Figures, folder: Path) -> Iterator[str]:
    lines = figures.numbers
    yield "## Table 4, Figures 12 and 13: number of expressions, depth 2"
    yield ""
    yield (
        "**The paper:** memory grows linearly with the number of expressions, 91 bytes each; so do the times, those of "
        "Interval more slowly than Dewey's."
    )
    yield ""
    yield from table(
        (
            "rules",
            "paper, MB",
            *(f"`{name}`, MB" for name in LABELS),
            *(f"`{name}`, bytes per rule" for name in LABELS),
        ),
        (
            (
                line.label,
                paper,
                *(_megabytes(line, name) for name in LABELS),
                *(number(bytes_per_rule(line.point, name)) for name in LABELS),
            )
            for line, paper in zip(lines, PAPER_NUMBERS, strict=True)
        ),
    )
    yield from times_table("rules", lines)
    yield from _stages(lines, "rules")
    yield plot(folder / "fontoura2010.figure12.png", "in all, depth 2", "rules", lines, LABELS)
    yield plot(folder / "fontoura2010.figure13.png", "evaluation alone, depth 2", "rules", evaluation(lines), LABELS)
    yield ""
    yield f"**Here:** {_evaluators(lines, 'the number of rules')}"
    yield ""


def _selectivity(figures: Figures, folder: Path) -> Iterator[str]:
    lines = figures.selectivities
    yield "## Figure 14: selectivity, depth 3"
    yield ""
    yield "**The paper:** the evaluation of both scales linearly with the part of the expressions that match."
    yield ""
    yield from times_table("rules as drawn", lines)
    yield from _stages(lines, "rules as drawn")
    yield plot(folder / "fontoura2010.figure14.png", "evaluation alone, depth 3", "matching", evaluation(lines), LABELS)
    yield ""
    evaluated = [line.point["algorithms"]["scan with conjunctions"]["work"]["trees evaluated"] for line in lines]
    low, high = (n / line.point["n_rules"] for n, line in ((evaluated[0], lines[0]), (evaluated[-1], lines[-1])))
    yield (
        f"**Here:** {lines[0].point['n_rules']:,} rules each time, those that were drawn mixed with rules that match "
        f"none of the events: {_evaluators(lines, 'the match probability')} What is evaluated are trees with a true "
        f"conjunction, and rules that never match have those as well: {low:.0%} of the trees where "
        f"{lines[0].point['matching']:.1%} match, {high:.0%} where {lines[-1].point['matching']:.1%} do."
    )
    yield ""
