"""Values that no event should hold and some will: cyclic, deep, of odd types, or objects that fail when looked at."""

from __future__ import annotations

from collections import OrderedDict, UserDict
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import Enum
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa


class Failing:
    """Fails in everything that one may do with a value."""

    def fail(self, *_: Any) -> Any:
        raise RuntimeError("this object fails")

    __eq__ = __ne__ = __lt__ = __hash__ = __repr__ = __str__ = __bool__ = __len__ = __iter__ = __float__ = fail


class FailingClass:
    @property
    def __class__(self) -> Any:
        raise ZeroDivisionError


class FailingMapping(Mapping):
    def __getitem__(self, key: Any) -> Any:
        raise OSError("no answer")

    def __iter__(self) -> Any:
        raise OSError("no answer")

    def __len__(self) -> int:
        return 1


class FailingList(list):
    def __iter__(self) -> Any:
        raise ValueError("no elements")


class FailingError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even a message")


class FailingWithout(dict):
    def get(self, *_: Any) -> Any:
        raise FailingError

    def items(self) -> Any:
        raise FailingError


class FailingZone(tzinfo):
    def utcoffset(self, _: Any) -> Any:
        raise LookupError("no such place")

    def dst(self, _: Any) -> Any:
        return None

    def tzname(self, _: Any) -> str:
        return "nowhere"


class Text(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not to be compared")

    def __hash__(self) -> int:
        raise RuntimeError("not to be hashed")


class Colour(Enum):
    RED = 1


def cyclic_list(width: int) -> list[Any]:
    made: list[Any] = []
    made.extend([made] * width)
    return made


def cyclic_mapping() -> dict[str, Any]:
    made: dict[str, Any] = {}
    made["x"] = made["y"] = made["z"] = made
    return made


def deep_list(depth: int, inside: Any) -> Any:
    for _ in range(depth):
        inside = [inside]
    return inside


def deep_mapping(depth: int, inside: Any) -> Any:
    for _ in range(depth):
        inside = {"x": inside}
    return inside


def shared_lists(depth: int) -> Any:
    """Small in memory, and of 2 ** depth lists where each is looked at."""
    inside: Any = []
    for _ in range(depth):
        inside = [inside, inside]
    return inside


MISSING = [pd.NA, pd.NaT, np.datetime64("NaT"), np.timedelta64("NaT"), float("nan"), np.float64("nan")]
MISSING += [np.float32("nan"), np.ma.masked, Decimal("NaN"), Decimal("-NaN"), Decimal("sNaN"), Decimal("NaN123"), None]

ODD = [
    *MISSING,
    *(Failing(), FailingClass(), FailingMapping(), FailingList([1]), FailingWithout(x=1), Text("a"), Colour.RED),
    *(cyclic_list(1), cyclic_list(3), cyclic_mapping(), deep_list(5_000, 1), deep_list(90, {"x": 1}), shared_lists(60)),
    *(deep_mapping(5_000, 1), deep_list(100_000, {"x": 1}), [cyclic_list(2), {"x": 1}], deep_list(99, {"x": "a"})),
    *(datetime(2024, 1, 1, tzinfo=FailingZone()), datetime.max.replace(tzinfo=timezone(timedelta(hours=-23)))),
    *(datetime.min.replace(tzinfo=timezone(timedelta(hours=23))), date.min, date.max, datetime(2024, 1, 1, tzinfo=UTC)),
    *(Decimal("Infinity"), Decimal("-Infinity"), Decimal("1e999999"), Decimal("-1e-999999"), Decimal("0e999999")),
    *(
        10**5_000,
        -(10**5_000),
        2**63,
        -(2**63) - 1,
        2**64,
        1e308,
        float("inf"),
        -0.0,
        5e-324,
        True,
        1,
        "a",
        "",
        "\ud800",
    ),
    *(
        b"a",
        bytearray(b"a"),
        memoryview(b"a"),
        {1, 2},
        frozenset({1}),
        range(3),
        iter([1]),
        object(),
        type,
        len,
        1j,
        ...,
    ),
    *(UserDict(x=1), OrderedDict(x=1), {1: 2, None: 3, (1, 2): 4, "x": 1, "\ud800": 1, "": 1}, {"x": {"x": [1, "a"]}}),
    *(
        [],
        [[]],
        [[[]]],
        (),
        ((),),
        [None],
        [{"x": None}],
        [{"x": []}],
        [1, "a", None, pd.NA, {"x": 1}],
        {"x": Failing()},
    ),
    *(
        np.array([1, 2]),
        np.int64(1),
        np.str_("a"),
        np.datetime64("2024-01-01"),
        pd.Timestamp("2024-01-01"),
        pd.Series([1]),
    ),
    *(
        pa.scalar(1),
        pa.scalar({"x": 1}),
        pa.array([1]),
        [Failing()],
        [Text("a")],
        (FailingMapping(),),
        {"x": cyclic_list(1)},
    ),
]


def odd_value(random: Random, depth: int = 2) -> Any:
    """One of them, perhaps inside of plain lists and mappings."""
    if depth == 0 or random.random() < 0.6:
        return random.choice(ODD)
    if random.random() < 0.5:
        return [odd_value(random, depth - 1) for _ in range(random.randrange(3))]
    return {random.choice(["x", "y", "z", 1]): odd_value(random, depth - 1) for _ in range(random.randrange(3))}


def odd_event(random: Random) -> Any:
    if random.random() < 0.05:
        return random.choice(ODD)
    return {random.choice(["x", "y", "z", "unused"]): odd_value(random) for _ in range(random.randrange(1, 4))}
