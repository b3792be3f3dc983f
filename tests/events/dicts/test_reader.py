"""Lists of dicts that are read in blocks have the cells that each event has alone."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from datetime import datetime
from decimal import Decimal
from enum import IntEnum
from random import Random
from typing import Any

import numpy as np
import pytest

from ruledex.compiled.scheduler import scheduler
from ruledex.errors import EventError
from ruledex.events.dicts.blocks import Blocks
from ruledex.index import Index

pytestmark = pytest.mark.filterwarnings("ignore::ruledex.errors.RuledexWarning")

RULES = [
    "n >= 3 AND n < 1000",
    "n IN (1, 2, 7, 2147483647, 2147483648, -2147483649, 9223372036854775807, -9223372036854775808)",
    "n > 2.5 OR n = 1e300",
    "n > 9007199254740993 OR n = 123456789012345678901234567890",
    "n = TRUE OR b = FALSE OR b",
    "s = 'v1' OR s IN ('abcdefgh', 'abcdefghi', 'abcdefghij', 'abc', '', 'größe', 'v\U0001f600')",
    "s < 'm' AND s NOT IN ('abcdefgh', 'x')",
    "s LIKE 'a%' OR t RLIKE 'x+y'",
    "t >= '2024-01-01T00:00:00' OR t IS NULL",
    "w >= TIMESTAMP '2024-01-01T00:00:00Z'",
    "d.a = 1 OR d.b.c = 'x' OR d.b.c > 5",
    "d.b IS NOT NULL AND d.`größe` = 2",
    "d IS NULL OR e.x = 3",
    "e IS NOT NULL AND e.y != 'q'",
    "`größe` = 'x' OR `a name that is longer than others` <= 10",
    "x IS NULL AND n NOT IN (1, 2)",
    "subset_of(m, 'a', 'b') OR m = 'c'",
]


class Colour(IntEnum):
    RED = 1


class Text(str):
    pass


NAMES = ["n", "s", "t", "b", "w", "d", "e", "m", "x", "größe", "a name that is longer than others", "", "unknown", "a"]
SHARED: list[Any] = [["a", "b"], {"a": 1, "b": {"c": "x"}}, ("c",), "a shared text", 10**40]
PLAIN: list[Any] = [
    *(0, 1, 2, 7, 255, 1000, -1, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**53 + 1, 2**60, 2**63 - 1, 2**63),
    *(-(2**63), -(2**63) - 1, 123456789012345678901234567890, 0.0, -0.0, 1.0, 2.5, 2.6, 1e300, math.nan, math.inf),
    *(-math.inf, True, False, None, "", "v1", "abc", "abcdefg", "abcdefgh", "abcdefghi", "abcdefghj", "x", "größe"),
    *("v\U0001f600", "\ud800", "2024-01-01T00:00:00", "2023-12-31", "xxy", "z" * 300, "ä" * 200),
]
MARSHALLED: list[Any] = [
    *([], [1], [1, "x"], [None], [[1, 2], 3], (), (1, 2.5), {"a": 1}, {"a": None, "b": 1}, {"b": {"c": 6}}),
    *([{"a": 1}, {"b": {"c": "x"}}], {"b": {"c": ["x", 7]}}, {1: 2}, {"größe": 2}, b"bytes", {1, 2}, frozenset({"a"})),
    *(1 + 2j, ..., StopIteration, np.int64(7), np.float64(2.6), np.array([1, 7]), bytearray(b"x"), {"x": 3, "y": "p"}),
]
OTHERS: list[Any] = [Decimal("2.5"), datetime(2024, 5, 1), Colour.RED, Text("v1"), OrderedDict(a=1), object]


def drawn_event(draws: Random, values: list[Any]) -> dict[Any, Any]:
    event: dict[Any, Any] = {}
    for name in draws.sample(NAMES, draws.randrange(len(NAMES))):
        key = "".join(list(name)) if draws.random() < 0.3 else name  # an object of its own
        event[key] = draws.choice(SHARED) if draws.random() < 0.05 else draws.choice(values)
    if draws.random() < 0.05:
        event[draws.choice([1, None, (1, "n"), b"n", True])] = 1
    return event


def encoder_of(index: Index[Any]) -> Any:
    state: Any = index._state
    return state.encoder


def alone(index: Index[Any], events: list[Any]) -> list[Any]:
    encoder = encoder_of(index)
    return [encoder.encode_one(event).cells.tolist() for event in events]


def in_block(index: Index[Any], events: list[Any]) -> list[Any] | None:
    encoder = encoder_of(index)
    found = encoder._encode_dicts(encoder.dicts, events, 0)
    if found is None:
        return None
    batch, n_bytes = found
    assert n_bytes > 0
    assert batch.single == encoder._encode_plain(events).single
    return [batch.cells[begin:end].tolist() for begin, end in zip(batch.offsets, batch.offsets[1:], strict=False)]


def batch(index: Index[Any], events: Any) -> list[list[Any]]:
    return list(index.match_batch(events))


@pytest.fixture(scope="module")
def index() -> Index[Any]:
    made = Index.build(list(enumerate(RULES)))
    assert not encoder_of(made).has_derived
    return made


@pytest.mark.parametrize("seed", range(12))
def test_a_block_has_the_cells_of_each_event_alone(index, seed):
    draws = Random(seed)
    values = PLAIN if seed % 2 else PLAIN + MARSHALLED
    events = [drawn_event(draws, values) for _ in range(40)]
    events += [draws.choice(events) for _ in range(10)]  # the same objects again
    events.insert(7, SHARED[1])
    assert in_block(index, events) == alone(index, events)


@pytest.mark.parametrize("seed", range(3))
def test_events_of_json_have_no_common_objects(index, seed):
    draws = Random(seed)
    values = [value for value in PLAIN if value == value and value not in (math.inf, -math.inf)]
    lines = [json.dumps({k: v for k, v in drawn_event(draws, values).items() if type(k) is str}) for _ in range(30)]
    events = [json.loads(line) for line in lines]
    assert in_block(index, events) == alone(index, events)


@pytest.mark.parametrize("value", OTHERS)
def test_values_of_further_types_are_read_one_by_one(index, value):
    events = [{"n": 5, "s": "v1"}, {"n": value, "d": {"a": value}}, {"w": [value]}]
    encoder = encoder_of(index)
    assert in_block(index, events) is None
    assert batch(index, events * 5) == [index.match(event) for event in events * 5]
    assert encoder.dicts is not None


def test_events_that_stand_there_again_need_room(index):
    event = {"n": 5, "s": "v1", "t": "xxy", "b": True, "d": {"a": 1, "b": {"c": "x"}}}
    plain = {"n": 5, "s": "abcdefghi", "b": True}
    events = [plain] + [event] * 300 + [plain] * 300
    assert in_block(index, events) == alone(index, events)


def test_many_names_are_told_apart():
    names = [f"{'x' * (number % 13)}{number}" for number in range(300)] + ["p.q.r", "p.q.s", "p.r", "q.r"]
    index = Index.build([(at, f"{name} = {at % 5}") for at, name in enumerate(names)])
    draws = Random(0)
    events = [{name: draws.randrange(6) for name in draws.sample(names[:300], 20)} for _ in range(20)]
    events += [{"p": {"q": {"r": draws.randrange(6), "s": 1}, "r": 2}, "q": {"r": 3, "s": 1}, "r": 1} for _ in range(5)]
    assert in_block(index, events) == alone(index, events)


@pytest.mark.parametrize("n_events", [0, 1, 7, 8, 9, 63, 64, 65, 600, 1200])
def test_batches_of_any_size_are_matched(index, n_events):
    draws = Random(n_events)
    events = [drawn_event(draws, PLAIN) for _ in range(n_events)]
    found = batch(index, events)
    assert found == [index.match(event) for event in events]
    assert batch(index, iter(events)) == found


def test_an_error_names_the_event_and_events_before_it_come_first(index):
    deep: Any = 1
    for _ in range(150):
        deep = [deep]
    events: list[Any] = [{"n": 1}] * 100
    with pytest.raises(EventError, match=r"^events\[93\]"):
        batch(index, [*events[:93], 5, *events])
    with pytest.raises(EventError, match=r"^events\[70\].*event_depth"):
        batch(index, [*events[:70], {"d": deep}, 5, *events])
    with pytest.raises(EventError, match=r"^events\[70\].*event_depth"):
        batch(index, [*events[:70], {"d": deep}, *events])


def test_large_values_that_no_rule_reads_do_not_matter(index):
    events = [{"n": number, "unknown": "x" * 50_000} for number in range(100)]
    assert batch(index, events) == [index.match(event) for event in events]


def test_one_dict_that_changes_from_event_to_event_is_read_each_time(index):
    def changing() -> Any:
        event: dict[str, Any] = {}
        for number in range(100):
            event["n"] = number
            yield event

    assert batch(index, changing()) == [index.match({"n": number}) for number in range(100)]


def test_blocks_have_all_events_in_their_order():
    blocks = Blocks(list(range(2000)))
    found = []
    for block in blocks:
        found.append(block)
        blocks.expect(1000)
    assert [number for block in found for number in block] == list(range(2000))
    assert list(map(len, found)) == [64, 512, 512, 512, 400]


def test_plain_forms_read_no_blocks(index):
    events = [{"n": 1}] * 20
    with scheduler.plainly():
        assert batch(index, events) == [index.match(event) for event in events]
