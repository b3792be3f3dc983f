"""The sections on a-tree2021's data, on the parts of an A-Tree, on the Ads and on changes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from atree2021_figures import given_up, work
from core_page import number, ranged, table
from papers_page import Line, Point, milliseconds, ratio, us

PAPER_SHARING = {"1": "68.76 (the most of all levels)", "9": "2.88"}
PAPER_TABLE_4 = {
    "atree": ("1.6", "2.9", "205"),
    "bdd": ("11.5", "25.6", "823"),
    "dnf translation": ("13.7", "11.1 + 14.6", "320 + 4,592"),
    "bop": ("44.1", "8.6", "684"),
    "interval": ("53.6", "12.2", "1775"),
    "dewey": ("62.7", "14.8", "1887"),
    "scan": ("529.1", "–", "–"),
}
NAMES = {"default": "ABE-Gen, default", "conjunctions": "ABE-Gen, AND alone", "ads": "like the Ads"}
LESS = {"zero suppression": 85, "propagation on demand": 92}  # percent that the paper saves at the most


def sharing_analysis(part: dict[str, Any]) -> Iterator[str]:
    """Figure 7."""
    yield "## Figure 7: how often subexpressions are shared"
    yield ""
    yield (
        "**The paper:** 1,392,196 expressions of 1 to 56 predicates; a predicate is shared 68.76 times, at level 9 a "
        "subexpression 2.88 times, single predicates up to hundreds of thousands of times; in its default synthetic "
        "rules a predicate is shared 18.35 and a subexpression 4.33 times."
    )
    yield ""
    ads, drawn = part["ads"]["levels"], part["abe"]["levels"]
    yield from table(
        ("level", "paper, Ads", "like the Ads", "distinct", "used most often", "ABE-Gen, default"),
        (
            (
                level,
                PAPER_SHARING.get(level, "–"),
                number(facts["uses"] / facts["distinct"]),
                f"{facts['distinct']:,}",
                f"{facts['most']:,}",
                number(drawn[level]["uses"] / drawn[level]["distinct"]) if level in drawn else "–",
            )
            for level, facts in ads.items()
        ),
    )
    predicates = part["ads"]["predicates"]
    yield (
        f"**Here:** {predicates['least']} to {predicates['most']} predicates a rule, {predicates['mean']:.1f} on "
        "average. The data set was not published; `benchmarks/atree2021_data.py` says what stands for it. Its trees "
        f"are drawn one by one and whole rules are shared {part['ads']['rule_sharing']:.2f} times; what a level "
        "has above that comes of equal draws."
    )
    yield ""


def _times_of(rows: dict[str, Point]) -> Iterator[str]:
    names = list(next(iter(rows.values()))["algorithms"])
    yield from table(
        ("rules", *(f"{name}, ms" for name in names)),
        (
            (NAMES.get(row, f"α {row}"), *(ranged(milliseconds(p["algorithms"][name]["us"])) for name in names))
            for row, p in rows.items()
        ),
    )


def sharing(part: dict[str, Point]) -> Iterator[str]:
    """Figure 8."""
    yield "## Figure 8: sharing, and nodes of many children"
    yield ""
    yield (
        "**The paper:** a tree of many children with sharing is the fastest at every α and on the Ads; without sharing "
        "it is still much faster than Scan."
    )
    yield ""
    yield from _times_of(part)
    best, plain, two = "many children, shared", "many children, not shared", "two children, shared"
    first = [row for row, p in part.items() if us(p, best) <= min(us(p, plain), us(p, two), us(p, "scan"))]
    faster = ", ".join(f"{ratio(p, plain, best):.2f} ({NAMES.get(row, 'α ' + row)})" for row, p in part.items())
    edges, levels = (
        {name: part["ads"]["algorithms"][name]["made_of"][what] for name in (two, best)}
        for what in ("n_edges", "n_levels")
    )
    yield (
        f"**Here:** the tree of many children with sharing is the fastest at {len(first)} of {len(part)} points. "
        f"Without sharing it takes as many times as long: {faster}; `scan` takes "
        f"{min(ratio(p, 'scan', plain) for p in part.values()):.2g} to "
        f"{max(ratio(p, 'scan', plain) for p in part.values()):.2g} times as long as that. Chains of two children have "
        f"{edges[two] / edges[best]:.2f} times the edges and {levels[two]} levels instead of {levels[best]} on "
        "rules like the Ads. The paper does not say how its tree of two children is made; here it is the same engine "
        "over chains."
    )
    yield ""


def construction(part: Point) -> Iterator[str]:
    """Figure 9."""
    yield "## Figure 9: unique nodes, reorganisation, self-adjustment"
    yield ""
    yield (
        "**The paper:** on the Ads each of them takes less memory and time to match than the one before, and more to "
        "build; with self-adjustment memory does not depend on the order in which expressions arrive."
    )
    yield ""
    rows = []
    for name, facts in part["algorithms"].items():
        orders = facts.get("edges_by_order")
        rows.append(
            (
                name,
                ranged(milliseconds(facts["us"])),
                number(facts["bytes"] / 1e6),
                number(facts["build_seconds"]),
                f"{facts['made_of']['n_inner_nodes']:,}",
                f"{facts['made_of']['n_edges']:,}",
                "–" if orders is None else f"{max(orders) / min(orders) - 1:.2%}",
            )
        )
    yield from table(("with", "ms", "MB", "build, s", "inner nodes", "edges", "edges vary with the order by"), rows)
    facts = list(part["algorithms"].values())
    saved = ", ".join(f"{1 - b['bytes'] / a['bytes']:.0%}" for a, b in pairwise(facts))
    gained = ", ".join(f"{1 - b['us']['median'] / a['us']['median']:.0%}" for a, b in pairwise(facts))
    built = facts[-1]["made_of"]
    reused, moved = built["n_reused_by_reorganisation"], built["n_self_adjustments"]
    yield (
        f"**Here,** {part['n_rules']:,} rules like the Ads: each step saves {saved} of the memory and {gained} of the "
        f"time of the one before. In the last of them reorganisation used {reused:,} nodes again and self-adjustment "
        f"put {moved:,} new ones below others, in a tree of {built['n_edges']:,} edges; how much the paper's Ads gave "
        "them to do is not said."
    )
    yield ""


def _spared(part: dict[str, Point]) -> str:
    """How much of what is propagated without both optimisations is propagated with them."""
    carried = {
        row: [p["algorithms"][name]["work"]["results propagated"] for name in ("both", "neither")]
        for row, p in part.items()
    }
    return ", ".join(f"{both / max(neither, 1):.1%} ({NAMES[row]})" for row, (both, neither) in carried.items())


def matching(part: dict[str, Point]) -> Iterator[str]:
    """Figure 10."""
    yield "## Figure 10: zero suppression and propagation on demand"
    yield ""
    yield (
        "**The paper:** both are very effective on all rules: zero suppression takes up to 85% off, propagation on "
        "demand up to 92%, this on some conjunctive expressions."
    )
    yield ""
    yield from _times_of(part)
    found = {
        "zero suppression": [1 - us(p, "zero suppression") / us(p, "neither") for p in part.values()],
        "propagation on demand": [1 - us(p, "both") / us(p, "zero suppression") for p in part.values()],
    }
    yield from table(
        ("rules", "with", "an event makes it touch"),
        (
            (NAMES[row], name, ", ".join(f"{value:,.0f} {what}" for what, value in facts["work"].items()))
            for row, p in part.items()
            for name, facts in p["algorithms"].items()
        ),
        3,
    )
    said = []
    for name, shares in found.items():
        each = ", ".join(f"{share:.0%} ({NAMES[row]})" for row, share in zip(part, shares, strict=True))
        said.append(f"{name} takes {each} off, at the most {max(shares):.0%} where the paper has {LESS[name]}%")
    yield (
        f"**Here,** zero suppression against neither, and propagation on demand on top of it: {'; '.join(said)}. "
        "Negations are pushed down to predicates in all four, since rules reach an engine so; only whether false "
        "results are carried upwards is switched, where the paper's tree without zero suppression also keeps NOT, XOR "
        f"and XNOR. Of the results that are carried upwards {_spared(part)} are left with both. With both, an OR that "
        "is no AND's access child and has no rule is told nothing either and asked where it is needed, which goes "
        "further than the paper; nodes that one rule is all that they are for are not remembered then, so that they "
        "are not among those counted as true, and what is cleared are words of 32 bits instead of nodes."
    )
    yield ""


def table_4(part: Point) -> Iterator[str]:
    """Table 4."""
    yield "## Table 4: the Ads"
    yield ""
    rows = []
    for name, facts in part["algorithms"].items():
        paper = PAPER_TABLE_4.get(name, ("–", "–", "–"))
        rows.append(
            (
                name,
                paper[0],
                ranged(milliseconds(facts["us"])),
                f"{ratio(part, name, 'atree'):.2f}",
                paper[1],
                number(facts["build_seconds"]),
                paper[2],
                number(facts["bytes"] / 1e6),
            )
        )
    heads = ("paper, ms", "ms", "times `atree`", "paper, build s", "build, s", "paper, MB", "MB")
    yield from table(("algorithm", *heads), rows)
    ratios = [
        f"`{name}` {paper:.0f} in the paper, {ratio(part, name, 'atree'):.1f} here"
        for name, paper in (("bdd", 11.5 / 1.6), ("interval", 53.6 / 1.6))
        if name in part["algorithms"]
    ]
    n_matches = part["matching"] * part["n_rules"]
    before = [f"`{name}`" for name in PAPER_TABLE_4 if name in part["algorithms"] and ratio(part, name, "atree") < 1]
    order = (
        f"{', '.join(before)} before `atree`, unlike in the paper" if before else "`atree` the first, as in the paper"
    )
    yield (
        f"**Here,** {part['n_rules']:,} rules of which {part['matching']:.2%} match: of the paper's algorithms "
        f"{order}. Times over that of `atree`: "
        f"{'; '.join(ratios)}. An event matches {n_matches:,.0f} rules here, which all algorithms write alike; the "
        "paper does not say how many matched there, and its data were not published, so that what of the difference "
        "comes of the data cannot be told. What comes of the algorithms: `interval` and `dewey` are not the paper's, "
        "an AND is led to through its rarest child alone ([fontoura2010](fontoura2010.md)), which spares most "
        "evaluations of trees, and equal rules are one expression in every engine, so that BoP counts each of them "
        "once."
    )
    yield ""
    line = Line(part["n_rules"], "Ads", part)
    yield from given_up([line])
    yield from work([line])


def updates(part: dict[str, Any]) -> Iterator[str]:
    """Rules that come and go."""
    yield f"## Changes at {part['n_rules']:,} rules"
    yield ""
    yield "The paper measures no changes; `benchmarks/updates.py` does."
    yield ""
    rows = [row for kind in ("bulk", "single", "index") for row in _numbers(part[kind], kind)]
    yield from table(("what", "measured"), rows)


def _numbers(found: dict[str, Any], what: str) -> Iterator[tuple[str, str]]:
    """All numbers of nested measurements with their names."""
    for name, value in found.items():
        named = f"{what}, {name.replace('_', ' ')}"
        if isinstance(value, dict):
            yield from _numbers(value, named)
        elif name not in ("n_rules", "calls"):
            yield named, number(value)
