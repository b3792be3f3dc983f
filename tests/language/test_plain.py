"""What a Python object in an event stands for, to the reference, to one event, to a batch and to live rules."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import warnings
from collections import OrderedDict, UserDict, UserList, defaultdict, deque, namedtuple
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, IntEnum, IntFlag, StrEnum
from ipaddress import ip_address, ip_network
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pydantic
import pytest

from ruledex import Index, evaluate, parse, score
from ruledex.errors import EventError, RuledexWarning
from ruledex.language import plain as plain_module
from ruledex.language.plain import Untyped, plain


class Colour(Enum):
    RED = "red"


class Inner(Enum):
    COLOUR = Colour.RED


class Text(StrEnum):
    RED = "red"


class MixedText(str, Enum):  # noqa: UP042  # which many programs have
    RED = "red"

    def __str__(self) -> str:
        return "a text of its own"


class Number(IntEnum):
    ONE = 1


class Flag(IntFlag):
    ONE = 1


class Int(int):
    def __hash__(self) -> int:
        raise RuntimeError("not to be hashed")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not to be compared")


class Str(str):
    __slots__ = ()
    __hash__ = Int.__hash__
    __eq__ = Int.__eq__


class Float(float): ...


class Moment(datetime): ...


class Day(date): ...


class Money(Decimal): ...


class Many(list): ...


class Named(dict): ...


@dataclasses.dataclass
class Data:
    x: Any
    later: Any = dataclasses.field(init=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    x: Any


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow", arbitrary_types_allowed=True)
    x: Any


class Computed(pydantic.BaseModel):
    x: int

    @pydantic.computed_field
    @property
    def twice(self) -> int:
        return 2 * self.x


@attrs.define
class Defined:
    x: Any


class Pair(NamedTuple):
    x: Any
    y: Any = None


Old = namedtuple("Old", "x")

UID = UUID("12345678-1234-5678-1234-567812345678")
DAY, MOMENT = date(2024, 2, 3), datetime(2024, 2, 3, 4, 5, 6, 123456)

SCALARS = [
    *(
        (Int(1), 1),
        (Number.ONE, 1),
        (Flag.ONE, 1),
        (np.int8(1), 1),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.array(1), 1),
    ),
    *((Float(1.5), 1.5), (np.float16(1.5), 1.5), (np.float32(1.5), 1.5), (np.float64(1.5), 1.5)),
    *((np.longdouble(1.5), 1.5), (Money("1.5"), Decimal("1.5")), (pa.scalar(1.5), 1.5)),
    *((np.bool_(True), True), (np.array(False), False), (pa.scalar(True), True)),
    *((Str("red"), "red"), (Text.RED, "red"), (MixedText.RED, "red"), (Colour.RED, "red"), (Inner.COLOUR, "red")),
    *((np.str_("red"), "red"), (pa.scalar("red"), "red"), (UID, str(UID)), (ip_address("10.0.0.1"), "10.0.0.1")),
    *((ip_address("2001:DB8::1"), "2001:db8::1"), (ip_network("10.0.0.0/8"), "10.0.0.0/8")),
    *(
        (pd.Period("2024-02", "M"), "2024-02"),
        (pd.Timestamp(MOMENT), MOMENT),
        (Moment(2024, 2, 3), datetime(2024, 2, 3)),
    ),
    *(
        (pd.Timestamp("2024-02-03T04:05:06.123456789"), MOMENT),
        (np.datetime64("2024-02-03T04:05:06.123456789"), MOMENT),
    ),
    *((pd.Timestamp("2024-02-03", tz="UTC"), datetime(2024, 2, 3, tzinfo=UTC)), (Day(2024, 2, 3), DAY)),
    *((np.datetime64("2024-02-03"), DAY), (np.datetime64("2024-02"), date(2024, 2, 1))),
    *((np.datetime64("1969-12-31T23:59:59.999999999"), datetime(1969, 12, 31, 23, 59, 59, 999999)),),
    *((np.datetime64(10**6, "Y"), date.max), (np.datetime64(-(10**6), "Y"), date.min)),
    *((np.datetime64(10**13, "s"), datetime.max),),
    *((pd.NaT, None), (pd.NA, None), (np.datetime64("NaT"), None), (np.timedelta64("NaT"), None), (np.ma.masked, None)),
]


def a_rule(value: Any) -> str:
    """A rule that is true of a plain value and of no other of the tests."""
    if value is None:
        return "x IS NULL"
    if isinstance(value, bool):
        return f"x = {value}"
    if isinstance(value, datetime):
        return f"x = TIMESTAMP '{value}'"
    if isinstance(value, date):
        return f"x = DATE '{value}'"
    return f"x = '{value}'" if isinstance(value, str) else f"x = {value}"


def answers(rules: list[str], event: Any) -> list[bool]:
    """Whether each rule is true, by the reference; the index must say the same in every way that there is."""
    expected = [evaluate(parse(rule), event) is True for rule in rules]
    found = [number for number, holds in enumerate(expected) if holds]
    index = Index.build(list(enumerate(rules)))
    live = Index.build([(0, rules[0])])
    if len(rules) > 1:
        live.add(list(enumerate(rules))[1:])
    for asked in (index, live):
        assert asked.match(event) == found
        assert [list(ids) for ids in asked.match_batch([event, event])] == [found, found]
        assert sorted(rule for rule, _ in asked.top(event, len(rules))) == found
    return expected


@pytest.mark.parametrize(("value", "meant"), SCALARS, ids=lambda value: type(value).__name__)
def test_a_scalar_is_what_it_stands_for(value, meant):
    assert type(plain(value)) is type(meant)
    rules = [a_rule(meant), "x = 'another'", "x IS NULL", "p.x IS NOT NULL", f"NOT ({a_rule(meant)})"]
    for event in ({"x": value}, {"x": [value]}, {"x": (value, None)}, {"x": value, "p": [{"x": value}]}):
        has = meant is not None
        assert answers(rules, event) == [True, False, not has, has and "p" in event, False]


def test_times_beyond_python_are_the_last_moment():
    far = pd.Timestamp(np.datetime64(10**12, "s"))
    assert far.year > 9999
    assert plain(far) == datetime.max


@pytest.mark.parametrize(
    "value",
    [
        *({1, 2}, frozenset({1, 2}), (1, 2), deque([1, 2]), Many([1, 2]), UserList([1, 2]), range(1, 3), {1: 1, 2: 2}),
        *(np.array([1, 2]), np.array([1, 2], object), np.array([1.0, 2]), np.ma.array([1, 2, 3], mask=[0, 0, 1])),
        *(pd.Series([1, 2]), pd.Index([1, 2]), pd.array([1, 2, None]), pd.Categorical([1, 2]), pl.Series([1, 2])),
        *(pa.array([1, 2]), pa.chunked_array([[1], [2]]), pa.scalar([1, 2]), [np.int32(1), Number.ONE, Int(2)]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_collection_is_several_values(value):
    if isinstance(value, dict):
        value = value.keys()
    rules = ["x = 1", "x = 2", "x = 3", "x NOT IN (1, 7)", "size(x) >= 2", "subset_of(x, 1, 2)", "x.y IS NULL"]
    assert answers(rules, {"x": value}) == [True, True, False, False, True, True, True]
    assert answers(["p.x = 1", "p.x = 3"], {"p": [{"x": value}]}) == [True, False]


def test_arrays_of_times_texts_and_records_are_several_of_them():
    times = np.array(["2024-02-03", "NaT"], "datetime64[ns]")
    assert answers(["x > DATE '2024-01-01'", "size(x) = 1"], {"x": times}) == [True, True]
    assert answers(["x = 'a'", "x = 'b'"], {"x": np.array(["a", "c"])}) == [True, False]
    records = np.array([("a", 1), ("b", 2)], [("name", "U1"), ("n", "i4")])
    assert answers(["x.name = 'b'", "x.n = 1", "x.n = 3"], {"x": records}) == [True, True, False]
    assert answers(["x.name = 'a'"], {"x": records[0]}) == [True]
    assert answers(["x IS NULL", "size(x) = 0"], {"x": np.array([])}) == [True, True]
    assert answers(["x = 1", "x IS NOT NULL"], {"x": np.array([[1, 2], [3, 4]])}) == [False, True]


RECORDS = [
    *(Data(1), Slotted(1), Model(x=1), Defined(1), Pair(1), Old(1), Named(x=1), OrderedDict(x=1), UserDict(x=1)),
    *(defaultdict(list, x=1), MappingProxyType({"x": 1}), pa.scalar({"x": 1})),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda value: type(value).__name__)
def test_an_object_with_fields_is_a_mapping(record):
    rules = ["p.x = 1", "p.x = 2", "p.y IS NULL", "p IS NOT NULL", "p = 1", "p.x + 1 = 2"]
    for event in ({"p": record}, {"p": [record]}, {"p": {record}} if isinstance(record, Slotted) else {"p": (record,)}):
        assert answers(rules, event) == [True, False, True, True, False, True]
    assert answers(["x = 1", "x = 2", "later IS NULL", "x % 2 = 1"], record) == [True, False, True, True]
    index = Index.build([(1, "x = 1")])
    with pytest.raises(EventError, match="one event was given where several are expected"):
        index.match_batch(record)


def test_fields_that_are_objects_are_looked_into():
    event = Data(Model(x=Defined(Pair(np.int64(1), {Colour.RED})), more="a"))  # type: ignore[call-arg]
    rules = ["x.x.x.x = 1", "x.x.x.y = 'red'", "x.more = 'a'", "x.x.x IS NULL"]
    assert answers(rules, event) == [True, True, True, False]
    assert answers(["twice = 6"], Computed(x=3)) == [True]


def test_a_class_is_not_an_object_of_it():
    with pytest.raises(EventError, match="an event is a mapping of names to values, not type"):
        evaluate(parse("x = 1"), Data)
    with pytest.raises(EventError, match="not null"):
        evaluate(parse("x = 1"), None)


def test_a_mapping_from_json_is_read_by_evaluate_and_score():
    assert evaluate(parse("x = 1"), '{"x": 1}') is True
    assert score(parse("x = 1^2"), b'{"x": 1}') == 2.0
    with pytest.raises(EventError, match="an event is not JSON"):
        evaluate(parse("x = 1"), "{")


# What has no type.


@pytest.fixture
def _fresh(monkeypatch):
    monkeypatch.setattr(plain_module, "_told_of", set())


UNTYPED = [b"a", bytearray(b"a"), memoryview(b"a"), object(), 1j, len, iter([1]), MOMENT.time(), np.timedelta64(1, "s")]


@pytest.mark.usefixtures("_fresh")
@pytest.mark.parametrize("value", UNTYPED, ids=lambda value: type(value).__name__)
def test_what_has_no_type_is_named_once_per_type_and_path(value):
    index = Index.build(
        [(1, "device.os = 'a'"), (2, "device.os IS NOT NULL"), (3, "unused = 1"), (4, "lower(y) = 'a'")]
    )
    assert type(plain(value)) is Untyped
    with pytest.warns(RuledexWarning, match=r"^device\.os has a value of the type ") as told:
        assert index.match({"device": {"os": value}}) == [2]
    assert len(told) == 1
    assert type(value).__name__ in str(told[0].message)
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert index.match({"device": {"os": value}, "other": value}) == [2]
        assert list(index.match_batch([{"device": [{"os": [value]}]}])[0]) == [2]
        assert evaluate(parse("device.os = 'a'"), {"device": {"os": value}}) is None
    with pytest.warns(RuledexWarning, match="^y has a value"):
        assert index.match({"y": value}) == []


@pytest.mark.usefixtures("_fresh")
def test_an_explanation_says_what_it_saw():
    index = Index.build([(1, "x = 'a'")])
    with pytest.warns(RuledexWarning, match="bytes"):
        assert (
            index.explain(1, {"x": b"raw"}).changes[0].words
            == "x is b'raw' of the type bytes (not a string), needs 'a'"
        )
    assert index.explain(1, {"x": Number.ONE}).changes[0].words == "x is 1 (not a string), needs 'a'"


@pytest.mark.usefixtures("_fresh")
def test_a_struct_where_a_rule_wants_a_value_is_no_warning():
    assert answers(["x = 1", "x IS NOT NULL"], {"x": {"y": 1}}) == [False, True]


# Objects that fail.


class Raising:
    def __init__(self) -> None:
        self.asked = 0

    def _raise(self, *_: Any) -> Any:
        raise RuntimeError("not with me")

    __hash__ = __eq__ = __ne__ = __bool__ = __repr__ = __str__ = _raise


@dataclasses.dataclass
class Failing:
    @property
    def x(self) -> int:
        raise RuntimeError("no x today")

    y: int = 1


Failing.__dataclass_fields__["x"] = Failing.__dataclass_fields__["y"]


@pytest.mark.filterwarnings("ignore::ruledex.errors.RuledexWarning")
def test_an_object_that_cannot_be_hashed_or_compared_does_not_stop_a_batch():
    index = Index.build([(1, "x = 1"), (2, "x IS NOT NULL"), (3, "lower(x) = 'red'")])
    events = [{"x": 1}, {"x": Raising()}, {"x": [Raising(), Str("red")]}, {"x": Int(1)}, FailingNames()]
    with pytest.raises(EventError, match=r"events\[4\]: .*not to be (hashed|compared)") as raised:
        index.match_batch(events)
    assert raised.value.number == 4
    assert list(index.match_batch(events[:4])) == [[1, 2], [2], [2, 3], [1, 2]]


class FailingNames(UserDict):
    def __init__(self) -> None:
        self.data = {"x": 1}

    def items(self) -> Any:
        return [(Str("x"), 1)]


def test_a_field_that_raises_is_the_error_of_its_event():
    index = Index.build([(1, "x = 1")])
    with pytest.raises(EventError, match=r"^events\[1\]: .*no x today") as raised:
        index.match_batch([{"x": 1}, Failing()])
    assert raised.value.number == 1
    with pytest.raises(EventError, match="no x today"):
        index.match(Failing())


def test_no_library_is_imported_for_it():
    code = (
        "import sys; from ruledex import evaluate, parse; import decimal\n"
        "assert evaluate(parse('x = 1'), {'x': {1, 2}}) is True\n"
        "print(sorted({'numpy', 'pandas', 'pydantic', 'attrs', 'attr', 'pyarrow', 'polars'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ), check=True)
    assert ran.stdout.strip() == "[]"
