"""Events as mappings: their weights, and dictionaries that grow, for which tables have the cells of the same rows."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from ruledex.dictionary.growing import GrowingDictionary
from ruledex.engines.atree.new_rules import encode_rules
from ruledex.errors import EventError
from ruledex.events.mappings import GrowingEncoder, float_weights
from ruledex.index import Index
from ruledex.language.schema import Schema

ROWS: list[dict[str, Any]] = [
    {"a": 4, "s": "xy", "b": 1.5},
    {"a": None, "s": "k", "b": 9.0},
    {"a": -3, "s": None, "b": None},
]
EVENTS = [{name: value for name, value in row.items() if value is not None} for row in ROWS]


def test_weights_become_floats_and_nulls_are_left_out():
    given = {"a": 2, "b": Decimal("0.5"), "c": {"x": 1, "y": None}, "d": None}
    assert float_weights(given) == {"a": 2.0, "b": 0.5, "c": {"x": 1.0}}


@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf"), "2", {"x": -1}])
def test_weights_are_finite_and_not_negative(weight):
    with pytest.raises(EventError, match="the weight of a"):
        float_weights({"a": weight})


@pytest.mark.parametrize("weight", [-1.0, float("inf"), float("nan")])
def test_an_index_refuses_them_too(weight):
    index = Index.build([(1, "a = 1")])
    with pytest.raises(EventError, match="finite and not negative"):
        index.top({"a": 1}, k=1, weights={"a": weight})


def test_maps_of_a_table_are_nested_attributes_with_weights_too():
    index = Index.build([(1, "m.x = 1")])
    table = pa.table({"m": pa.array([[("x", 1)]], pa.map_(pa.string(), pa.int64()))})
    assert index.top_batch(table, 1, weights=[{"m.x": 2.0}]).scores.tolist() == [2.0]


def used(dictionary, *texts):
    meanings = encode_rules(dictionary.schema, [(text, 0.0) for text in texts]).meanings
    dictionary.use([*meanings.positives, *meanings.negatives], meanings)
    dictionary.settle()


def test_a_table_has_the_cells_of_its_rows_whatever_came_when():
    dictionary = GrowingDictionary(Schema())
    for texts in (["a > 3", "s LIKE 'x%'"], ["a < 0", "b != 1.5"], ["a = 4", "s < 'm'", "a + b > 5"]):
        used(dictionary, *texts)
        encoder = GrowingEncoder(dictionary)
        rows, table = encoder.encode(EVENTS), encoder.arrow.encode(pa.Table.from_pylist(ROWS))
        assert rows.offsets.tolist() == table.offsets.tolist()
        assert rows.cells.tolist() == table.cells.tolist()
        assert rows.single == table.single


def test_an_encoder_for_tables_is_made_once():
    dictionary = GrowingDictionary(Schema())
    used(dictionary, "a > 3")
    encoder = GrowingEncoder(dictionary)
    assert encoder.arrow is encoder.arrow
