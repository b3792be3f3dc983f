"""Frames and tables with columns that Arrow does not know, or knows as something else than a mapping does."""

from __future__ import annotations

from enum import Enum
from ipaddress import ip_address
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ruledex import Index
from ruledex.errors import EventError, RuledexWarning
from ruledex.language import plain
from ruledex.limits import limited


class Colour(Enum):
    RED = "red"


UID = UUID(int=5)


def indexes(rules):
    """An index of the rules, and one to which most of them were added."""
    live = Index.build(rules[:1])
    live.add(rules[1:])
    return Index.build(rules), live


def matched(index, events):
    return [list(ids) for ids in index.match_batch(events)]


def test_a_column_that_no_rule_uses_may_hold_anything():
    frame = pd.DataFrame({"x": [1, 2], "odd": [object(), Colour.RED], "mixed": [1, "a"], 7: [{1}, None]})
    frame.index = pd.Index([Colour.RED, object()], dtype=object)
    for index in indexes([(1, "x = 1"), (2, "y + 1 = 2"), (3, "x = 2")]):
        assert matched(index, frame) == [[1], [3]]
        assert index.count(frame).tolist() == [1, 1]
        assert matched(index, frame[["odd", "mixed"]]) == [[], []]
        assert [list(found) for found in index.top_batch(frame, 1, weights=[{"x": 2.0}, None])] == [[1], [3]]


def test_an_index_of_a_frame_is_a_column_if_a_rule_uses_its_name():
    frame = pd.DataFrame({"y": [1, 1]}, index=pd.Index([1, 2], name="x"))
    for index in indexes([(1, "x = 1"), (2, "y = 1")]):
        assert matched(index, frame) == [[1, 2], [2]]


def test_a_used_column_that_arrow_does_not_know_is_read_row_by_row():
    frame = pd.DataFrame({"x": [Colour.RED, 1, None, ip_address("10.0.0.1")], "y": [1, 2, 3, 4]})
    for index in indexes([(1, "x = 'red'"), (2, "x = 1"), (3, "x = '10.0.0.1'"), (4, "y > 2 AND x IS NULL")]):
        assert matched(index, frame) == matched(index, frame.to_dict("records")) == [[1], [2], [4], [3]]
    twice = pd.DataFrame([[Colour.RED, Colour.RED]], columns=["x", "x"])
    with pytest.raises(EventError, match="uplicate"):
        indexes([(1, "x = 1")])[0].match_batch(twice)


def test_periods_are_their_texts_and_never_numbers():
    frame = pd.DataFrame({"p": pd.PeriodIndex(["2024-01", None], freq="M"), "n": [1, 2]})
    number = frame["p"].iloc[0].ordinal
    for index in indexes([(1, "p = '2024-01'"), (2, f"p = {number}"), (3, "p IS NULL"), (4, "n = 2")]):
        assert matched(index, frame) == matched(index, frame.to_dict("records")) == [[1], [3, 4]]
    with pytest.raises(EventError, match="write them as texts, or give the frame itself"):
        Index.build([(1, "p = 1")]).match_batch(pa.Table.from_pandas(frame))


def test_uuids_are_texts_in_every_layout():
    uids = pa.array([UID.bytes, None], pa.uuid())
    rules = [(1, f"x = '{UID}'"), (2, "x IS NULL"), (3, f"lower(x) = '{UID}'"), (4, f"p.x = '{UID}'")]
    tables = [
        pa.table({"x": uids, "p": pa.StructArray.from_arrays([uids], ["x"])}),
        pa.table({"x": pa.ListArray.from_arrays([0, 1, 1], uids), "p": [{"x": str(UID)}, None]}),
        pa.table({"x": pa.chunked_array([uids[:1], uids[1:]]), "p": [[{"x": str(UID)}], []]}),
    ]
    frame = pd.DataFrame({"x": [UID, None], "p": [{"x": UID}, {"x": None}]})
    for index in indexes(rules):
        for table in tables:
            assert matched(index, table) == [[1, 3, 4], [2]]
            assert matched(index, table.to_pylist()) == [[1, 3, 4], [2]]
        assert matched(index, frame) == matched(index, frame[["p", "x"]].to_dict("records")) == [[1, 3, 4], [2]]


def test_a_column_of_no_type_is_named_once(monkeypatch):
    monkeypatch.setattr(plain, "_told_of", set())
    table = pa.table({"x": [b"a", None], "y": pa.array([1, 2], pa.duration("s")), "z": [b"a", b"b"]})
    index = Index.build([(1, "x = 'a'"), (2, "x IS NULL"), (3, "length(y) = 1")])
    with pytest.warns(RuledexWarning) as told:
        assert matched(index, table) == matched(index, table) == [[], [2]]
    assert [str(warning.message).partition(",")[0] for warning in told] == [
        "x has a value of the type binary",
        "y has a value of the type duration[s]",
    ]
    assert {warning.filename for warning in told} == {__file__}


def test_limits_of_lists_hold_for_tables():
    deep = [{"x": [[[[{"y": 1}]]]]}, {"x": [[[[{"y": 1}, {"y": 2}], [{"y": 1}]]]]}]
    table = pa.Table.from_pylist(deep)
    for index in indexes([(1, "x.y = 1"), (2, "x.y = 2")]):
        assert matched(index, table) == matched(index, deep) == [[1], [1, 2]]
        with limited(event_depth=4, event_lists=5):
            assert matched(index, table) == matched(index, deep) == [[1], [1, 2]]
        for events in (table, deep):
            with limited(event_depth=3), pytest.raises(EventError, match="event_depth of 3"):
                index.match_batch(events)
            with limited(event_lists=4), pytest.raises(EventError, match="event_lists of 4") as raised:
                index.match_batch(events)
            assert raised.value.number == 1


def test_lists_at_the_end_of_a_path_may_be_of_any_number_as_in_mappings():
    table = pa.table({"x": [list(range(100)), []]})
    with limited(event_lists=1, event_depth=1):
        assert matched(Index.build([(1, "x = 99")]), table) == [[1], []]


def test_arrays_and_scalars_of_numpy_in_a_frame():
    frame = pd.DataFrame(
        {"x": [np.array([1, 2]), np.array([3])], "y": np.array(["2024-01-01", "NaT"], "datetime64[ns]")}
    )
    for index in indexes([(1, "x = 2"), (2, "y < DATE '2025-01-01'"), (3, "x = 3 AND y IS NULL")]):
        assert matched(index, frame) == matched(index, frame.to_dict("records")) == [[1, 2], [3]]
