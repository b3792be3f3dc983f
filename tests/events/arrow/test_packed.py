"""Columns that are elements of lists are the columns that they were."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ruledex import Index, Schema
from ruledex.errors import EventError
from ruledex.events.arrow.encoder import encode_arrow
from ruledex.events.arrow.packed import packed_in, sparse_columns, unpacked, with_packed
from ruledex.events.arrow.tables import FEW_ROWS
from tests.events.arrow.test_encoder import dictionary_of, same

RULES = [
    *("a = 1 OR c > 5", "b IS NULL", "b != 2", "a IS NULL OR a NOT IN (3)", "a < c", "abs(b) = 2", "a.x = 1"),
    *("s LIKE 'h%' OR t = 'u'", "lower(s) = 'u'", "t IS NOT NULL", "p.q = 1", "d > DATE '2024-01-01'"),
]
COLUMNS = {
    "a": pa.array([1, None, None, 4, None], pa.int32()),
    "b": pa.array([None] * 5, pa.int32()),
    "c": pa.array([2, 9, None, None, -2], pa.int32()),
    "s": pa.array(["hé", None, "U", None, ""]),
    "t": pa.array([None, "u", None, None, "u"]),
    "d": pa.array([None, 19_800, 1, None, None], pa.date32()),
    "p": pa.array([{"q": 1}, None, {"q": None}, None, {"q": 2}]),
}
PACKS = {"numbers": ("a", "b", "c"), "texts": ("s", "t"), "days": ("d",)}


@pytest.fixture(scope="module")
def dictionary():
    return dictionary_of(RULES, Schema())


def pack(table, packs=PACKS):
    """The columns of each pack row by row in lists."""
    lists = {}
    for name, columns in packs.items():
        rows = [list(row) for row in zip(*(table[column].to_pylist() for column in columns), strict=True)]
        lists[name] = pa.array(rows, pa.list_(table.schema.field(columns[0]).type))
    inside = {column for columns in packs.values() for column in columns}
    others = {name: table[name] for name in table.column_names if name not in inside}
    return with_packed(pa.table({**lists, **others}), packs)


TABLE = pa.table(COLUMNS)


def test_packed_columns_are_encoded_as_plain_ones_are(dictionary):
    packed = pack(TABLE)
    assert packed.column_names == ["numbers", "texts", "days", "p"]
    assert same(encode_arrow(dictionary, packed), encode_arrow(dictionary, TABLE))


def test_slices_and_chunks_of_packed_columns_are_encoded_as_plain_ones_are(dictionary):
    packed, expected = pack(TABLE), encode_arrow(dictionary, TABLE[1:])
    assert same(encode_arrow(dictionary, packed[1:]), expected)
    assert same(encode_arrow(dictionary, pa.concat_tables([packed[1:2], packed[2:2], packed[2:]])), expected)
    assert same(encode_arrow(dictionary, packed[1:].combine_chunks().to_batches()[0]), expected)
    assert same(encode_arrow(dictionary, packed[:0]), encode_arrow(dictionary, TABLE[:0]))
    assert same(encode_arrow(dictionary, packed[1:1].combine_chunks()), encode_arrow(dictionary, TABLE[:0]))


@pytest.mark.parametrize("n_rows", [1, FEW_ROWS, FEW_ROWS + 1])
def test_an_index_reads_packed_columns_however_few_the_rows(n_rows):
    names = [f"c{number}" for number in range(16)]
    table = pa.table({name: list(range(place, place + n_rows)) for place, name in enumerate(names)})
    index = Index.build([(place, f"{name} = {place}") for place, name in enumerate(names)])
    packed = pack(table, {"numbers": tuple(names)})
    for _ in range(2):  # what is known of a schema is kept for the next table
        for events in (table, packed):
            assert index.count(events).tolist() == [16] + [0] * (n_rows - 1)
            assert next(iter(index.match_batch(events))) == list(range(16))


@pytest.mark.parametrize("n_columns", [3, 300, 70_000])  # whose numbers have one byte, two, and four
def test_columns_are_found_in_lists_of_any_length(n_columns):
    generator = np.random.default_rng(n_columns)
    values = generator.integers(0, 100, 2 * n_columns)
    is_null = generator.random(2 * n_columns) < 0.5
    is_null[0::n_columns] = True
    elements = pa.array(values, pa.int16(), mask=is_null)
    names = [str(number) for number in range(n_columns)]
    found = dict(sparse_columns(pa.ListArray.from_arrays([0, n_columns, 2 * n_columns], elements), names))
    expected = {}
    for number, name in enumerate(names):
        rows = [row for row in range(2) if not is_null[row * n_columns + number]]
        if rows:
            expected[name] = (rows, [int(values[row * n_columns + number]) for row in rows])
    assert "0" not in found
    assert {name: (column.rows.tolist(), column.values.to_pylist()) for name, column in found.items()} == expected


def test_unpacked_columns_are_those_that_were_packed():
    packed = pack(TABLE)
    assert unpacked(packed).equals(TABLE)
    assert unpacked(pa.concat_tables([packed[3:], packed[:1]])).equals(pa.concat_tables([TABLE[3:], TABLE[:1]]))
    assert unpacked(packed[:0]).equals(TABLE[:0])
    assert unpacked(TABLE) is TABLE


def test_a_table_without_packed_columns_says_so():
    assert packed_in(TABLE.schema) == {}
    assert with_packed(TABLE, {}) is TABLE


@pytest.mark.parametrize("rows", [[[1, 2, 3], [1]], [[1, 2], None]], ids=["another", "none"])
def test_lists_that_have_not_a_value_for_each_column_are_refused(dictionary, rows):
    table = with_packed(pa.table({"numbers": rows}), {"numbers": ["a", "b"]})
    with pytest.raises(EventError, match="not have one value for each of its 2 columns"):
        encode_arrow(dictionary, table)
