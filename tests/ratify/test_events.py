"""Events that are drawn from rules: most rules are true of some and not of others, and a seed repeats them."""

from __future__ import annotations

import pytest

from ruledex.language.clock import asked_at
from ruledex.language.functions.registry import FUNCTIONS
from ruledex.language.parser import parse
from ruledex.language.reference import truth_of
from ruledex.language.schema import Schema
from ruledex.ratify.events import EventDrawer, nest

# No event that is drawn gives a hash a value that was chosen, or changes the clock.
OUT_OF_REACH = {"md5", "sha1", "sha2", "current_timestamp", "current_date"}
TEXTS = [
    "a > 5 AND a < 7 AND b IN ('x', 'y')",
    "a > 3 AND a <= 4 OR NOT (c = 1 AND d LIKE 'x%')",
    "email RLIKE '^[a-z]+@example[.](com|org)$'",
    "exists(items, i -> i.price > 5 AND i.kind = 'a')",
    "exists(items, i -> i.price > least AND i.kind = 'a')",
    "NOT exists(items, i -> i > 5)",
    "forall(tags, t -> t LIKE 'a%')",
    "exists(orders, o -> exists(o.lines, l -> l > o.least))",
    "filter(items, i -> i.kind = 'a')[0].price > 5",
    "size(filter(items, i -> i.kind = 'a')) = 2",
    "* ILIKE '%mimi%' AND a = 1",
    "a < b",
    "a.b.c = a.d",
    "seen > now() - INTERVAL 1 DAY AND seen < now()",
    "a = 1 XOR b = 2 XOR c = 3",
    "a = 1 XNOR b = 'x'",
    "(a > 3) IS UNKNOWN",
    "(a > 3 AND b = 1) IS NOT TRUE AND c = 2",
    "subset_of(x, 'a', 'b') AND superset_of(y, 1, 2)",
    "set_equals(x, 'a', 'b')",
    "x IS NULL OR x NOT IN (1, 2)",
    "version(app) < '4.10.2' AND cidr(ip) = '10.0.0.0/8'",
    "name LIKE ALL ('%a%', '%b%') AND name NOT LIKE '%c%'",
]
EXAMPLES = [function.example for name, function in sorted(FUNCTIONS.items()) if name not in OUT_OF_REACH]


@pytest.mark.parametrize("text", [*TEXTS, *EXAMPLES])
def test_a_rule_is_true_of_some_events_and_not_of_others(text):
    schema, tree = Schema(), parse(text)
    with asked_at("2024-05-06T07:08:09Z", schema.zone):
        events = EventDrawer(lambda _: tree, 1, schema, 1).events(80)
        truths = {truth_of(tree, event, schema) is True for event in events}
    assert truths == {True, False}


def test_declared_types_are_kept_to():
    declared = {"seen": "timestamp", "age": {"type": "integer", "single": True}, "items.at": "date"}
    schema = Schema.of_mapping({"attributes": declared, "time_zone": "Europe/Berlin"})
    text = "seen >= '2024-01-01' AND age > 3 AND age < 5 AND exists(items, i -> i.at = '2024-02-29')"
    tree = schema.bind(parse(text), text)
    events = EventDrawer(lambda _: tree, 1, schema, 0).events(60)
    assert {truth_of(tree, event, schema) for event in events} == {True, False, None}


def test_a_seed_repeats_its_events():
    trees = list(map(parse, TEXTS[:6]))
    first, again, other = (
        list(map(repr, EventDrawer(trees.__getitem__, len(trees), Schema(), seed).events(40))) for seed in (3, 3, 4)
    )
    assert first == again != other


def test_no_rules_give_empty_events():
    assert list(EventDrawer(lambda _: parse("TRUE"), 0, Schema(), 0).events(2)) == [{}, {}]


def test_values_below_an_array_go_into_its_elements():
    assert nest({("a",): [{"b": 1}, 2], ("a", "c"): 3}) == {"a": [{"b": 1, "c": 3}, 2]}
    assert nest({("a",): 1, ("a", "b"): 2}) == {"a": 1}
