"""Elements of arrays in every layout, nested in each other."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from ruledex.events.arrow.taking import decode_layout, flatten_lists, join_chunks, make_takeable, take
from tests.events.arrow.layouts import drawn_chunks


@pytest.mark.parametrize("seed", range(200))
def test_elements_are_taken_in_any_order_and_null_where_there_is_no_place(seed):
    random = Random(seed)
    _, chunks, _ = drawn_chunks(random)
    array = chunks[0]
    listed = array.to_pylist()
    places = [random.randrange(len(array)) if len(array) and random.random() < 0.8 else -1 for _ in range(5)]
    found = take(array, np.array(places, np.int64))
    found.validate(full=True)
    assert found.to_pylist() == [None if place < 0 else listed[place] for place in places]
    assert decode_layout(array).to_pylist() == listed
    assert make_takeable(array).take(pa.array(range(len(array)), pa.int64())).to_pylist() == listed


@pytest.mark.parametrize("seed", range(200))
def test_chunks_are_joined_and_lists_flattened_whatever_their_layout(seed):
    kind, chunks, _ = drawn_chunks(Random(seed))
    listed = [value for chunk in chunks for value in chunk.to_pylist()]
    array = join_chunks(chunks)
    assert array.to_pylist() == listed
    if "list" in str(kind).split("<")[0]:
        assert flatten_lists(array).to_pylist() == [inner for value in listed if value is not None for inner in value]
