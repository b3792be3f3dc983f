"""Rules and events that the tests of Index share."""

from __future__ import annotations

from typing import Any

from ruledex import Schema, evaluate, parse
from ruledex.program.builder import ProgramBuilder
from tests.program.test_builder import RULES, VALUES

PLAIN = [
    (7, "country IN ('IN', 'US') AND age BETWEEN 18 AND 35", 2.0),
    (3, "country = 'IN'^2 OR age > 60"),
    (5, "NOT (device.os = 'ios' AND version(app) < '4.10.2')", 0.5),
    (1, "interests = 'nfl' XOR age < 30"),
    (9, "phone IS NULL AND country NOT IN ('FR')"),
    (2, "name LIKE 'a%' OR price < limit_price"),
]
EVENTS: list[dict[str, Any]] = [
    {"country": "IN", "age": 20, "device": {"os": "android"}, "app": "4.9"},
    {"country": "US", "age": 70, "device": {"os": "ios"}, "app": "4.11", "interests": ["nfl", "nba"]},
    {"country": "FR", "age": 25, "phone": "1", "name": "anna"},
    {"price": 3, "limit_price": 4.5},
    {},
]


def expected(rules, event, schema=None):
    """The ids of the rules that the reference finds true, ascending."""
    return sorted(rule[0] for rule in rules if evaluate(parse(rule[1]), event, schema or Schema()) is True)


def every_kind():
    """A rule for every kind of literal, and an event for every kind of value."""
    rules = list(enumerate(RULES))
    events = [{"x": value} for value in VALUES] + [{"p": value} for value in VALUES] + [{}]
    return rules, events


def program(texts=RULES):
    """The Program and dictionary of some rules."""
    builder = ProgramBuilder(Schema())
    for text in texts:
        builder.add(parse(text))
    return builder.finish()
