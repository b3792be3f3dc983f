"""JSON numbers as decimals: exactly as written, wherever JSON events are read."""

from __future__ import annotations

import json
from decimal import Decimal

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruledex import Index
from ruledex.errors import EventError
from ruledex.language.json_decimals import load_decimals
from ruledex.language.schema import Schema
from ruledex.sources import EventFile, read_events
from tests.cli.samples import run

SUM = '{"a": 0.1, "b": 0.2}'


@pytest.fixture
def index():
    return Index.build([(1, "a + b = 0.3"), (2, "a + b != 0.3"), (3, "a = 0.1")])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1", Decimal("0.1")),
        ("-1.50", Decimal("-1.50")),
        ("2e3", Decimal("2000")),
        ("1.5E-3", Decimal("0.0015")),
        ("5", 5),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", Decimal(2**63)),
        ("123456789012345678901234567890", Decimal("123456789012345678901234567890")),
        ("1e400", None),
        ("1e99999999999999999999", None),
        ("1e38", 1e38),
        ("1e37", Decimal(10**37)),
        ("1e-39", 1e-39),
        ("0." + "1" * 39, float("0." + "1" * 39)),
        ("1" * 39, float("1" * 39)),
        ("1" * 5000 + ".5", None),
        ("true", True),
        ("null", None),
        ('"0.1"', "0.1"),
    ],
)
def test_numbers_are_read_as_they_are_written(text, value):
    if text.startswith("1e4") or len(text) > 100 or "999" in text:
        # Far beyond a decimal: as without the option, or refused as without it.
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:
            with pytest.raises(orjson.JSONDecodeError):
                load_decimals(text)
            return
    found = load_decimals(f'{{"x": [{text}]}}'.encode())["x"][0]
    assert (type(found), found) == (type(value), value)


@given(st.recursive(st.none() | st.booleans() | st.text() | st.integers(-(2**63), 2**63 - 1), st.lists))
def test_what_is_not_a_fraction_is_as_without_the_option(value):
    text = orjson.dumps(value)
    assert load_decimals(text) == orjson.loads(text)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**20), max_value=10**20))
def test_a_decimal_comes_back(number):
    assert load_decimals(f"{number:f}") == number


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '"\\ud800"', "{", "01", "1.", b"\xff", '{"a": 1}x'])
def test_what_is_no_json_is_refused_as_without_the_option(text, index):
    with pytest.raises(orjson.JSONDecodeError):
        load_decimals(text)
    with pytest.raises(EventError, match="not JSON"):
        index.match(text, decimals=True)


def test_a_tenth_and_two_tenths_are_three_tenths(index):
    assert (index.match(SUM), index.match(SUM, decimals=True)) == ([2, 3], [1, 3])
    assert index.match(SUM, decimals=True, as_array=True).tolist() == [1, 3]
    assert list(index.match_batch([SUM, {"a": 0.1}, SUM.encode()], decimals=True)) == [[1, 3], [3], [1, 3]]
    assert list(index.match_batch(iter([SUM]), decimals=True)) == [[1, 3]]
    assert index.count([SUM], decimals=True).tolist() == [2]
    assert [rule for rule, _ in index.top(SUM, 5, decimals=True)] == [1, 3]
    assert index.top_batch([SUM], 5, decimals=True)[0] == [1, 3]
    assert index.explain(1, SUM, decimals=True).truth is True
    assert index.why_not(SUM, 1, decimals=True) is None
    assert index.why_not(SUM, 1) is not None
    index.add([(4, "a * 3 = 0.3")])
    assert index.match(SUM, decimals=True) == [1, 3, 4]


def test_a_bad_event_among_many_is_named(index):
    with pytest.raises(EventError, match=r"events\[1\]: an event is not JSON"):
        index.match_batch([SUM, "{"], decimals=True)
    with pytest.raises(EventError, match="put it into a list"):
        index.match_batch(SUM, decimals=True)


def test_files_of_events_are_read_with_decimals(tmp_path):
    lines = tmp_path / "events.jsonl"
    lines.write_text(SUM + "\n{\n")
    rows = list(read_events(str(lines), decimals=True))
    assert rows[0] == (1, {"a": Decimal("0.1"), "b": Decimal("0.2")})
    assert isinstance(rows[1][1], EventError)
    table = tmp_path / "events.csv"
    table.write_text("a,b,c\n0.1,0.2,5\n")
    for file in (lines, table):
        (batch,) = EventFile(str(file), Schema(), 10, decimals=True).batches()
        assert batch.events[0]["a"] == Decimal("0.1")
        (batch,) = EventFile(str(file), Schema(), 10).batches()
        assert isinstance(batch.events[0]["a"], float)


def test_commands_read_decimals(index, tmp_path):
    index.save(tmp_path / "index")
    events, rules = tmp_path / "events.jsonl", tmp_path / "rules.txt"
    events.write_text(SUM + "\n")
    rules.write_text("a + b = 0.3\n")
    for option, rule_ids in (((), [2, 3]), (("--decimals",), [1, 3])):
        result = run("match", tmp_path / "index", events, "-q", *option)
        assert json.loads(result.stdout)["rules"] == rule_ids
        assert run("explain", tmp_path / "index", 1, SUM, *option).exit_code == (0 if option else 1)
        answer = json.loads(run("evaluate", rules, events, "--json", *option).stdout)
        assert answer["true"] == (["1"] if option else [])
