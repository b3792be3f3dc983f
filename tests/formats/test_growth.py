"""Rules whose conditions double with each level are refused in time that does not double."""

from __future__ import annotations

import pytest

from ruledex import formats
from ruledex.errors import RuleLimitError


def _nested(rule, wrap, depth):
    for _ in range(depth):
        rule = wrap(rule)
    return rule


GROWING = {
    "cel": ("c", lambda rule: f"({rule} ? b : c)"),
    "jsonlogic": ({"var": "c"}, lambda rule: {"if": [rule, {"var": "a"}, {"var": "b"}]}),
    "elasticsearch": (
        {"term": {"a": 1}},
        lambda rule: {
            "bool": {"should": [rule, {"term": {"b": 1}}, {"term": {"c": 1}}], "minimum_should_match": 2},
        },
    ),
}


@pytest.mark.parametrize("name", GROWING)
def test_a_rule_that_grows_with_each_level_is_refused(name):
    rule, wrap = GROWING[name]
    small = formats.read({1: _nested(rule, wrap, 4)}, name)
    assert (len(small), small.faults) == (1, [])
    large = formats.read({1: _nested(rule, wrap, 40)}, name)
    assert [type(fault.error) for fault in large.faults] == [RuleLimitError]
    assert "conditions" in large.faults[0].error.message


@pytest.mark.parametrize(
    ("name", "rule", "options"),
    [
        ("mongo", {"a": {"$size": {"$elemMatch": {"$gt": 1}}}}, {}),
        ("elasticsearch", {"range": {"a": {"gt": 1, "relation": 5}}}, {}),
        ("elasticsearch", {"range": {"d": {"gte": "2024-01-01", "time_zone": "+24:00"}}}, {}),
        (
            "elasticsearch",
            {"range": {"d": {"gte": 99999999999999}}},
            {"mapping": {"d": {"type": "date", "format": "epoch_second"}}},
        ),
    ],
)
def test_what_cannot_be_said_is_a_fault(name, rule, options):
    assert len(formats.read({1: rule}, name, **options).faults) == 1
