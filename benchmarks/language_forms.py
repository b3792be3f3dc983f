"""What the forms of the language cost: rules with a form beside the nearest rules without it, in one run.

    python benchmarks/language_forms.py            10,000 and 100,000 rules of each form; some minutes
    python benchmarks/language_forms.py --quick    1,000 and 10,000 rules, and no page is written

Each form is a pair of rule sets over the same events. Both indexes stand side by side and take turns, so that what
slows the machine slows both. The median round counts. Bytes are those of the saved index. A form that the code does not
have is left out, with its error. With `--processes 3` three forms are measured at once. Writes
docs/benchmarks/language-forms.json and, from it, docs/benchmarks/language-forms.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from ruledex import Index
from ruledex.errors import RuledexError

SEED = 2009
SIZES, QUICK_SIZES = (10_000, 100_000), (1_000, 10_000)
N_ROUNDS = 7
N_EVENTS = 200
N_COUNTRIES = 1_000
DOCS = Path(__file__).resolve().parent.parent / "docs" / "benchmarks"
NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)
SYLLABLES = ["ba", "ke", "li", "mo", "nu", "pa", "re", "si", "to", "vu", "cra", "dle", "fin", "gar", "hol", "jin"]


def word(draw: random.Random, n_syllables: int = 4) -> str:
    return "".join(draw.choices(SYLLABLES, k=n_syllables))


def country(draw: random.Random) -> str:
    return f"country = 'c{draw.randrange(N_COUNTRIES)}'"


def event(draw: random.Random) -> dict[str, Any]:
    """One event with what all forms look at."""
    items = [{"price": draw.randrange(1_000), "kind": f"k{draw.randrange(100)}"} for _ in range(3)]
    found = {
        "country": f"c{draw.randrange(N_COUNTRIES)}",
        "title": " ".join(word(draw) for _ in range(4)),
        "plan": f"p{draw.randrange(100)}",
        "count": draw.randrange(1_000),
        "count_text": str(draw.randrange(1_000)),
        "user_id": draw.randrange(1_000_000),
        "seen": NOW - timedelta(hours=draw.randrange(1_000)),
        "items": items,
        "device": {"os": word(draw), "name": word(draw)},
    }
    if draw.random() < 0.5:
        found["phone"] = word(draw)
    return found


Draw = Callable[[random.Random], tuple[str, str]]  # a rule with the form, and the nearest one without it


@dataclass
class Form:
    """One form: what draws its rules, and how both indexes are built and asked."""

    name: str
    plain: str  # what stands beside it
    draw: Draw
    build: dict[str, Any] = field(default_factory=dict)  # options of the build with the form
    ask: dict[str, Any] = field(default_factory=dict)  # options of the question with the form
    is_tagged: bool = False
    is_ranked: bool = False


def is_not_true(draw: random.Random) -> tuple[str, str]:
    at, plan = country(draw), f"plan = 'p{draw.randrange(100)}'"
    return f"{at} AND ({plan}) IS NOT TRUE", f"{at} AND NOT {plan}"


def any_field(draw: random.Random) -> tuple[str, str]:
    at, pattern = country(draw), f"'%{word(draw)}%'"
    return f"{at} AND * LIKE {pattern}", f"{at} AND title LIKE {pattern}"


def element(draw: random.Random) -> tuple[str, str]:
    at, price, kind = country(draw), draw.randrange(1_000), f"'k{draw.randrange(100)}'"
    return (
        f"{at} AND exists(items, i -> i.price > {price} AND i.kind = {kind})",
        f"{at} AND items.price > {price} AND items.kind = {kind}",
    )


def cast(draw: random.Random) -> tuple[str, str]:
    at, least = country(draw), draw.randrange(1_000)
    return f"{at} AND CAST(count_text AS INT) > {least}", f"{at} AND count > {least}"


def rollout(draw: random.Random) -> tuple[str, str]:
    at, salt, share = country(draw), draw.randrange(20), draw.randrange(1, 20)
    return (
        f"{at} AND pmod(xxhash64(user_id, 'salt{salt}'), 100) < {share}",
        f"{at} AND user_id % {80 + salt} < {share}",
    )


def since(draw: random.Random) -> tuple[str, str]:
    at, hours = country(draw), draw.randrange(1, 1_000)
    moment = (NOW - timedelta(hours=hours)).isoformat(sep=" ")
    return f"{at} AND seen > now() - INTERVAL {hours} HOURS", f"{at} AND seen > TIMESTAMP '{moment}'"


DEFINITIONS = {f"group{n}": f"plan IN ('p{n}', 'p{(7 * n) % 100}') AND count >= {10 * n}" for n in range(100)}


def named(draw: random.Random) -> tuple[str, str]:
    at, name = country(draw), f"group{draw.randrange(100)}"
    return f"{at} AND @{name}", f"{at} AND ({DEFINITIONS[name]})"


def contains(draw: random.Random) -> tuple[str, str]:
    at, part = country(draw), word(draw)
    return f"{at} AND contains(title, '{part}')", f"{at} AND title LIKE '%{part}%'"


def collated(draw: random.Random) -> tuple[str, str]:
    at, plan = country(draw), f"p{draw.randrange(100)}"
    return f"{at} AND plan COLLATE UTF8_LCASE = '{plan.upper()}'", f"{at} AND lower(plan) = '{plan}'"


def filtered(draw: random.Random) -> tuple[str, str]:
    text = f"{country(draw)} AND plan = 'p{draw.randrange(100)}'"
    return text, text


def weighed(draw: random.Random) -> tuple[str, str]:
    at, weight = country(draw), draw.randrange(2, 9)
    return f"{at} AND (phone IS NOT NULL)^{weight}", f"{at} AND phone IS NOT NULL"


FORMS = [
    Form("`(…) IS NOT TRUE`", "`NOT …`", is_not_true),
    Form("`* LIKE '%…%'`", "`title LIKE '%…%'`", any_field),
    Form("`exists(items, i -> …)`", "two predicates of `items`", element),
    Form("`CAST(text AS INT) > n`", "`number > n`", cast),
    Form("`pmod(xxhash64(id, salt), 100) < n`, 20 salts", "`id % m < n`, 20 divisors", rollout),
    Form("`seen > now() - INTERVAL n HOURS`", "`seen > TIMESTAMP '…'`", since, ask={"now": NOW}),
    Form("`@name`, of 100 definitions", "the condition itself", named, build={"definitions": DEFINITIONS}),
    Form("`contains(title, '…')`", "`title LIKE '%…%'`", contains),
    Form("`plan COLLATE UTF8_LCASE = '…'`", "`lower(plan) = '…'`", collated),
    Form(
        "`match(event, where=\"tenant = 't3'\")`, 10 tenants",
        "`match(event)`",
        filtered,
        ask={"where": "tenant = 't3'"},
        is_tagged=True,
    ),
    Form("`(phone IS NOT NULL)^n`, the best 10", "`phone IS NOT NULL`, the best 10", weighed, is_ranked=True),
]


def index_of(form: Form, texts: list[str], has_form: bool) -> Index:
    if has_form and form.is_tagged:
        rules: Any = [(number, text, 0.0, {"tenant": f"t{number % 10}"}) for number, text in enumerate(texts)]
    else:
        rules = list(enumerate(texts))
    return Index.build(rules, **(form.build if has_form else {}))


def bytes_of(index: Index) -> int:
    with tempfile.TemporaryDirectory() as folder:
        index.save(folder)
        return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def microseconds(index: Index, form: Form, events: list[dict[str, Any]], has_form: bool) -> float:
    """The processor time per event, asked one by one."""
    options = form.ask if has_form else {}
    start = time.process_time()  # others may use the machine too
    for one in events:
        if form.is_ranked:
            index.top(one, 10, **options)
        else:
            index.match(one, **options)
    return (time.process_time() - start) / len(events) * 1e6


def measure(form: Form, n_rules: int) -> dict[str, Any]:
    """Both indexes of a form: time per event round by round, bytes per rule, and matches per event."""
    draw = random.Random(SEED)
    drawn = [form.draw(draw) for _ in range(n_rules)]
    events = [event(draw) for _ in range(N_EVENTS)]
    with_form = index_of(form, [text for text, _ in drawn], True)
    without = index_of(form, [text for _, text in drawn], False)
    times: dict[bool, list[float]] = {True: [], False: []}
    for round_number in range(N_ROUNDS + 2):
        for has_form, index in ((True, with_form), (False, without)):
            found = microseconds(index, form, events, has_form)
            if round_number > 1:  # the first two warm up
                times[has_form].append(found)
    options = form.ask
    return {
        "n_rules": n_rules,
        "form_us": times[True],
        "plain_us": times[False],
        "form_bytes": bytes_of(with_form) / n_rules,
        "plain_bytes": bytes_of(without) / n_rules,
        "form_matches": sum(len(with_form.match(one, **options)) for one in events) / len(events),
        "plain_matches": sum(len(without.match(one)) for one in events) / len(events),
    }


def refusal(form: Form) -> str:
    """Return why the code cannot answer a form, or nothing."""
    draw = random.Random(SEED)
    try:
        index = index_of(form, [form.draw(draw)[0]], True)
        microseconds(index, form, [event(draw)], True)
    except (RuledexError, TypeError) as error:
        return " ".join(str(error).splitlines()[:2])
    return ""


def run(number: int, sizes: Sequence[int]) -> dict[str, Any]:
    """Measure one form with each number of rules, or say why it cannot be."""
    form = FORMS[number]
    fault = refusal(form)
    results = [] if fault else [measure(form, n_rules) for n_rules in sizes]
    for r in results:
        told = f"{form.name:50} {r['n_rules']:8,} {spread(r['form_us'])}  beside {spread(r['plain_us'])}"
        sys.stdout.write(f"{told}  {r['form_bytes']:,.0f} / {r['plain_bytes']:,.0f} bytes\n")
    if fault:
        sys.stdout.write(f"{form.name:50} left out: {fault}\n")
    sys.stdout.flush()
    return {"name": form.name, "plain": form.plain, "refusal": fault, "results": results}


def spread(times: list[float]) -> str:
    return f"{statistics.median(times):,.1f} | {min(times):,.1f} to {max(times):,.1f}"


def page(found: dict[str, Any]) -> str:
    """The tables that people read."""
    about = found["about"]
    lines = [
        "# Forms of the language",
        "",
        "What the forms of [the language](../language.md) cost: processor time per event, one by one, and bytes per "
        "rule of the saved index, beside the nearest rules without the form. Each rule also has a condition on one of "
        f"{N_COUNTRIES:,} countries. Both indexes of a pair answer the same {N_EVENTS} events in turns, in one "
        f"process. The median of {N_ROUNDS} rounds counts, with the fastest and the slowest. Python {about['python']} "
        f"({about['machine']}, {about['cores']} cores, a load of {about['load']:.1f}). Written by "
        "`python benchmarks/language_forms.py`.",
        "",
        "Matches differ where the two conditions do, and more matches take more time. The last table shows which forms "
        "grow with the number of rules more than the plain rules do.",
    ]
    sizes = sorted({result["n_rules"] for one in found["forms"] for result in one["results"]})
    for n_rules in sizes:
        lines += ["", f"## {n_rules:,} rules", ""]
        columns = "form | beside | µs | fastest to slowest | µs without | fastest to slowest"
        lines += [f"| {columns} | bytes | without | matches | without |"]
        lines += ["| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: |"]
        for one in found["forms"]:
            for r in one["results"]:
                if r["n_rules"] == n_rules:
                    lines.append(
                        f"| {one['name']} | {one['plain']} | {spread(r['form_us'])} | {spread(r['plain_us'])} "
                        f"| {r['form_bytes']:,.0f} | {r['plain_bytes']:,.0f} "
                        f"| {r['form_matches']:,.1f} | {r['plain_matches']:,.1f} |"
                    )
    lines += ["", f"## From {sizes[0]:,} to {sizes[-1]:,} rules", ""]
    lines += ["| form | times longer | without it |", "| --- | --: | --: |"]
    for one in found["forms"]:
        if one["results"]:
            few, many = one["results"][0], one["results"][-1]
            ratios = [statistics.median(many[key]) / statistics.median(few[key]) for key in ("form_us", "plain_us")]
            lines.append(f"| {one['name']} | {ratios[0]:.1f} | {ratios[1]:.1f} |")
    missing = [one for one in found["forms"] if not one["results"]]
    if missing:
        lines += ["", "Left out, because the code did not have them:", ""]
        lines += [f"- {one['name']}: {one['refusal']}" for one in missing]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rules, and no page")
    parser.add_argument("--only", default="", help="only forms whose name has this text")
    parser.add_argument("--processes", type=int, default=1, help="forms that are measured at once")
    options = parser.parse_args()
    sizes = QUICK_SIZES if options.quick else SIZES
    chosen = [number for number, form in enumerate(FORMS) if options.only in form.name]
    with ProcessPoolExecutor(options.processes, get_context("spawn")) as pool:
        forms = list(pool.map(run, chosen, [sizes] * len(chosen)))
    about = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
    found = {"about": about | {"load": os.getloadavg()[1], "seed": SEED}, "forms": forms}
    if options.quick or options.only:
        sys.stdout.write(page(found))
        return
    (DOCS / "language-forms.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (DOCS / "language-forms.md").write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
