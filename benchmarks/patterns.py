"""Patterns on one attribute: us a value, answered together and one by one.

The patterns are a mix of LIKE, ILIKE and RLIKE such as detection rules have on the paths of programs; the values are
paths made of the same syllables.

    python benchmarks/patterns.py
"""

from __future__ import annotations

import random
import time

from ruledex import Schema
from ruledex.dictionary.patterns import PatternMatcher
from ruledex.language.reference import satisfies
from ruledex.language.tree import Attribute, Like, Rlike

SIZES = (10, 300, 3_000, 30_000)
N_VALUES = 2_000
N_RUNS = 4
X = Attribute(("x",))
SYLLABLES = ["ba", "ke", "li", "mo", "nu", "pa", "re", "si", "to", "vu", "cra", "dle", "fin", "gar", "hol", "jin"]
SYLLABLES += ["kep", "lam", "nox", "pli", "qua", "rud", "sen", "tor", "ulm", "wex", "yar", "zed"]

LIKES = ["{}%", "%{}", "%{}%", "{}", "%{}%{}%", "C:\\\\\\\\{}\\\\\\\\%", "%\\\\\\\\{}.exe", "%{}_{}%"]
REGEXES = [r"\b{}\b", "{}.*{}", r"\\{}\.exe$", "(?i){}{}", "({}|{})x", "{}[0-9]+", r"^C:\\{}"]


def word(rng, n=3):
    return "".join(rng.choices(SYLLABLES, k=rng.randint(2, n)))


def draw_patterns(rng, n):
    keys = []
    for cell in range(n):
        kind = rng.choices(["like", "ilike", "rlike"], [5, 3, 2])[0]
        form = rng.choice(REGEXES if kind == "rlike" else LIKES)
        text = form.format(*(word(rng, 4) for _ in range(form.count("{}"))))
        keys.append((Rlike(X, text) if kind == "rlike" else Like(X, (text,), False, kind == "ilike"), cell))
    return keys


def draw_values(rng):
    drives = ["C:\\", "D:\\", "/usr/"]
    folders = ["\\".join(word(rng, 4) for _ in range(rng.randint(1, 4))) for _ in range(N_VALUES)]
    return [f"{rng.choice(drives)}{folder}.exe" for folder in folders]


def best_us(function, values):
    """Microseconds a value, the best of some runs."""
    times = []
    for _ in range(N_RUNS):
        start = time.perf_counter()
        for value in values:
            function(value)
        times.append((time.perf_counter() - start) / len(values) * 1e6)
    return min(times)


def measure(size):
    rng = random.Random(size)
    keys, values, schema = draw_patterns(rng, size), draw_values(rng), Schema()
    start = time.perf_counter()
    matcher = PatternMatcher(keys)
    built = time.perf_counter() - start

    def one_by_one(value):
        return [cell for key, cell in keys if satisfies(value, key, schema)]

    few = values[: max(3, 3_000 // size)]
    for value in few:
        assert sorted(matcher.cells(value)) == one_by_one(value)
    n_hits = sum(len(matcher.cells(value)) for value in values) / len(values)
    together, apart = best_us(matcher.cells, values), best_us(one_by_one, few)
    print(f"{size:8,}   {together:11.1f}   {apart:13.1f}   {built:7.2f}   {n_hits:12.2f}")


if __name__ == "__main__":
    PatternMatcher([(Like(X, (f"{number}%",)), number) for number in range(100)]).cells("")  # compiles the kernels
    print("patterns   together us   one by one us   build s   hits a value")
    for size in SIZES:
        measure(size)
