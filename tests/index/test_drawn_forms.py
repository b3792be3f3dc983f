"""Rules with all forms of the language beside the reference: each engine, tables, live rules, and an index on disk.

RULEDEX_FORM_ROUNDS=200 pytest tests/index/test_drawn_forms.py     as many rounds instead of a few
"""

from __future__ import annotations

import os
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from ruledex import Index, Schema, evaluate, parse
from tests.contract.conftest import ENGINES

N_ROUNDS = int(os.environ.get("RULEDEX_FORM_ROUNDS", "3"))
N_RULES, N_EVENTS = 24, 8
NOW = datetime(2024, 3, 10, 7, 30, tzinfo=UTC)  # New York's clocks have just been moved
ZONES = ("UTC", "America/New_York", "Asia/Kolkata")
DEFINITIONS = {"adult": "age >= 18", "odd one": "@adult AND n > 2 OR exists(items, i -> i.p > n)"}
NUMBERS = ("0", "1", "2", "3", "-1", "2.5", "10")
TEXTS = ("'a'", "'B'", "'ab'", "'A%'", "'12'", "'x y'", "''")
UNITS = ("DAYS", "HOURS", "MONTHS", "MINUTES")
# `#` is a number, `$` a text, `~` a small number, `?` a unit of time, and `{}` a condition on an element.
FORMS = (
    *("a = #", "s = $", "n > #", "* = $", "* ILIKE '%a%'", "NOT * LIKE 'a%'", "n IN (#, #^2, NULL)"),
    *("contains(s, $)", "startswith(s, t)", "s LIKE t", "endswith(t, $)", "concat(s, t) = 'ab'"),
    *("CAST(s AS INT) > #", "s::DOUBLE = #", "try_cast(n AS STRING) = $", "CAST(s AS DATE) > DATE '2024-01-01'"),
    *("pmod(hash(s, 'x'), 4) < 2", "pmod(xxhash64(n), 3) = 1", "crc32(s) % 2 = 0", "n DIV 2 = 1"),
    *("s COLLATE UTF8_LCASE = $", "s COLLATE UTF8_LCASE IN ($, $)", "present(s)", "present(items)"),
    *("typeof(n) = 'bigint'", "typeof(n) = 'double'", "nums = array(1, 2)", "tags != array('a')"),
    *("ts > now() - INTERVAL ~ ?", "ts BETWEEN now() - INTERVAL ~ MONTH AND now() + INTERVAL ~ ?"),
    *("CAST(ts AS DATE) = current_date()", "datediff(current_date(), ts) > ~"),
    *("exists(items, i -> {})", "forall(items, i -> {})", "NOT exists(items, i -> {})", "exists(items.q, q -> q = n)"),
    *("exists(items, i -> i.seen > now() - INTERVAL ~ ?)", "size(filter(items, i -> {})) >= ~"),
    *("items[~].p > #", "element_at(nums, -1) = #", "array_contains(tags, $)", "arrays_overlap(tags, items.k)"),
    *("array_max(nums) > #", "array_min(items.p) < #", "array_size(tags) = ~", "@adult", "NOT @`odd one`"),
)
ELEMENTS = (
    *("i.p > #", "i.k = $", "i.p > n", "i.k IS NULL", "i.k LIKE '%a%' OR i.p = #", "NOT i.p = #", "i.k = s"),
    *("exists(i.q, j -> j > # OR j = n)", "forall(i.q, j -> j < i.p)", "({} AND {})", "i.q[0] = #", "upper(i.k) = 'A'"),
)
COLUMNS = pa.schema(
    {
        **dict.fromkeys(("a", "n"), pa.float64()),
        **dict.fromkeys(("s", "t"), pa.string()),
        "age": pa.int64(),
        "ts": pa.timestamp("us", "UTC"),
        "tags": pa.list_(pa.string()),
        "nums": pa.list_(pa.float64()),
        "items": pa.list_(
            pa.struct(
                {"p": pa.float64(), "k": pa.string(), "q": pa.list_(pa.float64()), "seen": pa.timestamp("us", "UTC")}
            )
        ),
    }
)


class Drawing:
    """Draws rules and events."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)

    def filled(self, form: str, depth: int = 0) -> str:
        made = {"#": NUMBERS, "$": TEXTS, "~": "0123", "?": UNITS}
        text = "".join(self.draw.choice(made[mark]) if mark in made else mark for mark in form)
        while "{}" in text:
            text = text.replace(
                "{}", self.filled(self.draw.choice(ELEMENTS[: -3 if depth > 1 else None]), depth + 1), 1
            )
        return text

    def rule(self, depth: int = 3) -> str:
        kind = self.draw.randrange(10)
        if depth == 0 or kind < 3:
            return self.filled(self.draw.choice(FORMS))
        if kind < 8:
            return f"({self.rule(depth - 1)} {'AND' if kind < 6 else 'OR'} {self.rule(depth - 1)})"
        if kind == 8:
            return f"NOT ({self.rule(depth - 1)})"
        truth = self.draw.choice(("TRUE", "FALSE", "UNKNOWN", "NOT TRUE", "NOT FALSE", "NOT UNKNOWN"))
        return f"(({self.rule(depth - 1)}) IS {truth})"

    def _number(self) -> Any:
        return self.draw.choice((0.0, 1.0, 2.0, 3.0, -1.0, 2.5, 10.0, None))

    def _text(self) -> Any:
        return self.draw.choice(("a", "B", "b", "ab", "A%", "12", "3", "x y", "", "2024-02-03", None))

    def _time(self) -> datetime:
        return NOW + timedelta(hours=self.draw.randrange(-2000, 1200), minutes=self.draw.choice((0, 30)))

    def _several(self, one: Any) -> list[Any]:
        return [one() for _ in range(self.draw.randrange(3))]

    def _item(self) -> Any:
        made = {"p": self._number(), "k": self._text(), "q": self._several(self._number), "seen": self._time()}
        return None if self.draw.random() < 0.1 else made

    def event(self) -> dict[str, Any]:
        made = {"a": self._number(), "n": self._number(), "s": self._text(), "t": self._text(), "ts": self._time()}
        made |= {"tags": self._several(self._text), "nums": self._several(self._number)}
        made |= {"items": self._several(self._item), "age": self.draw.choice((10, 18, 30))}
        return {name: None if self.draw.random() < 0.15 else value for name, value in made.items()}


@pytest.mark.parametrize("seed", range(N_ROUNDS))
def test_every_form_means_the_same_everywhere(seed, tmp_path):
    drawing = Drawing(seed)
    schema = Schema(time_zone=ZONES[seed % len(ZONES)], definitions=DEFINITIONS)
    rules = [(number, drawing.rule()) for number in range(N_RULES)]
    trees = [schema.bind(parse(text), text) for _, text in rules]
    events = [drawing.event() for _ in range(N_EVENTS)]
    expected = [[i for i, tree in enumerate(trees) if evaluate(tree, event, schema, now=NOW)] for event in events]

    def assert_right(index: Index, name: str) -> None:
        assert [index.match(event, now=NOW) for event in events] == expected, name
        assert list(index.match_batch(events, now=NOW)) == expected, name
        assert list(index.match_batch(pa.Table.from_pylist(events, COLUMNS), now=NOW)) == expected, name

    for engine, options in ENGINES.items():
        if engine not in ("dewey", "interval", "cnf") or seed % 3 == 0:
            made = {**options, "overflow": "sparse"} if engine in ("dnf", "cnf", "dewey", "interval") else options
            assert_right(Index.build(rules, engine, schema=schema, engine_options=made), engine)
    Index.build(rules[: N_RULES // 2], schema=schema).save(tmp_path / "index")
    with Index.open(tmp_path / "index") as index:
        index.add([(N_RULES, drawing.rule()), *rules[N_RULES // 2 :]])
        index.remove([N_RULES])
        assert_right(index, "live")
        index.compact()
    with Index.open(tmp_path / "index") as index:
        assert_right(index, "opened")
