"""The page on a-tree2021 that people read, from the measurements of one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from atree2021_figures import given_up, memory_and_building, plot, times, work
from atree2021_goals import BASELINES, all_goals
from atree2021_parts import construction, matching, sharing, sharing_analysis, table_4, updates
from core_page import table
from papers_page import Line, Point, growth, span, us

Section = Callable[[Any, Path], Iterator[str]]


class Sweep(NamedTuple):
    """A figure of the paper: its title, its axis and what the paper says of it."""

    title: str
    axis: str
    log_x: bool
    paper: str
    note: str  # what in the rules or the limits bears on a comparison with the paper


SWEEPS = {
    "figure12a": Sweep(
        "Figures 11(a), 12(a), 13(a): number of expressions",
        "rules",
        True,
        "all algorithms grow linearly, A-Tree is the fastest, 86% below BDD at 30M; Translation is second before it "
        "runs out of memory; from 300K on A-Tree needs the least memory, and it is built the fastest.",
        "What each of them touches stands below; what of the difference is the layout and what the algorithm was not "
        "measured apart.",
    ),
    "figure12b": Sweep(
        "Figures 11(b), 12(b), 13(b): depth",
        "depth",
        False,
        "BDD runs out of memory at depth 4 and Translation at 5; at depth 6 Interval and BoP are slower than Scan, and "
        "A-Tree takes 99% less than Scan.",
        "The paper had 512 GB for a million rules; the limits here are those named at the top, for fewer rules.",
    ),
    "figure12c": Sweep(
        "Figures 11(c), 12(c), 13(c): children of a node",
        "children",
        False,
        "as with depth: Translation runs out of memory at 6 children and BDD at 10; only A-Tree scales well.",
        "The paper had 512 GB for a million rules; the limits here are those named at the top, for fewer rules.",
    ),
    "figure12d": Sweep(
        "Figures 11(d), 12(d), 13(d): α of the expressions",
        "α",
        False,
        "memory and time of A-Tree and BDD fall as α grows, those of the others do not; at α = 1 A-Tree takes 68% less "
        "memory and 75% less time to build than BoP.",
        "With α the generator's predicates become fewer too (`src/ruledex/workloads/abe.py`), which the paper does not "
        "say of its own, so that not only sharing changes along the axis.",
    ),
    "figure12e": Sweep(
        "Figure 12(e): dimensions",
        "dimensions",
        True,
        "all but Scan become faster with more dimensions; the order is A-Tree, Translation, BDD, BoP, Interval, Scan.",
        "Events keep their size, so that with more dimensions a predicate's attribute is there less often.",
    ),
    "figure12f": Sweep(
        "Figure 12(f): cardinality",
        "values of a dimension",
        True,
        "all but Scan become faster with more values, since fewer predicates match.",
        "Of the nine comparisons = and IN hold less often with more values, != and NOT IN more often, and the others "
        "as before, by how the generator draws them.",
    ),
    "figure12g": Sweep(
        "Figure 12(g): distribution of dimensions",
        "α of the dimensions",
        False,
        "no algorithm is clearly affected.",
        "Events draw their dimensions evenly, so that how often a predicate's attribute is there does not depend on "
        "the skew.",
    ),
    "figure12h": Sweep(
        "Figure 12(h): size of events",
        "pairs of an event",
        False,
        "all but Scan become slower with larger events, and their order stays the same.",
        "Rules are the same at all points.",
    ),
}


def page(document: dict[str, Any], folder: Path) -> str:
    """Goals first, then every figure and Table 4; plots go into the folder."""
    parts = document["parts"]
    lines = [
        "# a-tree2021: A-Tree, a Dynamic Data Structure for Efficiently Indexing Arbitrary Boolean Expressions",
        "",
        _run_facts(document),
        "",
        "## Goals",
        "",
        *table(("goal", "measured", ""), ((g.text, g.measured, g.verdict) for g in all_goals(parts)), 3),
    ]
    sections: dict[str, Section] = {
        "figure7": lambda part, _: sharing_analysis(part),
        "figure8": lambda part, _: sharing(part),
        "figure9": lambda part, _: construction(part),
        "figure10": lambda part, _: matching(part),
        **{name: lambda part, at, name=name: _sweep(name, part, at) for name in SWEEPS},
        "table4": lambda part, _: table_4(part),
        "updates": lambda part, _: updates(part),
    }
    missing = [name for name in sections if name not in parts]
    for name, section in sections.items():
        if name in parts:
            lines += section(parts[name], folder)
    if missing:
        lines += [f"Not measured in this run: {', '.join(missing)}.", ""]
    took = ", ".join(f"{name} {seconds:.0f}" for name, seconds in document["seconds"].items())
    lines.append(f"What each part of the run took, in seconds: {took}.")
    return "\n".join(lines).rstrip() + "\n"


def _run_facts(document: dict[str, Any]) -> str:
    facts, limits = document["about"], document["limits"]
    took = sum(document["seconds"].values())
    return (
        f"Measured on {facts['processor']}, {facts['cores']} cores, Python {facts['python']}, numba {facts['numba']}, "
        f"dd {facts['dd']} ({facts['dd_kind']}), {took / 60:.0f} minutes in all, each part in one run "
        "(`--only` measures some anew); written by "
        "`python benchmarks/atree2021.py`. Times are processor time of calls with one encoded event each, all matches "
        "written: the median over three rounds of each round's p50, in parentheses the lowest and the highest; in each "
        "round all algorithms take turns. Before they were timed, all algorithms gave the same rules for the same "
        "events, and everything was compiled. All but `bdd` and `scan` were given the same statistics of 1,024 other "
        "events. Memory is that of an algorithm's own arrays, for `scan` that of the rules. `bdd`, `bop` and "
        "`dnf translation` (the paper's Translation, over the engine `dnf`) are baselines of `benchmarks/baselines/`; "
        "`sparse` and `auto` are no part of the paper. The paper ran C on 2.2 GHz with 512 GB; of its figures only "
        f"what its text says of them is quoted. `bdd` gives up past {limits['bdd']['seconds']:.0f} s or "
        f"{limits['bdd']['n_bytes'] / 2**30:.2g} GB of the library's tables at many rules, and past "
        f"{limits['bdd_of_sweep']['seconds']:.0f} s or {limits['bdd_of_sweep']['n_bytes'] / 2**30:.2g} GB in the other "
        "sweeps; `dnf translation` past 40,000,000 literals of all rules together, or 1,000,000 of one."
    )


def _sweep(name: str, part: dict[str, Point], folder: Path) -> Iterator[str]:
    sweep = SWEEPS[name]
    lines = [Line(float(at), f"{float(at):,g}", point) for at, point in part.items()]
    lines = [line._replace(label=f"{int(line.at):,}") if line.at >= 1000 else line for line in lines]
    yield f"## {sweep.title}"
    yield ""
    yield f"**The paper:** {sweep.paper}"
    yield ""
    yield from times(sweep.axis, lines)
    yield from memory_and_building(sweep.axis, lines)
    yield plot(folder / f"atree2021.{name}.png", sweep.axis, lines, sweep.log_x)
    yield ""
    yield f"**Here,** {lines[0].point['n_rules']:,}" + (
        f" to {lines[-1].point['n_rules']:,} rules: {_summary(lines)} {sweep.note}"
        if lines[0].point["n_rules"] != lines[-1].point["n_rules"]
        else f" rules: {_summary(lines)} {sweep.note}"
    )
    yield ""
    yield from given_up(lines)
    yield from work([lines[0], lines[-1]])


def _summary(lines: Sequence[Line]) -> str:
    """Who is fastest where, by how much, and how times change along the axis."""
    shares, next_best = [], []
    for line in lines:
        others = {name: us(line.point, name) for name in BASELINES if name in line.point["algorithms"]}
        best = min(others, key=others.__getitem__)
        next_best.append(best)
        shares.append(us(line.point, "atree") / others[best])
    last = lines[-1].point
    order = sorted(last["algorithms"], key=lambda name: us(last, name))
    n_first = sum(share < 1 for share in shares)
    grown = ", ".join(
        f"`{name}` {growth(lines, name):.2g}"
        for name in order
        if all(name in line.point["algorithms"] for line in (lines[0], lines[-1]))
    )
    return (
        f"`atree` is the fastest of the paper's algorithms at {n_first} of {len(lines)} points, {span(shares)} of the "
        f"time of the next best ({', '.join(f'`{name}`' for name in dict.fromkeys(next_best))}); `auto` takes "
        f"{span(us(line.point, 'auto') / us(line.point, 'atree') for line in lines)} of `atree`'s time for one event. "
        f"The order at the last point is {', '.join(f'`{name}`' for name in order)}; from the first point to the last "
        f"the times grow by the factors {grown}."
    )
