from __future__ import annotations

from contextlib import nullcontext

import pandas as pd
import pytest

from ruledex import Index
from ruledex.errors import EventError


def nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth):
        value = [value]
    return value


def cyclic() -> list[object]:
    value: list[object] = []
    value.append(value)
    return value


def shared() -> list[object]:
    value: list[object] = []
    for _ in range(60):
        value = [value, value]
    return value


VALUES = pytest.mark.parametrize("value", [cyclic(), {"a": cyclic()}, nested(100_000), shared()], ids=range(4))


@VALUES
@pytest.mark.parametrize("column", ["x", "unused"])
def test_a_frame_with_a_value_that_never_ends_is_answered_as_its_rows_are(value, column) -> None:
    index = Index.build([(1, "x = 5"), (2, "x IS NOT NULL")])
    frame = pd.DataFrame({"y": [1, 2], column: pd.Series([[5], value], dtype=object)})
    expected = [[1, 2], [2]] if column == "x" else [[], []]
    assert [list(found) for found in index.match_batch(frame)] == expected
    assert [list(found) for found in index.match_batch(frame.to_dict("records"))] == expected


@VALUES
def test_a_value_that_never_ends_on_the_way_to_another_is_the_error_of_its_event(value) -> None:
    frame = pd.DataFrame({"x": pd.Series([[{"y": 5}], [value]], dtype=object)})
    index = Index.build([(1, "x.y = 5")])
    with pytest.raises(EventError, match=r"events\[1\].*limit event_") if type(value) is list else nullcontext():
        assert [list(found) for found in index.match_batch(frame)] == [[1], []]


def test_a_frame_with_lists_is_read() -> None:
    index = Index.build([(1, "x = 5")])
    frame = pd.DataFrame({"x": pd.Series([[1, 5], [2]], dtype=object), "y": [[[1]], [[2]]]})
    assert [list(found) for found in index.match_batch(frame)] == [[1], []]
