"""Rules parsed per second, with sqlglot on the same texts beside ruledex in the same run.

    python benchmarks/language.py

The rules are of 3, 16 and 60 predicates, as people write them: mostly equality and IN, some ranges, patterns and null
tests, in groups of AND and OR. Both parsers turn rounds on the same rules, one after the other, and the median round
counts. Writes docs/benchmarks/language.json and, from it, docs/benchmarks/language.md.
"""

from __future__ import annotations

import gc
import json
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import sqlglot

import ruledex

SEED = 2009
SIZES = (3, 16, 60)
N_PREDICATES = 24_000  # of all rules of a size
N_SQLGLOT_PREDICATES = 1_200  # a part of the same rules: sqlglot would take minutes for all
N_ROUNDS = 9
DOCS = Path(__file__).resolve().parent.parent / "docs" / "benchmarks"

COUNTRIES = ["IN", "US", "GB", "DE", "FR", "BR", "JP", "ID", "MX", "NG", "EG", "TR", "VN", "PH", "ES", "IT"]
CATEGORIES = ["sports", "finance", "travel", "gaming", "news", "auto", "fashion", "food", "music", "health"]
SYSTEMS = ["ios", "android", "windows", "macos", "linux", "tizen"]


def predicate(draw: random.Random) -> str:
    """One condition of a targeting rule."""
    some = lambda values, most: ", ".join(f"'{v}'" for v in draw.sample(values, draw.randint(2, most)))  # noqa: E731
    kinds: list[tuple[int, Callable[[], str]]] = [
        (20, lambda: f"country = '{draw.choice(COUNTRIES)}'"),
        (15, lambda: f"country IN ({some(COUNTRIES, 8)})"),
        (15, lambda: f"age {draw.choice(['>', '>=', '<', '<='])} {draw.randint(13, 80)}"),
        (10, lambda: f"age BETWEEN {draw.randint(13, 30)} AND {draw.randint(31, 80)}"),
        (10, lambda: f"category NOT IN ({some(CATEGORIES, 5)})"),
        (10, lambda: f"device.os != '{draw.choice(SYSTEMS)}'"),
        (8, lambda: f"segment IN ({', '.join(str(draw.randint(1, 100_000)) for _ in range(draw.randint(2, 6)))})"),
        (4, lambda: f"page.url LIKE '%/{draw.choice(CATEGORIES)}/%'"),
        (4, lambda: f"{draw.choice(['phone', 'email', 'referrer'])} IS {draw.choice(['', 'NOT '])}NULL"),
        (4, lambda: f"user_id % 100 < {draw.randint(1, 99)}"),
    ]
    return draw.choices([make for _, make in kinds], [share for share, _ in kinds])[0]()


def rule(draw: random.Random, n_predicates: int) -> str:
    """So many conditions in groups of at most five, AND and OR in turn."""
    parts = [predicate(draw) for _ in range(n_predicates)]
    word = "AND"
    while len(parts) > 5:
        groups = []
        while parts:
            n_taken = draw.randint(2, 5)
            group, parts = parts[:n_taken], parts[n_taken:]
            groups.append(group[0] if len(group) == 1 else f"({f' {word} '.join(group)})")
        parts, word = groups, "OR" if word == "AND" else "AND"
    return f" {word} ".join(parts)


def seconds(parse: Callable[[str], object], texts: Sequence[str]) -> float:
    """The processor time for all texts, with the garbage collector at rest."""
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        for text in texts:
            parse(text)
        return time.process_time() - start
    finally:
        gc.enable()


def parse_with_sqlglot(text: str) -> object:
    return sqlglot.parse_one(text, dialect="spark")


def measure(n_predicates: int) -> dict[str, Any]:
    """Rules per second of both parsers, round by round."""
    draw = random.Random(SEED + n_predicates)
    rules = [rule(draw, n_predicates) for _ in range(N_PREDICATES // n_predicates)]
    part = rules[: max(1, N_SQLGLOT_PREDICATES // n_predicates)]
    ours, theirs = [], []
    for round_number in range(N_ROUNDS + 1):
        our_rate = len(rules) / seconds(ruledex.parse, rules)
        their_rate = len(part) / seconds(parse_with_sqlglot, part)
        if round_number:  # the first warms up
            ours.append(our_rate)
            theirs.append(their_rate)
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    return {
        "n_predicates": n_predicates,
        "mean_characters": round(statistics.mean(map(len, rules))),
        "ruledex_rules_per_second": ours,
        "sqlglot_rules_per_second": theirs,
        "ratios": ratios,
    }


def write(results: list[dict[str, Any]]) -> None:
    """The measurements as JSON, and the table that people read."""
    try:
        compiled = f", compiled ({version('sqlglotc')})"
    except PackageNotFoundError:
        compiled = ", pure Python"
    about = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "sqlglot": sqlglot.__version__ + compiled,
        "rounds": N_ROUNDS,
        "seed": SEED,
    }
    DOCS.mkdir(parents=True, exist_ok=True)
    (DOCS / "language.json").write_text(json.dumps({"about": about, "results": results}, indent=1) + "\n")
    lines = [
        "# Parsing",
        "",
        f"Rules parsed per second of processor time, Python {about['python']} ({about['machine']}), beside sqlglot "
        f"{about['sqlglot']} on the same texts in the same run. The median of {N_ROUNDS} rounds, and the slowest to "
        "the fastest round. Written by `python benchmarks/language.py`.",
        "",
        "| predicates | characters | ruledex | | sqlglot | | times |",
        "| --: | --: | --: | --: | --: | --: | --: |",
    ]
    lines += [
        f"| {r['n_predicates']} | {r['mean_characters']} | {spread(r['ruledex_rules_per_second'])} "
        f"| {spread(r['sqlglot_rules_per_second'])} | {statistics.median(r['ratios']):.1f} |"
        for r in results
    ]
    (DOCS / "language.md").write_text("\n".join(lines) + "\n")
    sys.stdout.write("\n".join(lines[4:]) + "\n")


def spread(rates: list[float]) -> str:
    return f"{statistics.median(rates):,.0f} | {min(rates):,.0f} to {max(rates):,.0f}"


if __name__ == "__main__":
    write([measure(n_predicates) for n_predicates in SIZES])
