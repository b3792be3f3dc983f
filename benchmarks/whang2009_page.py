"""The page on whang2009 that people read, from the measurements of one run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from core_page import table
from papers_page import (
    Line,
    algorithms_of,
    beside,
    bytes_per_rule,
    exponent,
    faster,
    growth,
    ns_each,
    plot,
    ratio,
    run_facts,
    span,
    times_table,
    us,
    work_table,
)
from whang2009_experiments import CNF_MONTHS, DIMENSIONS, EXPONENTS, MONTHS, PARTS, key
from whang2009_goals import all_goals


def months_label(months: int) -> str:
    """How many months the rules and events are spread over."""
    return "1 month" if months == 1 else f"{months} months"


class Figures:
    """The lines of each figure, found by the names of the points."""

    def __init__(self, document: dict[str, Any]) -> None:
        points, rankings, n_rules = document["points"], document["rankings"], document["n_rules"]
        self.n_rules = n_rules
        default = points[key("dnf", n_rules, months=1)]
        months = [points[key("dnf", n_rules, months=m)] for m in MONTHS]
        self.selectivity = [Line(p["matching"], months_label(m), p) for m, p in zip(MONTHS, months, strict=True)]
        named = {n: points[key("dnf", n_rules, attributes=n)] for n in DIMENSIONS[1:]} | {DIMENSIONS[0]: default}
        self.dimension = [Line(n, f"{n:,}", named[n]) for n in sorted(named)]
        sized = [default if e == 2.5 else points[key("dnf", n_rules, exponent=e)] for e in EXPONENTS]
        self.expression = [Line(p["sizes"]["clauses"], f"{p['sizes']['clauses']:.2f}", p) for p in sized]
        sizes = [*(int(part * n_rules) for part in PARTS), n_rules]
        self.dnf = [Line(n, f"{n:,}", points[key("dnf", n, months=1)]) for n in sizes]
        self.cnf = [Line(n, f"{n:,}", points[key("cnf", n, months=6)]) for n in sizes]
        self.rankings: dict[str, Sequence[Line]] = {
            form: [Line(p["matching"], months_label(m), p) for m, p in found]
            for form, found in {
                "dnf": [(m, rankings[key("dnf", n_rules, months=m)]) for m in MONTHS],
                "cnf": [(m, rankings[key("cnf", int(0.4 * n_rules), months=m)]) for m in CNF_MONTHS],
            }.items()
        }
        self.selective_cnf = points[key("cnf", n_rules, selective=1)]


def page(document: dict[str, Any], folder: Path) -> str:
    """Goals first, then every table and figure of the paper; plots go into the folder."""
    figures = Figures(document)
    lines = [
        "# whang2009: Indexing Boolean Expressions",
        "",
        run_facts(document, "whang2009.py"),
        "",
        "The rules and events are `advertising` (Table 1's parameters; the contracts' own statistics were not "
        "published, `src/ruledex/workloads/advertising.py` says what stands for them). `sift` and `le subscribe` are "
        "the baselines of `benchmarks/baselines/`: they count or check distinct conjunctions, like `dnf`; with *not "
        "shared* each rule has conjunctions of its own, as the paper's versions have them. `sparse` and `auto` are no "
        "part of the paper.",
        "",
        "## Goals",
        "",
        *table(("goal", "measured", ""), _goals(figures), 3),
        *_averages(figures),
        *_construction(figures),
        *_selectivity(figures, folder),
        *_dimension(figures, folder),
        *_expression(figures, folder),
        *_dnf(figures, folder),
        *_cnf(figures, folder),
        *_ranking(figures, folder),
        "## Work, memory and building",
        "",
        *work_table(
            [
                figures.selectivity[0]._replace(label="DNF, 12 months"),
                figures.dnf[-1]._replace(label="DNF, 1 month"),
                figures.cnf[-1]._replace(label="CNF, 6 months"),
                Line(1, "CNF, selective", figures.selective_cnf),
            ]
        ),
        "What each part of the run took, in seconds: "
        + ", ".join(f"{name} {took:.0f}" for name, took in document["seconds"].items())
        + ".",
    ]
    return "\n".join(lines).rstrip() + "\n"


def _goals(figures: Figures) -> Iterator[tuple[str, ...]]:
    found = all_goals(
        figures.selectivity[0].point,
        figures.selective_cnf,
        figures.dnf,
        figures.cnf,
        figures.selectivity,
        figures.dimension,
        figures.expression,
        figures.rankings,
    )
    for goal in found:
        yield goal.text, goal.measured, goal.verdict


def _averages(figures: Figures) -> Iterator[str]:
    small, large = figures.expression[0].point["sizes"], figures.expression[-1].point["sizes"]
    default, cnf = figures.dnf[-1].point["sizes"], figures.cnf[-1].point["sizes"]
    yield "## Table 1: parameters and average values"
    yield ""
    rows = (
        ("average DNF size", "1.6 to 3.5", f"{small['clauses']:.2f} to {large['clauses']:.2f}"),
        ("average number of predicates in a conjunction", "3.65", f"{default['literals_a_clause']:.2f}"),
        ("average CNF size, the month among them", "2.6 to 4.5", f"{cnf['clauses']:.2f}"),
        ("average number of predicates in a disjunction", "2.65", f"{cnf['literals_a_clause']:.2f}, the month among"),
        ("average number of keys in an assignment", "91", f"{(default['cells_per_event'] - 1) / 2:.0f}"),
    )
    yield from table(("", "paper", "here"), rows)
    yield (
        "Of the rules as they are indexed, after rewriting. An event has a cell for each value and one for the "
        "presence of its attribute, of those that rules name; half of them are counted as keys. "
        f"Of the {figures.n_rules:,} DNF rules {default['distinct_rules']:,} differ."
    )
    yield ""


def _construction(figures: Figures) -> Iterator[str]:
    yield "## Inverted list construction"
    yield ""
    rows = []
    for form, line, mega, minutes in (("dnf", figures.dnf[-1], 35, "7"), ("cnf", figures.cnf[-1], 91, "90")):
        facts = line.point["algorithms"][form]
        size = f"{facts['bytes'] / 1e6:.0f}"
        rows.append((f"{line.label} {form.upper()}", str(mega), size, minutes, f"{facts['build_seconds'] / 60:.2f}"))
    yield from table(("rules", "paper, MB", "here, MB", "paper, minutes", "here, minutes"), rows)
    yield (
        "Here from a Program, with the rules that each conjunction or expression belongs to; parsing is not in it, "
        f"and the paper's is. That is {bytes_per_rule(figures.dnf[-1].point, 'dnf'):.0f} and "
        f"{bytes_per_rule(figures.cnf[-1].point, 'cnf'):.0f} bytes per rule."
    )
    yield ""


def _figure(
    figures: Sequence[Line], folder: Path, number_: int, title: str, axis: str, claim: str, ours: str
) -> Iterator[str]:
    yield f"## Figure {number_}: {title}"
    yield ""
    yield f"**The paper:** {claim}"
    yield ""
    yield from times_table("" if axis == "match probability" else axis, figures)
    yield plot(folder / f"whang2009.figure{number_}.png", title, axis, figures, algorithms_of(figures))
    yield ""
    yield f"**Here:** {ours}"
    yield ""


def _baselines(lines: Sequence[Line]) -> str:
    """How `dnf` stands to SIFT and Le Subscribe, and what those two do for their time."""
    last = lines[-1].point
    work = last["algorithms"]["le subscribe"]["work"]
    sift, own, clusters, alone = (
        [ratio(line.point, name, "dnf") for line in lines]
        for name in ("sift", "sift, not shared", "le subscribe", "le subscribe, not shared")
    )
    return (
        f"{faster(sift, '`dnf`', 'SIFT')} ({beside(sift, 11.2, 20.9)} 11.2 to 20.9; {span(own)} times as fast as a "
        f"SIFT whose rules do not share conjunctions), and {faster(clusters, '`dnf`', 'Le Subscribe')} "
        f"({beside(clusters, 1.58, 2.97)} 1.58 to 2.97; {span(alone)} times where they do not share). "
        f"At {lines[-1].label} SIFT spends {ns_each(last, 'sift', 'entries'):.1f} ns on an entry (its counters are "
        f"bytes in one array), and Le Subscribe checks {work['conjunctions checked']:,.0f} conjunctions per event, of "
        f"which {work['conjunctions found']:,.0f} hold: by the events' statistics its access predicates are rare ones."
    )


def _selectivity(figures: Figures, folder: Path) -> Iterator[str]:
    lines = figures.selectivity
    powers = ", ".join(f"{name} {exponent(lines, name):.2f}" for name in ("dnf", "le subscribe", "sift"))
    yield from _figure(
        lines,
        folder,
        14,
        f"selectivity, {figures.n_rules:,} DNF rules",
        "match probability",
        "for small probabilities DNF is slightly slower than Le Subscribe; its time grows sub-linearly with the match "
        "probability, Le Subscribe's more linearly; DNF is 11.2 to 20.9 times faster than SIFT.",
        f"the times grow with these powers of the match probability: {powers}. {_baselines(lines)}",
    )


def _dimension(figures: Figures, folder: Path) -> Iterator[str]:
    lines = figures.dimension
    changes = ", ".join(
        f"{name} {us(lines[0].point, name) / us(lines[-1].point, name):.2f}" for name in ("dnf", "le subscribe", "sift")
    )
    yield from _figure(
        lines,
        folder,
        15,
        f"dimension, {figures.n_rules:,} DNF rules",
        "attributes",
        "DNF improves at low dimension, where there are fewer unique conjunctions; Le Subscribe gets slightly slower; "
        "the match probability is 11.91% throughout.",
        f"the time at {lines[0].label} attributes over that at {lines[-1].label}: {changes}. The match probability "
        f"rises here from {lines[-1].point['matching']:.1%} to {lines[0].point['matching']:.1%}, since logs have the "
        "attributes that are left more often than those taken out.",
    )


def _expression(figures: Figures, folder: Path) -> Iterator[str]:
    lines = figures.expression
    changes = ", ".join(f"{name} {growth(lines, name):.2f}" for name in ("dnf", "le subscribe", "sift"))
    yield from _figure(
        lines,
        folder,
        16,
        f"size of expressions, {figures.n_rules:,} DNF rules",
        "conjunctions per rule",
        "for 2.19 times the size the times grow by 1.9 (DNF), 4.3 (Le Subscribe) and 2.1 (SIFT).",
        f"for {lines[-1].at / lines[0].at:.2f} times the size the times grow by: {changes}. The match probability "
        f"grows with the size, from {lines[0].point['matching']:.1%} to {lines[-1].point['matching']:.1%}; the paper "
        "gives 11.91% for all three.",
    )


def _dnf(figures: Figures, folder: Path) -> Iterator[str]:
    lines = figures.dnf
    scan = [ratio(line.point, "scan", "dnf") for line in lines]
    yield from _figure(
        lines,
        folder,
        17,
        "scalability, DNF",
        "rules",
        "DNF is up to two orders of magnitude faster than SCAN, 1.58 to 2.97 times faster than Le Subscribe and 11.2 "
        "to 20.5 times faster than SIFT; the match probability is 11.91%.",
        f"{faster(scan, '`dnf`', '`scan`')}, which is compiled too and leaves a rule at the first predicate that "
        f"decides it ({us(lines[-1].point, 'scan') * 1e3 / lines[-1].at:.0f} ns per rule). {_baselines(lines)}",
    )


def _cnf(figures: Figures, folder: Path) -> Iterator[str]:
    lines = figures.cnf
    pscan, scan = ([ratio(line.point, name, "cnf") for line in lines] for name in ("pscan", "scan"))
    last = lines[-1].point
    work = last["algorithms"]["pscan"]["work"]
    yield from _figure(
        lines,
        folder,
        18,
        "scalability, CNF",
        "rules",
        "CNF is 1.9 to 2.6 times faster than PSCAN and 10.5 to 12.7 times faster than SCAN; the match probability is "
        "5.16%.",
        f"{faster(pscan, '`cnf`', 'PSCAN')} ({beside(pscan, 1.9, 2.6)} 1.9 to 2.6), and "
        f"{faster(scan, '`cnf`', '`scan`')} ({beside(scan, 10.5, 12.7)} 10.5 to 12.7). PSCAN evaluates "
        f"{work['expressions evaluated'] / last['n_rules']:.0%} of the rules per event, "
        f"{ns_each(last, 'pscan', 'expressions evaluated'):.0f} ns each, the seldomest disjunction first; "
        f"{last['matching'] * last['n_rules'] / work['expressions evaluated']:.0%} of those are true.",
    )


def _ranking(figures: Figures, folder: Path) -> Iterator[str]:
    yield "## Figure 19: ranking"
    yield ""
    yield (
        "**The paper:** the best 5 take DNF 19% more time than all at the lowest match probability and 11% less at the "
        "highest; CNF 35 to 45% less, the more so the more match."
    )
    yield ""
    for form, lines in figures.rankings.items():
        rules = f"{lines[0].point['n_rules']:,} {form.upper()} rules"
        yield from times_table(rules, lines)
        path = folder / f"whang2009.figure19.{form}.png"
        yield plot(path, f"ranking, {rules}", "match probability", lines, algorithms_of(lines), True)
        yield ""
    parts = []
    for form, lines in figures.rankings.items():
        changes = [us(line.point, f"{form}, top 5") / us(line.point, form) - 1 for line in lines]
        at = ", ".join(
            f"{change:+.0%} at {line.point['matching']:.1%}" for change, line in zip(changes, lines, strict=True)
        )
        parts.append(f"the best 5 take `{form}` {at}")
    yield (
        f"**Here:** {'; '.join(parts)}. A predicate of a rule has one weight here, the paper's has one a value. Lists "
        "are bounded by the largest weight of their key, partitions are looked at in the order of what their lists "
        "promise, and only what may be among the best is scored, by the rules' score trees."
    )
    yield ""
