from __future__ import annotations

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


@pytest.mark.parametrize("column", ["x", "unused"])
@pytest.mark.parametrize("value", [cyclic(), {"a": cyclic()}, nested(100_000), shared()], ids=range(4))
def test_a_frame_with_a_value_that_never_ends_is_refused(value, column) -> None:
    index = Index.build([(1, "x = 5")])
    frame = pd.DataFrame({"y": [1, 2], column: pd.Series([[1], value], dtype=object)})
    with pytest.raises(EventError, match=r"events\[1\].*limit event_"):
        index.match_batch(frame)


def test_a_frame_with_lists_is_read() -> None:
    index = Index.build([(1, "x = 5")])
    frame = pd.DataFrame({"x": pd.Series([[1, 5], [2]], dtype=object), "y": [[[1]], [[2]]]})
    assert [list(found) for found in index.match_batch(frame)] == [[1], []]
