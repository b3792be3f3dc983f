"""An encoder of two dictionaries gives the cells that each of them gives by itself."""

from __future__ import annotations

import math
from collections import UserDict
from decimal import Decimal
from typing import Any

import pytest

from ruledex.errors import EventError
from ruledex.events.joint import JointEncoder
from ruledex.index import Index

FIRST = ["country = 'IN'", "age > 18", "device.os = 'ios'", "tags IN ('a', 'b')", "name LIKE 'a%'", "x IS NULL"]
SECOND = ["country IN ('DE', 'IN')", "age < 30.5", "device.model = 'm'", "zone NOT IN (1, 2)", "name LIKE '%z'"]
DERIVED = ["length(name) > 2", "age > zone"]
EVENTS: list[dict[str, Any]] = [
    {},
    {"country": "IN", "age": 20},
    {"country": "IN", "age": 20, "unknown": 1},
    {"country": "DE", "age": 20.5, "zone": 3},
    {"age": True, "zone": None, "name": "az"},
    {"age": math.nan, "name": "a" * 1000, "zone": 1 << 70},
    {"age": Decimal("20.50"), "tags": ["a", "c"], "zone": [1, 5]},
    {"device": {"os": "ios", "model": "m"}, "tags": "a"},
    {"device": [{"os": "ios"}, {"model": "m"}], "country": ["IN", None]},
    {f"other{number}": number for number in range(50)} | {"country": "IN", "zone": 7},
]


def encoder(rules: list[str]) -> Any:
    state: Any = Index.build(enumerate(rules))._state
    return state.encoder


@pytest.mark.parametrize("derived", [[], DERIVED])
def test_the_cells_are_those_of_both(derived):
    first, second = encoder(FIRST), encoder(SECOND + derived)
    joint = JointEncoder(first, second)
    for event in EVENTS * 3:  # the first time values are new
        for given in (event, UserDict(event)):
            cells = joint.cells_of(given)
            assert {cell for cell in cells if cell >= 0} == set(first.cells_of(event))
            assert {~cell for cell in cells if cell < 0} == set(second.cells_of(event))


def test_what_an_object_of_an_event_raises_is_an_event_error():
    class Bad(UserDict):
        def __getitem__(self, key):
            raise ValueError("no")

    joint = JointEncoder(encoder(FIRST), encoder(SECOND))
    with pytest.raises(EventError):
        joint.cells_of({"device": Bad({"os": 1})})
