"""Rules as text and events as dicts through every engine, against the reference evaluator."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruledex import (
    Index,
    Schema,
    evaluate,
    parse,
    to_text,
)
from ruledex.engines.registry import build_engine
from ruledex.workloads import workload
from tests.contract.conftest import ENGINES
from tests.contract.sizes import scaled
from tests.strategies import events, trees

# All events of the generators against the reference take minutes; a part of them is compared, and the engines on all.
N_REFERENCE = 500 if os.environ.get("RULEDEX_CONTRACT_FULL") else 6


def check(rules, given_events, engine, schema=None):
    index = Index.build(list(enumerate(rules)), engine=engine, schema=schema, engine_options=ENGINES[engine])
    expected = [
        [i for i, text in enumerate(rules) if evaluate(parse(text), event, schema or Schema()) is True]
        for event in given_events
    ]
    assert [index.match(event) for event in given_events] == expected
    found = index.match_batch(given_events)
    assert [
        np.asarray(found.rule)[a:b].tolist() for a, b in zip(found.offsets, found.offsets[1:], strict=False)
    ] == expected
    assert index.count(given_events).tolist() == list(map(len, expected))


@pytest.mark.parametrize("engine", ENGINES)
@given(
    rules=st.lists(trees(3).map(to_text), min_size=1, max_size=8),
    given_events=st.lists(events(), min_size=1, max_size=4),
)
@settings(max_examples=60)
def test_drawn_rules_and_events(engine, rules, given_events):
    check(rules, given_events, engine)


CASES = {
    "pure negation": (
        ["a != 1", "a NOT IN (1, 2) AND b != 'x'", "NOT (a > 5 OR b < 50)"],
        [{"a": 1}, {"a": 3}, {"b": 7}],
    ),
    "an empty event": (["a = 1", "a IS NULL", "TRUE", "a IS NULL OR a != 1"], [{}]),
    "an attribute that no rule knows": (["a = 1"], [{"z": 1}, {"a": 1, "z": {"y": [1]}}]),
    "a rule that is true": (["TRUE", "a = 1", "1 < 2", "FALSE", "NULL"], [{}, {"a": 1}]),
    "a rule twice": (["a = 1 AND b = 2", "b = 2 AND a = 1", "a = 1 AND b = 2"], [{"a": 1, "b": 2}, {"a": 1}]),
    "functions of texts and numbers": (
        [
            "contains(s, 'a_') AND NOT startswith(s, 'x')",
            "(s LIKE concat(t, '%'))^2",
            "s NOT ILIKE t",
            "a DIV 2 = 1 OR pmod(a, 4) = 3",
            "greatest(a, b, 3) > 4",
            "pmod(hash(s, 'salt'), 10) < 5",
            "(endswith(s, t)) IS NOT TRUE",
            "s COLLATE UTF8_LCASE IN ('A_B', 'XA_') AND s COLLATE UTF8_LCASE NOT LIKE 'Xb%'",
            "CAST(s AS INT) > 3 OR a::STRING = '3'",
            "present(b) AND b IS NULL",
            "s = array('xa_', 'b') OR s != array('a')",
            "NOT present(s) OR typeof(s) = 'array<string>'",
            "(s::BOOLEAN)^2 AND a::DECIMAL(5, 2) IS NOT NULL",
        ],
        [
            {"s": "a_b", "t": "a"},
            {"a": 3, "b": None},
            {"a": -7, "s": ["xa_", "b"], "t": "B"},
            {"s": 5, "t": "%"},
            {"s": "1"},
        ],
    ),
    "two values that hit one list": (
        ["a IN (3, 4) AND s = 'NY'", "a IN (3, 4)", "a NOT IN (3, 4)"],
        [{"a": [3, 4]}, {"a": [3, 4], "s": "NY"}, {"a": [5, 6]}],
    ),
    "two values that straddle a range": (
        ["a BETWEEN 3 AND 5", "NOT a BETWEEN 3 AND 5", "a >= 3 AND a <= 5", "a < 3 OR a > 5"],
        [{"a": [1, 9]}, {"a": [1, 4]}, {"a": 4}, {"a": []}],
    ),
    "a or not in with only b": (["a = 1 OR b NOT IN (2)"], [{"b": 3}, {"b": 2}, {"a": 1}, {"a": 2}, {}]),
    "the same attribute twice in a conjunction": (
        ["a = 1 AND a = 2", "a > 1 AND a < 5"],
        [{"a": [1, 2]}, {"a": 1}, {"a": 3}],
    ),
    "the same value in and not in": (
        ["(a = 1 OR b = 1) AND (a != 1 OR c = 1)"],
        [{"a": 1}, {"a": 1, "c": 1}, {"b": 1, "a": 2}],
    ),
    "integers of 64 bits next to each other": (
        [f"a = {2**63 - 1}", f"a = {2**63 - 2}", f"a > {2**63 - 2}", f"a < {-(2**63) + 1}"],
        [{"a": 2**63 - 1}, {"a": 2**63 - 2}, {"a": -(2**63)}, {"a": float(2**63)}],
    ),
    "a changed operation on the same attribute": (["x % 4 = 1", "x = 1"], [{"x": 1}, {"x": 5}, {"x": -7}]),
    "1 and 1.0 in one list": (["a IN (1, 1.0)", "a NOT IN (1, 1.0)"], [{"a": 1}, {"a": 1.0}, {"a": True}, {"a": 2}]),
    "a range without a lower bound": (["a <= 5"], [{"a": -1e300}, {"a": -(2**63)}, {"a": 6}]),
    "5,000 values in one list": ([f"a IN ({', '.join(map(str, range(0, 10_000, 2)))})"], [{"a": 4998}, {"a": 4999}]),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CASES)
def test_named_cases(engine, name):
    check(*CASES[name], engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_no_rules_at_all(engine):
    assert Index.build([], engine=engine, engine_options=ENGINES[engine]).match({"a": 1}) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_a_rule_of_depth_200(engine):
    rule = "x0 = 1"
    for level in range(1, 199):
        rule = f"x{level} = 1 {('AND', 'OR')[level % 2]} ({rule})"
    check([rule], [{f"x{level}": 1 for level in range(199)}, {"x0": 1}, {"x197": 1}], engine)


@pytest.fixture(scope="module")
def many_rules():
    """100,000 rules on one attribute: an index of them, whose Program all engines are built over."""
    return Index.build([(i, f"a = {i}") for i in range(50_000)] + [(50_000 + i, f"a >= {i}") for i in range(50_000)])


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_100_000_rules_on_one_attribute(engine, many_rules):
    base = many_rules._state.base
    found = build_engine(engine, base.shards[0].program, None, ENGINES[engine])
    assert found.match(base.encoder.encode([{"a": 7}])).rule.tolist() == [7, *range(50_000, 50_008)]
    assert found.count(base.encoder.encode([{"a": 99_999}, {"a": -1}, {"b": 1}])).tolist() == [50_000, 0, 0]


@pytest.mark.slow
def test_100_000_rules_are_found_by_the_index(many_rules):
    assert many_rules.match({"a": 7}) == [7, *range(50_000, 50_008)]
    assert many_rules.count([{"a": 99_999}, {"a": -1}, {"b": 1}]).tolist() == [50_000, 0, 0]


GENERATORS: list[tuple[str, dict[str, Any]]] = [
    ("abe", {"n_expressions": 2000}),
    ("advertising", {"form": "dnf"}),
    ("advertising", {"form": "cnf"}),
]
GENERATORS += [("exchange", {}), ("intervals", {}), ("demo", {})]


@pytest.mark.parametrize(
    ("name", "parameters"), GENERATORS, ids=[f"{n} {p.get('form', '')}".strip() for n, p in GENERATORS]
)
def test_each_generator_gives_what_the_reference_gives(name, parameters):
    drawn = workload(name, seed=3, **parameters)
    rules, given_events = list(drawn.rules(scaled(2000, 50))), list(drawn.events(scaled(500, 25)))
    parsed = [(rule_id, parse(text)) for rule_id, text in rules]
    answers = {}
    for engine in ENGINES:
        index = Index.build(rules, engine=engine, engine_options=ENGINES[engine])
        found = index.match_batch(given_events)
        answers[engine] = (found.offsets.tolist(), np.asarray(found.rule).tolist())
        assert [index.match(event) for event in given_events[:20]] == [
            answers[engine][1][a:b] for a, b in zip(answers[engine][0][:20], answers[engine][0][1:21], strict=True)
        ]
    assert all(answer == answers["scan"] for answer in answers.values())
    offsets, found_rules = answers["scan"]
    for event, begin, end in zip(given_events[:N_REFERENCE], offsets, offsets[1:], strict=False):
        expected = sorted(rule_id for rule_id, tree in parsed if evaluate(tree, event) is True)
        assert found_rules[begin:end] == expected
