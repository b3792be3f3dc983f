"""Conditions on elements of arrays beside Spark SQL, word for word and as `to_spark` writes them."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

from ruledex.language.parser import parse
from ruledex.language.reference import truth_of
from ruledex.language.spark_text import to_spark
from ruledex.language.text import tree_text
from tests.oracle.table import session

N_PAIRS = int(os.environ.get("RULEDEX_ORACLE_PAIRS", "20000"))
N_EVENTS, N_RULES = 100, 50
COLUMNS = {
    "items": "ARRAY<STRUCT<price: BIGINT, kind: STRING, tags: ARRAY<STRING>, parts: ARRAY<STRUCT<n: BIGINT>>>>",
    "numbers": "ARRAY<BIGINT>",
    "words": "ARRAY<STRING>",
    "least": "BIGINT",
    "word": "STRING",
}
WORDS = ["a", "b", "ab", "", "é"]


class Drawing:
    """Draws rules and events from one stream of random numbers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.pick = self.random.choice

    def _maybe(self, value: Any) -> Any:
        return None if self.random.random() < 0.2 else value

    def _array(self, make: Any) -> Any:
        return self._maybe([make() for _ in range(self.pick([0, 1, 1, 2, 3]))])

    def number(self) -> int | None:
        return self._maybe(self.random.randint(0, 4))

    def word(self) -> str | None:
        return self._maybe(self.pick(WORDS))

    def item(self) -> dict[str, Any] | None:
        parts = self._array(lambda: self._maybe({"n": self.number()}))
        tags = self._array(self.word)
        return self._maybe({"price": self.number(), "kind": self.word(), "tags": tags, "parts": parts})

    def event(self) -> dict[str, Any]:
        return {
            "items": self._array(self.item),
            "numbers": self._array(self.number),
            "words": self._array(self.word),
            "least": self.number(),
            "word": self.word(),
        }

    def rule(self, depth: int, scope: dict[str, str]) -> str:
        """A condition over the event and the variables in scope, whose kinds it has."""
        if depth and self.random.random() < 0.5:
            first, second = (self.rule(depth - 1, scope) for _ in range(2))
            return self.pick(
                [f"({first} AND {second})", f"({first} OR {second})", f"NOT {first}", f"({first}) IS NOT TRUE"]
            )
        if depth and self.random.random() < 0.7:
            return self._lambda(depth, scope)
        return self._leaf(scope)

    def _lambda(self, depth: int, scope: dict[str, str]) -> str:
        arrays = {"items": "item", "numbers": "number", "words": "word"}
        for name, kind in scope.items():
            if kind == "item":
                arrays |= {f"{name}.tags": "word", f"{name}.parts": "part"}
        array = self.pick(sorted(arrays))
        name = self.pick(["x", "y", "word"])  # also one that hides another, or an attribute
        body = self.rule(depth - 1, {**scope, name: arrays[array]})
        return f"{self.pick(['exists', 'forall'])}({array}, {name} -> {body})"

    def _leaf(self, scope: dict[str, str]) -> str:
        numbers, words, nulls = ["least"], [] if "word" in scope else ["word"], ["items", "numbers"]
        for name, kind in scope.items():
            numbers += {"item": [f"{name}.price"], "number": [name], "part": [f"{name}.n"]}.get(kind, [])
            words += {"item": [f"{name}.kind"], "word": [name]}.get(kind, [])
            nulls.append(name)
        number, word = self.pick(numbers), self.pick(words or ["concat(least, '')"])
        leaves = [
            f"{number} {self.pick(['=', '<', '>=', '!='])} {self.random.randint(0, 4)}",
            f"{number} {self.pick(['=', '<', '<=>'])} {self.pick(numbers)}",
            f"{number} + {self.pick(numbers)} IN (1, 2, 5)",
            f"{number} IS NULL",
        ]
        if words:
            leaves += [f"{word} LIKE 'a%'", f"{word} IN ('a', 'ab')", f"{word} < {self.pick(words)}"]
        return self.pick(leaves)


@pytest.mark.parametrize("zone", ["UTC"])
def test_lambdas_are_true_false_and_unknown_where_spark_sql_says_so(spark, zone):
    with session(spark, zone) as sql:
        for seed in range(-(-N_PAIRS // (2 * N_EVENTS * N_RULES))):
            drawing = Drawing(seed)
            events = [drawing.event() for _ in range(N_EVENTS)]
            texts = [drawing.rule(4, {}) for _ in range(N_RULES)]
            trees = [parse(text) for text in texts]
            schema = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
            table = sql.createDataFrame([tuple(event.values()) for event in events], schema)
            asked = [*texts, *map(to_spark, trees)]
            named = [f"{condition} AS answer{number}" for number, condition in enumerate(asked)]
            for event, row in zip(events, table.selectExpr(*named).collect(), strict=True):
                for number, tree in enumerate(trees):
                    ours, theirs = truth_of(tree, event), (row[number], row[N_RULES + number])
                    assert (ours, ours) == theirs, f"seed {seed}\n{texts[number]}\n{tree_text(tree)}\n{event}"


# Places past the ends are errors in Spark's ANSI mode, so that `to_spark` writes functions that give NULL.
OF_ARRAYS = [
    "items[0].price > 2",
    "element_at(items, -1).kind = 'a'",
    "element_at(numbers, 2) < numbers[0]",
    "numbers[2] IS NULL",
    "items[1].tags[0] = word",
    "items[0].parts[1].n <=> least",
    "array_contains(numbers, 3)",
    "NOT array_contains(words, 'a')",
    "arrays_overlap(words, items[0].tags)",
    "(arrays_overlap(words, items[1].tags)) IS UNKNOWN",
    "array_min(numbers) = least",
    "array_max(words) >= 'ab'",
    "array_size(items) = 2",
    "array_size(filter(items, i -> i.price > least)) > 1",
    "size(filter(numbers, n -> n >= least AND n < 4)) = 1",
    "exists(items, i -> array_size(filter(i.parts, p -> p.n < i.price)) = i.parts[0].n)",
    "forall(items, i -> i.tags[0] = word OR array_contains(i.tags, 'b'))",
]


def test_functions_of_arrays_give_what_spark_sql_gives(spark):
    drawing = Drawing(1)
    events = [drawing.event() for _ in range(400)]
    trees = [parse(text) for text in OF_ARRAYS]
    schema = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    with session(spark, "UTC") as sql:
        table = sql.createDataFrame([tuple(event.values()) for event in events], schema)
        rows = table.selectExpr(*[f"{to_spark(tree)} AS answer{number}" for number, tree in enumerate(trees)]).collect()
    for number, tree in enumerate(trees):
        differing = [event for event, row in zip(events, rows, strict=True) if truth_of(tree, event) is not row[number]]
        assert not differing, f"{OF_ARRAYS[number]}\n{differing[0]}"
        assert {row[number] for row in rows} >= {True, False}, OF_ARRAYS[number]
