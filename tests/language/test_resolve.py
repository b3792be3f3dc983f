"""Functions of attributes: over several arrays, beyond limits, and prepared for one plain value."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

from ruledex import Schema
from ruledex.index import Index
from ruledex.language.functions.registry import FUNCTIONS
from ruledex.language.lambdas import nodes_in
from ruledex.language.parser import parse
from ruledex.language.reference import truth_of
from ruledex.language.resolve import prepare, values_of
from ruledex.language.tree import Attribute, Call
from ruledex.limits import limited

RULES = [
    "concat(a, b) = 'pq'",
    "length(concat(a, b)) = 2",
    "x * x >= 4",
    "abs(x * y) > 0",
    "size(x * y) > 0",
    "x - y = z - y",
    "NOT x * y = 17",
    "x * y IS NULL",
    "x * y <=> 4",
    "coalesce(x * y, 17) = 17",
    "subset_of(x * y, 0, 1, 2, 4)",
]
EVENT: dict[str, Any] = {"a": ["p", "r"], "b": ["q", "s"], "x": [1, 2], "y": [1, 2], "z": 1}


def over(text: str, **event: Any) -> bool | None:
    with limited(event_products=3):
        return truth_of(parse(text), event)


@pytest.mark.parametrize("text", RULES[:6])
def test_a_function_over_two_arrays_is_known_within_the_limit_and_unknown_past_it(text):
    assert truth_of(parse(text), EVENT) is True
    with limited(event_products=4):
        assert truth_of(parse(text), EVENT) is True
    with limited(event_products=3):
        assert truth_of(parse(text), EVENT) is None
        assert truth_of(parse(f"NOT ({text})"), EVENT) is None


def test_past_the_limit_a_function_is_as_if_its_value_were_absent():
    assert over("x * y IS NULL", **EVENT) is True
    assert over("x * y <=> 4", **EVENT) is False
    assert over("coalesce(x * y, 17) = 17", **EVENT) is True
    assert over("subset_of(x * y, 1)", **EVENT) is None


def test_one_array_alone_has_no_limit():
    long = list(range(50_000))
    assert over("x + 1 = 50000", x=long) is True
    assert over("x * z = 0", x=long, z=2) is True
    assert over("x = y", x=long, y=long) is True


def test_nulls_and_values_of_other_types_do_not_count():
    assert over("x * y = 2", x=[1, None, "a", float("nan"), True], y=[2, "b", None]) is True


def test_characters_of_concat_are_limited_whatever_makes_them_many():
    with limited(concat_characters=10):
        assert truth_of(parse("concat(a, 'x') = 'px'"), {"a": ["p"] * 5}) is True
        assert truth_of(parse("concat(a, 'x') = 'px'"), {"a": ["p"] * 6}) is None
        assert truth_of(parse("concat(a, b) = 'px'"), {"a": "p", "b": "x" * 10}) is None
        assert truth_of(parse("concat(a, 'xxxxxxxxxx') = 'px'"), {"a": "p"}) is None


@pytest.mark.parametrize("engine", ["auto", "scan", "atree"])
@pytest.mark.parametrize("limit", [3, 4])
def test_every_road_follows_the_reference_and_counts_what_is_over(engine, limit):
    events = [EVENT, EVENT, {"x": [2], "y": [2], "z": 2, "a": ["p"], "b": ["q"]}, {}]
    with limited(event_products=limit):
        trees = [parse(text) for text in RULES]
        expected = [[at for at, tree in enumerate(trees) if truth_of(tree, event) is True] for event in events]
        built = Index.build(list(enumerate(RULES)), engine=engine)
        live = Index.build([(99, "FALSE")], engine=engine)
        live.add(list(enumerate(RULES)))
        counts = set()
        for index in (built, live):
            index._over_limit = 0
            assert [index.match(event) for event in events] == expected
            counts.add(index.describe()["over_limit"])
            assert [list(found) for found in index.match_batch(events)] == expected
            assert [list(found) for found in index.match_batch(pa.Table.from_pylist(events))] == expected
            assert index.describe()["over_limit"] == 3 * next(iter(counts))
            for at, truth in enumerate(at in expected[0] for at in range(len(RULES))):
                assert (index.explain(at, EVENT).truth is True) is truth
        (counted,) = counts
        assert (counted > 0) == (limit == 3)


VALUES = [0, 1, -7, 40, 2**31, 2**63 - 1, 2**70, 0.0, -0.0, 2.5, 1e300, math.inf, True, False, "", "a", "A b", "12"]
VALUES += [" 7 ", "1.5", "true", "2024-02-29", "2024-03-10T02:30:00", "é", "\ud800", "10.0.0.1", "1.2.3", "x" * 40]
MORE = [
    "pmod(xxhash64(x, 'salt'), 100) < 10",
    "hash('before', x, 3) > 0",
    "coalesce(upper(x), 'none') = 'none'",
    "greatest(abs(x), 3) > 2",
    "length(lower(trim(x))) + 1 > 2",
    "CAST(CAST(x AS STRING) AS INT) = 12",
    "100 / x > 3",
    "date_add(x, 3) > DATE '2024-01-01'",
]
SCHEMAS = [
    Schema(),
    Schema.of_mapping({"time_zone": "America/New_York", "attributes": {"x": "int", "ts": "timestamp"}}),
]


def calls_in(rule, schema):
    tree = schema.bind(parse(rule), rule)
    return [node for node in nodes_in(tree) if isinstance(node, Call)]


@pytest.mark.parametrize("schema", SCHEMAS, ids=["undeclared", "declared"])
def test_a_prepared_call_gives_what_the_general_one_does(schema):
    n_prepared = 0
    examples = [function.example for function in FUNCTIONS.values()] if schema is SCHEMAS[0] else []
    for rule in [*examples, *MORE[: None if schema is SCHEMAS[0] else 2]]:
        for call in calls_in(rule, schema):
            prepared = prepare(call, schema)
            if prepared is None:
                continue
            n_prepared += 1
            for value in VALUES:
                event = value
                for step in reversed(prepared.path):
                    event = {step: event}
                found = prepared.call(prepared.scalar(event))
                expected = values_of(call, event, schema)
                assert repr((found,)) == repr(expected) if expected else found is None, (rule, value)
    assert n_prepared > (50 if schema is SCHEMAS[0] else 2)


@pytest.mark.parametrize("value", [None, math.nan, [1], [], {}, {"y": 1}], ids=repr)
def test_other_values_are_left_to_the_general_way(value):
    prepared = prepare(calls_in("abs(x) > 1", Schema())[0], Schema())
    assert prepared is not None
    assert prepared.scalar({"x": value}) is None
    assert prepared.scalar({}) is None


def test_calls_of_two_attributes_of_whole_arrays_and_of_texts_are_not_prepared():
    for rule in ("x + y > 1", "size(x) > 1", "present(x)", "concat(x, 'a') = 'ba'", "* = 'a'"):
        assert all(prepare(call, Schema()) is None for call in calls_in(rule, Schema())), rule
    assert prepare(Attribute(("x",)), Schema()) is None


def test_an_index_answers_the_same_for_one_value_and_for_an_array_of_it():
    index = Index.build([(n, rule) for n, rule in enumerate(MORE)])
    for value in VALUES[:-8]:
        assert index.match({"x": value}) == index.match({"x": [value]}), value
