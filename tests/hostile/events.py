"""Hostile events: attributes of odd kinds, at any size, as mappings, JSON and Arrow tables."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

ODD = ["a", "é", "\u0130", "ß", "\U0001f600", "\u202e", "\x00", "e\u0301", "\ufb03", " ", "%", "\\"]
P = 2**61 - 1  # integers that are multiples of it have one hash


class EventGene(NamedTuple):
    """What an event is made of, but for its size."""

    kinds: tuple[str, ...]
    form: str  # dict, json, arrow
    seed: int


def _nested(size: int, around: Callable[[Any], Any]) -> Any:
    value: Any = 1
    for _ in range(size):
        value = around(value)
    return value


KINDS: dict[str, Callable[[random.Random, int], dict[str, Any]]] = {
    "long text": lambda d, n: {"s": d.choice(ODD) * n, "t": "a" * n},
    "texts": lambda d, n: {
        "s": [f"{d.choice(ODD)}{d.randrange(n + 1)}" for _ in range(n // 6 + 1)],
        "t": ["a"] * (n // 6),
    },
    "texts alike": lambda d, n: {"s": ["a" * 20 + str(i) for i in range(n // 25 + 1)], "t": "a" * (n // 2)},
    "one long text": lambda d, n: {"s": ["a" * (n // 2)] + ["b"] * (n // 8), "t": ["x"] * (n // 8)},
    "numbers": lambda d, n: {"x": [d.randrange(-9, n + 1) for _ in range(n // 5 + 1)], "y": list(range(n // 5))},
    "doubles": lambda d, n: {
        "x": [d.random() * 10 ** d.randrange(-300, 300) for _ in range(n // 18 + 1)],
        "y": [0.5] * (n // 5),
    },
    "hashes": lambda d, n: {"x": [i * P for i in range(n // 21 + 1)], "y": [-i * P for i in range(n // 21)]},
    "long number": lambda d, n: {"x": int("9" * min(n, 4000)), "y": 10 ** min(n, 4000)},
    "digits": lambda d, n: {"x": float("0." + "1" * n), "s": "1" * n, "t": "1." * (n // 2) + "1"},
    "mixed": lambda d, n: {"x": [d.choice([1, 1.0, "a", None, True, {}, [], "2024-01-01"]) for _ in range(n // 6 + 1)]},
    "nulls": lambda d, n: {"x": [None] * (n // 6), "s": [], "y": None, "a": [{"b": None}] * (n // 12)},
    "attributes": lambda d, n: {f"z{d.randrange(10**6)}": d.choice([1, "a", None]) for _ in range(n // 12 + 1)},
    "structs": lambda d, n: {"a": [{"b": d.choice(["a", 1, [1, 2], None])} for _ in range(n // 12 + 1)]},
    "empty structs": lambda d, n: {"a": [{} for _ in range(n // 4)], "x": [{}] * (n // 8)},
    "deep structs": lambda d, n: {"a": _nested(min(n // 8, 400), lambda v: {"a": v})},
    "deep lists": lambda d, n: {
        "x": _nested(min(n // 2, 400), lambda v: [v]),
        "a": _nested(min(n // 8, 400), lambda v: [{"b": v}]),
    },
    "times": lambda d, n: {
        "t": [f"20{d.randrange(10, 99)}-0{d.randrange(1, 9)}-01" for _ in range(n // 13 + 1)],
        "x": "2024-01-01",
    },
    "versions": lambda d, n: {"s": "1." * (n // 4) + "0" * (n // 4), "t": ["1.0"] * (n // 12)},
    "addresses": lambda d, n: {"s": [f"{d.randrange(256)}.1.1.1" for _ in range(n // 12 + 1)], "t": "1:" * n},
    "names": lambda d, n: {d.choice(ODD) * n: 1, "x": 1},
    "booleans": lambda d, n: {"b": [d.random() < 0.5 for _ in range(n // 6 + 1)], "x": True},
}
FORMS = ["dict", "json", "arrow"]


def random_event(draw: random.Random) -> EventGene:
    """A gene of any kind."""
    kinds = tuple(draw.choice(list(KINDS)) for _ in range(draw.choice((1, 1, 2, 3))))
    return EventGene(kinds, draw.choice(FORMS), draw.randrange(1 << 30))


def mutated_event(gene: EventGene, draw: random.Random) -> EventGene:
    """A gene that differs in one choice."""
    other = random_event(draw)
    which = draw.randrange(3)
    if which == 0:
        return gene._replace(kinds=(*gene.kinds[1:], *other.kinds)[:3])
    return gene._replace(form=other.form) if which == 1 else gene._replace(seed=other.seed)


def event_of(gene: EventGene, size: int) -> dict[str, Any]:
    """The event of about so many bytes as JSON."""
    draw = random.Random(gene.seed)
    event: dict[str, Any] = {}
    for kind in gene.kinds:
        share = size // len(gene.kinds)
        # To make a column of some hundred levels takes Arrow itself seconds and a gigabyte.
        event |= KINDS[kind](draw, min(share, 160) if gene.form == "arrow" and kind.startswith("deep") else share)
    return event
