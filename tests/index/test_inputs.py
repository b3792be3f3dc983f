"""Events of every form become the same cells."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ruledex import Index
from ruledex.errors import EventError
from ruledex.events.mappings import EventEncoder
from ruledex.index.inputs import as_mapping, encode_events
from tests.index.samples import program

ROWS = [{"x": 1, "y": 2}, {"x": None, "y": 5}, {"x": 7, "y": None}]


@pytest.fixture(scope="module")
def encoder():
    return EventEncoder(program(["x = 1", "x > 5 AND y < 3", "y IS NULL", "x < y"])[1])


FORMS = {
    "mappings": lambda: ROWS,
    "a generator": lambda: iter(ROWS),
    "JSON": lambda: ['{"x": 1, "y": 2}', b'{"y": 5}', '{"x": 7}'],
    "a table": lambda: pa.Table.from_pylist(ROWS),
    "a record batch": lambda: pa.RecordBatch.from_pylist(ROWS),
    "a frame": lambda: pd.DataFrame({"x": [1, None, 7], "y": [2, 5, None]}, dtype="Int64"),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_events_of_every_form_have_the_same_cells(encoder, form):
    wanted, found = encoder.encode(ROWS), encode_events(encoder, form())
    assert found.offsets.tolist() == wanted.offsets.tolist()
    assert found.cells.tolist() == wanted.cells.tolist()


def test_a_batch_that_is_encoded_already_stays(encoder):
    batch = encoder.encode(ROWS)
    assert encode_events(encoder, batch) is batch


def test_weights_go_with_tables_too(encoder):
    weights = [{"x": 2.0}, None, {"x": {7: 3.0}}]
    wanted = encoder.encode(ROWS, weights)
    assert encode_events(encoder, pa.Table.from_pylist(ROWS), weights).weights.tolist() == wanted.weights.tolist()


@pytest.mark.parametrize("event", ["nope", b"[]", "3", 3, None, ["x"]])
def test_what_is_no_event_is_refused(event):
    with pytest.raises(EventError):
        as_mapping(event)


RULES_ON_A = [
    *("a = 1", "a = 1.5", "a = 2", "a = 'a'", "a LIKE 'a%'", "a IS NULL", "a IS NOT NULL", "a = true", "NOT a = 1"),
    *(
        "a > 1.25",
        "a < 100",
        "a != 0",
        "a >= DATE'2020-01-01'",
        "a > TIMESTAMP'2020-01-01 00:00:00'",
        "a NOT IN (1, 2)",
    ),
    *("a.b = 1", "a.b LIKE 'a%'", "a.b >= DATE'2020-01-01'", "a.b IS NULL", "a.b IN (1, 1.5)", "a <=> 2"),
]


def values_of_type(kind):
    """Values of a type: what rules name, what lies beside it, and what Python can hardly hold."""
    if pa.types.is_timestamp(kind):
        return [0, 1, 1_700_000_000_000_000, -1, None]
    if pa.types.is_date(kind):
        return [0, 19_000, -800_000, 3_000_000, None]
    if pa.types.is_decimal(kind):
        return [Decimal("1.50"), Decimal("2.00"), None]
    if pa.types.is_integer(kind):
        return [0, 1, 2, 100, 255 if kind == pa.uint8() else 127, None]
    if pa.types.is_floating(kind):
        return [0.0, -0.0, 1.5, 2.0, float("nan"), float("inf"), 0.1, None]
    return [True, False, None] if pa.types.is_boolean(kind) else ["", "a", "ab", "É", "2023-11-14", None]


@pytest.mark.parametrize(
    "kind",
    [
        *(pa.bool_(), pa.int8(), pa.int64(), pa.uint8(), pa.uint64(), pa.float32(), pa.float64(), pa.string()),
        *(pa.large_string(), pa.string_view(), pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC")),
        *(pa.timestamp("us", "Asia/Kolkata"), pa.timestamp("ns"), pa.decimal128(10, 2), pa.decimal256(40, 2)),
        *(pa.dictionary(pa.int8(), pa.string()), pa.float16()),
    ],
    ids=str,
)
@pytest.mark.parametrize("shape", ["scalar", "list", "struct"])
def test_a_few_rows_are_answered_as_the_same_rows_among_many(kind, shape):
    index = Index.build(list(enumerate(RULES_ON_A)), on_error="skip")
    scalars = values_of_type(pa.int8() if kind == pa.float16() else kind)
    scalars = [np.float16(value) if kind == pa.float16() and value is not None else value for value in scalars]
    values = {
        "scalar": scalars,
        "list": [[value, value] for value in scalars] + [[], None, scalars[:3]],
        "struct": [{"b": value} for value in scalars] + [None],
    }[shape]
    wrapped = {"scalar": kind, "list": pa.list_(kind), "struct": pa.struct({"b": kind})}[shape]
    column = pa.array(values, wrapped)
    table = pa.table({"a": column, "unused": pa.array(range(len(column)))})
    many = index.match_batch(pa.concat_tables([table] * 20))
    for number in range(len(table)):
        assert list(index.match_batch(table.slice(number, 1))[0]) == list(many[number]), values[number]
