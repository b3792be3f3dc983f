"""Events of every form become the same cells."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest

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
