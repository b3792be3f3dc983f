"""Programs and encoded events against the reference evaluator, before any engine comes in."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruledex import Schema, evaluate, parse, score, to_text
from ruledex.events.mappings import EventEncoder
from ruledex.program.builder import ProgramBuilder
from ruledex.rewrite.pipeline import score_tree
from tests.contract.reference import Reference
from tests.strategies import SINGLE, events, examples, trees

pytestmark = pytest.mark.filterwarnings("ignore::ruledex.errors.RuledexWarning")  # bytes among the sample events

SCHEMAS = [Schema(), Schema.of_mapping(SINGLE)]


def answers(rules, given_events, schema=SCHEMAS[0], weights=None):
    builder = ProgramBuilder(schema)
    for rule in rules:
        builder.add(rule)
    program, dictionary = builder.finish()
    batch = EventEncoder(dictionary).encode(given_events, weights)
    return Reference(program), batch


def same_as_reference(rules, given_events, schema=SCHEMAS[0]):
    reference, batch = answers(rules, given_events, schema)
    for event, found in zip(given_events, reference.matches(batch), strict=True):
        expected = [i for i, rule in enumerate(rules) if evaluate(rule, event, schema) is True]
        assert found == expected, event


@pytest.mark.parametrize("schema", SCHEMAS, ids=["several values", "one value"])
@given(rules=st.lists(trees(3), min_size=1, max_size=5), given_events=st.lists(events(), min_size=1, max_size=5))
@settings(max_examples=examples(400))
def test_a_program_matches_what_the_reference_does(rules, given_events, schema):
    same_as_reference(rules, given_events, schema)


@given(rules=st.lists(trees(3, ("a", "s", "flag")), min_size=1, max_size=3), event=events(("a", "s", "flag")))
@settings(max_examples=examples(400))
def test_a_program_scores_what_the_reference_does(rules, event):
    weights = {"a": {1: 2.0, 2: 0.5}, "s": 3.0}
    reference, batch = answers(rules, [event], weights=[weights])
    (ranked,) = reference.top(batch, len(rules), "sum")
    expected = {i: score(score_tree(rule), event, weights) for i, rule in enumerate(rules)}
    found = dict(ranked)
    assert found.keys() == {i for i, points in expected.items() if points is not None}
    assert found == {i: pytest.approx(expected[i]) for i in found}


RULES = """
x = 9007199254740992
x = 9007199254740993
x > 9007199254740992 AND x < 9007199254740994
x = 9007199254740993.0
x IN (9007199254740992D, 5)
x BETWEEN 1 AND 2.5D
NOT x BETWEEN 1 AND 2.5D
x = 0.1
x = 0.1D
x > 0.1
x > 0.1D
x <=> 5
NOT x <=> 5
x IS NULL
x IS NOT NULL
x IS NULL OR x != 5
x IN (1, NULL)
x NOT IN (1, NULL)
x < 'm'
x >= 'm' AND x != 'zz'
x LIKE 'a%' OR x RLIKE 'z+$'
x NOT LIKE 'a%'
x LIKE ALL ('a%', '%b')
x NOT LIKE ANY ('a%', '%b')
x ILIKE 'ABC'
x = TRUE
NOT x
x > DATE '2024-03-10'
x = DATE '2024-03-10'
x <= TIMESTAMP '2024-03-10 05:00:00Z'
x < y
x = y
x <=> y
NOT x <=> y
x != y
subset_of(x, 'ab', 'z')
NOT subset_of(x, 'ab', 'z')
superset_of(x, 'ab', 'z')
NOT superset_of(x, 'ab', 'z')
set_equals(x, 1, 2)
NOT set_equals(x, 1, 2)
subset_of(x, 1, 2.5D)
NOT subset_of(x, 1, 2.5D)
size(x) = 0
size(x) >= 2
version(x) < '1.10'
version(x) >= '1.9.0-beta'
cidr(x) IN ('10.0.0.0/8', '10.1.0.0/16')
cidr(x) NOT IN ('10.1.0.0/16')
length(x) > 2 XOR lower(x) = 'abc'
x % 4 = 1
x = 1
coalesce(x, 7) = 7
TRUE
FALSE
NULL
p.q = 1
p.q != 1
p.q IS NULL
p IS NULL
subset_of(p.q, 1)
""".strip().splitlines()

NUMBERS = [5, 5.0, Decimal("5.00"), 1, 2, 1.5, 2.5, 2.75, 3, -7, 2**53, 2**53 + 1, 2**53 + 2, 2.0**53, 0.1]
NUMBERS += [Decimal("0.1"), Decimal("0.10000000000000001"), 2**70, -(2**63), True, False]
STRINGS = ["ab", "abc", "ABC", "zz", "z", "m", "", "1.9.5", "1.10", "10.1.2.3", "10.2.0.1", "11.0.0.1"]
TIMES = ["2024-03-10", "2024-03-10T05:00:00Z", "2024-03-10T12:00:00", date(2024, 3, 10), date(2024, 3, 11)]
TIMES += [datetime(2024, 3, 10), datetime(2024, 3, 10, 12)]
ARRAYS = [[], [None], [1, 2], [2, 1, 1], [1, "ab"], ["ab", "z"], ["ab", "q"], ["z", None], [1, 2.5], [5, 6], [[1]]]
STRUCTS = [{"q": 1}, [{"q": 1}, {"q": 2}], [{"q": []}], [{"q": [1, 2]}, {}], b"bytes"]
VALUES = [None, float("nan"), *NUMBERS, *STRINGS, *TIMES, *ARRAYS, *STRUCTS]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_every_kind_of_literal_against_every_kind_of_value(zone):
    schema = Schema(time_zone=zone)
    rules = [parse(text) for text in RULES]
    given_events = [{"x": value} for value in VALUES] + [{"p": value} for value in VALUES] + [{}]
    given_events += [{"x": a, "y": b} for a in VALUES[:30] for b in (5, 5.0, "ab", None, [1, 2])]
    reference, batch = answers(rules, given_events, schema)
    for event, found in zip(given_events, reference.matches(batch), strict=True):
        expected = [text for text, rule in zip(RULES, rules, strict=True) if evaluate(rule, event, schema) is True]
        assert [RULES[i] for i in found] == expected, event


def by_texts(texts, schema):
    builder = ProgramBuilder(schema)
    encoded = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, encoded)])
    faults = builder.add_texts(np.frombuffer(b"".join(encoded), np.uint8), offsets, np.zeros(len(texts)))
    return builder, faults


@pytest.mark.parametrize("schema", SCHEMAS, ids=["several values", "one value"])
@given(rules=st.lists(trees(3), min_size=1, max_size=5), given_events=st.lists(events(), min_size=1, max_size=5))
@settings(max_examples=examples(300))
def test_rules_read_by_compiled_code_match_what_the_reference_does(rules, given_events, schema):
    builder, faults = by_texts([to_text(rule) for rule in rules], schema)
    assert not faults
    program, dictionary = builder.finish()
    batch = EventEncoder(dictionary).encode(given_events)
    for event, found in zip(given_events, Reference(program).matches(batch), strict=True):
        assert found == [i for i, rule in enumerate(rules) if evaluate(rule, event, schema) is True], event


def test_constants_in_parentheses_are_read_by_compiled_code_too():
    texts = ["x IN ((1), (2)) AND y = (1)", "(1) = x OR x BETWEEN (3) AND ((4)) AND y = 1", "NOT s LIKE ('a%')"]
    builder, faults = by_texts(texts, Schema())
    assert not faults
    assert builder.n_read_by_parser == 0
    program, dictionary = builder.finish()
    given_events = [{"x": x, "y": y, "s": s} for x in range(6) for y in range(2) for s in ("ab", "ba")]
    found = Reference(program).matches(EventEncoder(dictionary).encode(given_events))
    assert found == [[i for i, text in enumerate(texts) if evaluate(parse(text), event)] for event in given_events]


def test_rules_that_are_none_are_given_back_and_leave_no_gap():
    builder, faults = by_texts(
        ["a = 1", "a = ", "b = 2 AND (c", "a = 1 OR b = 2", "c RLIKE '('", "d = 1e999"], Schema()
    )
    assert [place for place, _ in faults] == [1, 2, 4, 5]
    assert "the rule ends here" in str(faults[0][1])
    program, dictionary = builder.finish()
    batch = EventEncoder(dictionary).encode([{"a": 1}, {"b": 2}])
    assert Reference(program).matches(batch) == [[0, 1], [1]]


def test_a_predicate_that_contradicts_the_schema_is_explained_with_its_place_in_the_rule():
    schema = Schema.of_mapping({"attributes": {"a": "string"}})
    _, faults = by_texts(["b = 1 AND a > 5"], schema)
    assert [(place, error.position) for place, error in faults] == [(0, 10)]
