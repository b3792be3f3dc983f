from __future__ import annotations

import numpy as np
import pyarrow as pa

from ruledex.workloads.sparse import SparseEvents

OFFSETS = np.array([0, 2, 2, 3], np.int32)
COLUMNS = np.array([0, 2, 1])
CODES = np.array([1, 0, 1])


def test_codes_without_a_vocabulary_are_the_values() -> None:
    schema = pa.schema([(name, pa.int32()) for name in "abc"])
    events = SparseEvents(schema, OFFSETS, COLUMNS, CODES)
    assert events.dicts() == [{"a": 1, "c": 0}, {}, {"b": 1}]
    assert events.record_batch().to_pydict() == {"a": [1, None, None], "b": [None, None, 1], "c": [0, None, None]}


def test_codes_with_a_vocabulary_are_its_words() -> None:
    schema = pa.schema([(name, pa.string()) for name in "abc"])
    events = SparseEvents(schema, OFFSETS, COLUMNS, CODES, pa.array(["x", "y"]))
    assert events.dicts() == [{"a": "y", "c": "x"}, {}, {"b": "y"}]
    assert events.record_batch().to_pydict() == {"a": ["y", None, None], "b": [None, None, "y"], "c": ["x", None, None]}
