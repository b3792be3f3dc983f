"""What is prepared is what `values_of` finds."""

from __future__ import annotations

import math

import pytest

from ruledex import Index, Schema, parse
from ruledex.language.functions.registry import FUNCTIONS
from ruledex.language.lambdas import nodes_in
from ruledex.language.prepared import prepare
from ruledex.language.resolve import values_of
from ruledex.language.tree import Attribute, Call

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
