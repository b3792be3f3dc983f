"""Few rules are matched by a word: answers, errors and warnings are those of any other road."""

from __future__ import annotations

import json
import pickle
import warnings
from collections import OrderedDict, UserDict
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, IntEnum
from random import Random

import numpy as np
import pytest

from ruledex import RuledexError, evaluate, parse
from ruledex.dictionary.remembered import forget_all
from ruledex.errors import EventError, RuledexWarning
from ruledex.index import Index
from ruledex.index.few_rules import WordMatcher
from tests.contract.sizes import scaled
from tests.odd_values import odd_event

RULES = [
    "x = 1",
    "x != 'a'",
    "NOT x = 1",
    "x IS NULL",
    "x IS NOT NULL AND y IS NULL",
    "x.x = 1",
    "x.x IS NULL OR z > 1",
    "y.x NOT IN (1, 2)",
    "x LIKE 'a%' AND NOT y RLIKE 'b'",
    "x > DATE '2023-01-01' OR x < TIMESTAMP '2020-06-01 00:00:00'",
    "x IS NULL OR x != 1",
    "x",
    "NOT y",
    "z = 1.5",
    "z > 1e30 XOR x = 1",
    "z < 9223372036854775807 AND (y = 'a' OR x IN (1, 2, 3))",
    "x <=> 1",
    "y BETWEEN 0 AND 5 AND x.y IS NULL",
    "(x = 1 XNOR y = 2) AND (z IS NULL OR z NOT IN (1, 2))",
    "TRUE",
]


class Size(Enum):
    ONE = 1


class Number(IntEnum):
    TWO = 2


@dataclass
class Point:
    x: object
    y: object = None


def built(rules=RULES):
    index = Index.build(list(enumerate(rules)))
    assert isinstance(getattr(index._state.plain_match, "__self__", None), WordMatcher)
    return index


def answer(call):
    try:
        return call()
    except RuledexError as error:
        return type(error)


def expected(event, rules=RULES):
    return [number for number, text in enumerate(rules) if evaluate(parse(text), event) is True]


@pytest.mark.filterwarnings("ignore::ruledex.errors.RuledexWarning")
@pytest.mark.parametrize("seed", range(3))
def test_odd_events_are_answered_as_by_the_reference(seed):
    index, random = built(), Random(seed)
    events = [odd_event(random) for _ in range(scaled(150, 60))]
    for _ in range(2):  # the second time values are known
        for event in events:
            found, wanted = answer(lambda event=event: index.match(event)), answer(lambda event=event: expected(event))
            assert found == wanted, event


@pytest.mark.parametrize(
    "value",
    [
        *(1, 1.0, True, 0, -0.0, 2**70, Decimal(1), None, float("nan"), "a", "ab"),
        *(np.int64(1), np.float32(1.5), Size.ONE, Number.TWO),
        *([], [1, 2], (None,), {"x": 1}, [{"x": 1}, {"x": 3}]),
    ],
)
def test_values_of_all_kinds_are_told_apart(value):
    index = built()
    for event in ({"x": value}, {"x": value, "y": value, "z": value, "other": 1}, {"y": {"x": value}}, {"z": value}):
        assert index.match(event) == index.match(event) == expected(event)


def test_an_event_need_not_be_a_dict():
    index = built()
    wanted = expected({"x": 1, "y": 2})
    for event in (UserDict(x=1, y=2), OrderedDict(x=1, y=2), Point(1, 2), json.dumps({"x": 1, "y": 2})):
        assert index.match(event) == index.match(event) == wanted
    with pytest.raises(EventError, match="an event is a mapping"):
        index.match([1])
    with pytest.raises(EventError):
        index.match("{")


def test_a_mapping_that_fails_is_an_error_of_the_event():
    class Failing(UserDict):
        def items(self):
            raise ZeroDivisionError

    with pytest.raises(EventError):
        built().match(Failing(x=1))


def test_a_value_that_no_rule_can_name_is_told():
    class Odd:
        pass

    index = built()
    with pytest.warns(RuledexWarning, match="Odd"):
        found = index.match({"x": Odd()})
    assert found == expected({"x": Odd()})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert index.match({"x": Odd()}) == found  # said once


def test_what_is_forgotten_is_found_again():
    index, event = built(), {"x": 1, "y": None, "z": 1.5}
    wanted = expected(event)
    assert index.match(event) == wanted
    forget_all()
    assert index.match(event) == index.match(event) == wanted


def test_wide_events_and_narrow_ones_are_read_alike():
    rules = [f"a{number} = {number}" for number in range(40)]
    index = built(rules)
    wide = {f"a{number}": number for number in range(200)}
    assert index.match(wide) == list(range(40))
    assert index.match({"a3": 3, "b": 1}) == [3]
    assert index.match({}) == []


def test_ids_are_those_of_the_rules_and_changes_are_seen():
    index = Index.build([("b", "x = 1"), ("a", "x > 0"), ("c", "x > 5")])
    assert index.match({"x": 1}) == ["a", "b"]
    index.add([("d", "x = 1")])
    assert index.match({"x": 1}) == ["a", "b", "d"]
    index.remove(["a"])
    assert index.match({"x": 1}) == ["b", "d"]
    assert pickle.loads(pickle.dumps(index)).match({"x": 1}) == ["b", "d"]
    index.close()
    with pytest.raises(RuledexError, match="closed"):
        index.match({"x": 1})


def test_functions_and_filters_take_the_other_road():
    index = Index.build([(1, "lower(x) = 'a'"), (2, "x = 'A'")])
    assert not isinstance(getattr(index._state.plain_match, "__self__", None), WordMatcher)
    assert index.match({"x": "A"}) == [1, 2]
    assert built().match({"x": 1}, now="2024-01-01 00:00:00") == expected({"x": 1})
