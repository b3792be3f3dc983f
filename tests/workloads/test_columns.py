from __future__ import annotations

import numpy as np
import pyarrow as pa

from ruledex.workloads.columns import SparseEvents, concatenate, decimals, join_groups, offsets_of, parenthesise, words


def test_offsets_are_running_sums_from_zero() -> None:
    assert offsets_of(np.array([2, 0, 3])).tolist() == [0, 2, 2, 5]
    assert offsets_of(np.array([], np.int64)).tolist() == [0]


def test_columns_and_plain_strings_run_together_row_by_row() -> None:
    assert concatenate(pa.array(["a", "b"]), " = ", pa.array(["1", "2"])).to_pylist() == ["a = 1", "b = 2"]


def test_groups_are_joined_each_by_its_own_separator() -> None:
    items = pa.array(["a", "b", "c", "d"])
    assert join_groups(items, np.array([3, 1]), pa.array([" AND ", " OR "])).to_pylist() == ["a AND b AND c", "d"]


def test_parentheses_stand_only_where_wanted() -> None:
    assert parenthesise(pa.array(["a", "b"]), np.array([True, False])).to_pylist() == ["(a)", "b"]


def test_codes_become_words() -> None:
    assert words(["x", "y"], np.array([1, 0, 1])).to_pylist() == ["y", "x", "y"]


def test_decimals_keep_leading_zeros_and_signs_and_have_no_exponent() -> None:
    units = np.array([0, 1, 12, 1_000_000, -5, -2_500_000])
    written = decimals(units, 6).to_pylist()
    assert written == ["0.000000", "0.000001", "0.000012", "1.000000", "-0.000005", "-2.500000"]


def test_decimals_read_back_as_the_division() -> None:
    units = np.random.default_rng(0).integers(-(10**7), 10**7, 2000)
    assert [float(text) for text in decimals(units, 6).to_pylist()] == (units / 10**6).tolist()


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
