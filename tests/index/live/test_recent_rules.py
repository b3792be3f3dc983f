"""Rules that answer by themselves: the answers are the reference evaluator's, whatever the order of changes."""

from __future__ import annotations

from decimal import Decimal
from random import Random

import pytest

from ruledex import evaluate, parse
from ruledex.dictionary.remembered import forget_all
from ruledex.index.live.recent_rules import MOST_BITS, MOST_RULES, RecentRules, plan_rule

PLAIN = [
    "x = 1",
    "x != 1",
    "x < 1.5",
    "NOT x >= 9007199254740993",
    "x > 0.1 AND x <= 9007199254740992",
    "x IN (1, 2, 3) OR y IN ('a', 'b')",
    "x NOT IN (1, 2.5)",
    "x BETWEEN 1 AND 3 XOR y = 'a'",
    "NOT (x BETWEEN 3 AND 1 XNOR y < 'b' XNOR z)",
    "y = 'a' AND (x = 1 OR NOT (z AND x > 0))",
    "y NOT IN ('a', '')",
    "y BETWEEN 'a' AND 'am'",
    "z != TRUE",
    "z",
    "x = 1000 OR x = 'a' OR x",
    "(x = 1 AND y = 'a' AND z AND w = 1) OR (x = 2 AND y = 'b') OR w > 7",
]
OTHER = [
    "x = 1e3",
    "a.b = 1",
    "x IS NULL",
    "x LIKE 'a%'",
    "x + 1 = 2",
    "TRUE",
    "x <=> 1",
    "x IN (1, NULL)",
    "x = DATE '2024-01-01'",
]
VALUES = [
    None,
    float("nan"),
    0,
    1,
    1.0,
    True,
    False,
    2,
    2.5,
    0.1,
    3,
    -0.0,
    1000,
    2**53,
    2**53 + 1,
    2.0**53,
    10**400,
    float("inf"),
    "a",
    "am",
    "b",
    "",
    "x" * 1000,
]


def planned(text):
    found = plan_rule(parse(text))
    assert found is not None
    return found


def test_answers_are_the_references():
    recent: RecentRules | None = RecentRules()
    for number, text in enumerate(PLAIN):
        assert recent is not None
        recent = recent.with_rules([(number, planned(text))])
    whole = RecentRules().with_rules((number, planned(text)) for number, text in enumerate(PLAIN))
    chance = Random(0)
    for _ in range(2000):
        event = {name: chance.choice(VALUES) for name in chance.sample("wxyz", chance.randint(0, 4))}
        if chance.random() < 0.3:
            event |= {str(number): number for number in range(chance.randint(1, 9))}
        found = recent.match(event)
        assert found is None or sorted(found) == whole_truth(event)
        assert whole.match(event) is None or sorted(whole.match(event)) == whole_truth(event)
        if found is None:  # constants that are one double, and that very double
            assert 2.0**53 in event.values()


def whole_truth(event):
    return [number for number, text in enumerate(PLAIN) if evaluate(parse(text), event) is True]


def test_a_value_of_any_other_type_is_not_answered():
    recent = RecentRules().with_rules([(1, planned("x = 1"))])
    assert [recent.match({"x": value}) for value in ([1], Decimal(1), {"x": 1}, b"1")] == [None] * 4
    assert recent.match({"y": [1]}) == []


@pytest.mark.parametrize("text", OTHER)
def test_other_rules_are_not_planned(text):
    assert plan_rule(parse(text)) is None


def test_rules_that_would_need_many_bits_or_levels_are_not_planned():
    assert plan_rule(parse(" XOR ".join(f"a{number} = 1" for number in range(30)))) is None
    assert plan_rule(parse(" AND ".join(f"(a{number} = 1 OR b = 1 AND c = 2)" for number in range(300)))) is None


def test_earlier_snapshots_stay_as_they_are():
    first = RecentRules().with_rules([(1, planned("x = 1")), (2, planned("x > 0"))])
    second = first.with_rules([(3, planned("x < 5 OR y = 1"))])
    other = first.with_rules([(4, planned("x = 1 AND y = 2"))])  # as after a change that was not kept
    third = other.without([1])
    event = {"x": 1, "y": 2}
    assert sorted(first.match(event)) == [1, 2]
    assert sorted(other.match(event)) == [1, 2, 4]
    assert sorted(third.match(event)) == [2, 4]
    assert second.n_rules == other.n_rules == 3


def test_what_is_remembered_may_be_forgotten():
    recent = RecentRules().with_rules([(1, planned("x = 1")), (2, planned("x != 1"))])
    for _ in range(3):
        assert (recent.match({"x": 1}), recent.match({"x": None}), recent.match({"x": 2})) == ([1], [], [2])
        forget_all()


def test_there_are_only_so_many():
    rules = [(number, planned("x = 1 AND y = 1")) for number in range(MOST_RULES + 1)]
    recent = RecentRules().with_rules(rules[:-1])
    assert (recent.n_rules, recent.n_bits) == (MOST_RULES, 2 * MOST_RULES)
    assert recent.with_rules(rules[-1:]) is None
    wide = planned(" AND ".join(f"a{number} = 1" for number in range(200)))
    assert wide.part.height == 8
    assert RecentRules().with_rules((number, wide) for number in range(MOST_BITS // 256 + 1)) is None
    many = planned(f"x IN ({', '.join(map(str, range(2000)))})")
    assert RecentRules().with_rules([(1, many)]) is None
