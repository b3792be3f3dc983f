"""A table from a stranger is decoded within what its file's size allows."""

from __future__ import annotations

import io
from contextlib import suppress
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ruledex.artifact.untrusted import page_sizes, read_bounded
from ruledex.errors import ArtifactError
from ruledex.limits import limited

COLUMNS = ("id", "expr")


def parquet(table, **options):
    file = io.BytesIO()
    pq.write_table(table, file, compression="zstd", write_page_checksum=True, **options)
    return file.getvalue()


def rows(n, text="x = 1"):
    return pa.table({"id": range(n), "expr": pa.array([text] * n, pa.large_string())})


@pytest.mark.parametrize("options", [{}, {"use_dictionary": False}, {"data_page_version": "2.0"}])
def test_a_table_comes_back_as_it_was(options):
    table = rows(5000)
    found = read_bounded(parquet(table, row_group_size=1000, **options), "t", 5000, "id", COLUMNS)
    assert found.equals(table)


def test_strings_are_large_strings_and_numbers_stay():
    table = pa.table({"id": ["a", "b"], "expr": ["c", None], "score": [1.0, None]})
    found = read_bounded(parquet(table), "t", 2, "id", ("id", "expr", "score"))
    assert found.schema.types == [pa.large_string(), pa.large_string(), pa.float64()]
    assert found.to_pylist() == table.to_pylist()


@pytest.mark.parametrize(
    "options", [{"use_dictionary": False}, {"use_dictionary": ["expr"]}], ids=["compressed", "dictionary"]
)
def test_a_bomb_is_refused_before_it_goes_off(options):
    data = parquet(rows(120, "x" * 1_000_000), **options)
    assert len(data) < 100_000
    with pytest.raises(ArtifactError, match="would grow to 120,"):
        read_bounded(data, "t", 120, "id", COLUMNS)
    with limited(table_growth=1_000_000):
        assert read_bounded(data, "t", 120, "id", COLUMNS).num_rows == 120


def test_rows_are_as_many_as_the_manifest_says_and_have_room_for_distinct_ids():
    with pytest.raises(ArtifactError, match="5 rows, not 6"):
        read_bounded(parquet(rows(5)), "t", 6, "id", COLUMNS)
    many = pa.table({"id": pa.array([7] * 1_000_000), "expr": pa.array(["x"] * 1_000_000)})
    with pytest.raises(ArtifactError, match="cannot be 1,000,000 distinct values"):
        read_bounded(parquet(many), "t", 1_000_000, "id", COLUMNS)


@pytest.mark.parametrize("options", [{"use_dictionary": False}, {}, {"data_page_version": "2.0"}])
def test_lists_of_integers_come_back_and_those_that_would_grow_are_refused(options):
    lists = pa.array([[1, 2, 3], [], [7]], pa.large_list(pa.int32()))
    table = pa.table({"id": [1, 2, 3], "expr": lists})
    assert read_bounded(parquet(table, **options), "t", 3, "id", COLUMNS).equals(table)
    for value in (None, 5):  # neither takes more than some bytes in the file
        lists = pa.array([np.repeat(np.array([value], object), 20_000_000)], pa.list_(pa.int32()))
        data = parquet(pa.table({"id": [1], "expr": lists}), use_dictionary=True)
        assert len(data) < 100_000
        with pytest.raises(ArtifactError, match="would grow to"):
            read_bounded(data, "t", 1, "id", COLUMNS)


def test_texts_that_are_no_unicode_are_refused():
    raw = pa.array([b"\xff\xfe"], pa.large_binary())
    texts = pa.LargeStringArray.from_buffers(1, *raw.buffers()[1:])
    with pytest.raises(ArtifactError, match="UTF8"):
        read_bounded(parquet(pa.table({"id": [1], "expr": texts})), "t", 1, "id", COLUMNS)


@pytest.mark.parametrize("column", [pa.array([[1]]), pa.array([{"a": 1}]), pa.array([b"x"]), pa.array([True])])
def test_columns_of_other_types_are_refused(column):
    with pytest.raises(ArtifactError):
        read_bounded(parquet(pa.table({"id": [1], "expr": column})), "t", 1, "id", COLUMNS)


def test_the_headers_of_pages_say_what_is_decompressed():
    table = rows(20_000)
    data = parquet(table, use_dictionary=False, data_page_size=10_000)
    column = pq.ParquetFile(io.BytesIO(data)).metadata.row_group(0).column(0)
    size, n_values = page_sizes(data, column.data_page_offset, column.total_compressed_size, "t")
    assert 160_000 <= size <= column.total_uncompressed_size
    assert n_values == 20_000
    for start, n_bytes in ((-1, 10), (0, len(data) + 1), (column.data_page_offset + 1, 100)):
        with pytest.raises(ArtifactError):
            page_sizes(data, start, n_bytes, "t")


def test_no_bytes_make_the_reading_of_headers_fail_otherwise():
    draw = Random(0)
    for _ in range(3000):
        data = draw.randbytes(draw.randrange(60))
        with suppress(ArtifactError):
            assert min(page_sizes(data, 0, len(data), "t")) >= 0
