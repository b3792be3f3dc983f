from decimal import Decimal

import pyarrow as pa
import pytest

from ruledex.errors import EventError
from ruledex.events.mappings import checked_weights
from ruledex.index import Index


def test_weights_become_floats_and_nulls_are_left_out():
    given = {"a": 2, "b": Decimal("0.5"), "c": {"x": 1, "y": None}, "d": None}
    assert checked_weights(given) == {"a": 2.0, "b": 0.5, "c": {"x": 1.0}}


@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf"), "2", {"x": -1}])
def test_weights_are_finite_and_not_negative(weight):
    with pytest.raises(EventError, match="the weight of a"):
        checked_weights({"a": weight})


@pytest.mark.parametrize("weight", [-1.0, float("inf"), float("nan")])
def test_an_index_refuses_them_too(weight):
    index = Index.build([(1, "a = 1")])
    with pytest.raises(EventError, match="finite and not negative"):
        index.top({"a": 1}, k=1, weights={"a": weight})


def test_maps_of_a_table_are_nested_attributes_with_weights_too():
    index = Index.build([(1, "m.x = 1")])
    table = pa.table({"m": pa.array([[("x", 1)]], pa.map_(pa.string(), pa.int64()))})
    assert index.top_batch(table, 1, weights=[{"m.x": 2.0}]).scores.tolist() == [2.0]
