"""Blocks of events in, runs of events or matches out."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ruledex.spark.worker.blocks import (
    BYTES_PER_BLOCK,
    EVENTS_PER_BLOCK,
    MOST_EVENTS_PER_BLOCK,
    BlockReader,
    counted_block_size,
    event_cuts,
    event_lists,
    events_of,
    match_cuts,
    row_bytes,
)


def batches(*sizes):
    begin = 0
    for size in sizes:
        yield pa.RecordBatch.from_pydict({"n": pa.array(range(begin, begin + size), pa.int64())})
        begin += size


@pytest.mark.parametrize("sizes", [(), (0,), (4,), (3, 0, 1), (1, 1, 1, 1, 1), (11,), (3, 9, 2), (4, 4, 0)])
def test_blocks_have_their_size_and_all_rows_in_order(sizes):
    tables = list(BlockReader(batches(*sizes), 4))
    assert [number for table in tables for number in table["n"].to_pylist()] == list(range(sum(sizes)))
    assert all(table.num_rows == 4 for table in tables[:-1])
    assert all(0 < table.num_rows <= 4 for table in tables)


def test_blocks_of_small_events_that_are_counted_are_larger_and_have_few_bytes():
    small, middle, large = (pa.table({"text": ["x" * n] * 1000}) for n in (1, 1000, 100_000))
    assert counted_block_size(small) == MOST_EVENTS_PER_BLOCK
    assert EVENTS_PER_BLOCK < counted_block_size(middle) <= BYTES_PER_BLOCK // 1000
    assert counted_block_size(large) == counted_block_size(large.slice(0, 1)) == EVENTS_PER_BLOCK
    assert counted_block_size(small.slice(0, 0)) == MOST_EVENTS_PER_BLOCK


def test_the_size_may_change_between_two_blocks():
    blocks = BlockReader(batches(7, 7, 7), 2)
    sizes = []
    for table in blocks:
        sizes.append(table.num_rows)
        blocks.size = [2, 8, 3][len(sizes) % 3]
    assert sizes == [2, 8, 3, 2, 6]


@pytest.mark.parametrize("seed", range(5))
def test_runs_of_events_are_full_but_not_too_large(seed):
    widths = np.random.default_rng(seed).integers(0, 30, 200)
    runs = list(event_cuts(widths, 50))
    assert [event for first, last in runs for event in range(first, last)] == list(range(200))
    for (first, last), following in zip(runs, [*runs[1:], None], strict=True):
        assert widths[first:last].sum() <= 50 or last == first + 1
        assert following is None or widths[first : last + 1].sum() > 50
    assert list(event_cuts(np.array([60, 1]), 50)) == [(0, 1), (1, 2)]
    assert list(event_cuts(np.empty(0, np.int64), 50)) == []


@pytest.mark.parametrize("seed", range(5))
def test_runs_of_matches_cut_events_that_are_too_large(seed):
    random = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(random.choice([0, 1, 3, 40], 50))])
    widths = random.choice([1, 9, 70], 50)
    event_of = np.repeat(np.arange(50), np.diff(offsets))
    runs = list(match_cuts(offsets, widths, 64))
    assert [match for begin, end in runs for match in range(begin, end)] == list(range(offsets[-1]))
    for begin, end in runs:
        assert events_of(offsets, begin, end).tolist() == event_of[begin:end].tolist()
        events, cuts = event_lists(offsets, begin, end)
        assert events.tolist() == sorted(set(event_of[begin:end].tolist()))
        assert (cuts[0], cuts[-1], np.diff(cuts).min() > 0) == (0, end - begin, True)
        assert widths[event_of[begin:end]].sum() <= 64 or end == begin + 1
    assert len(runs) <= 2 * (widths[event_of].sum() // 64 + 50)


def test_without_matches_there_are_no_runs():
    assert list(match_cuts(np.zeros(4, np.int64), np.ones(3, np.int64), 64)) == []


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (["ab", None, ""], pa.string(), [6, 4, 4]),
        ([b"abc"], pa.large_binary(), [7]),
        ([1, None], pa.int64(), [8, 8]),
        ([True], pa.bool_(), [1]),
        ([None, None], pa.null(), [16, 16]),  # of a type that does not say how wide it is
        ([[1, 2], None, []], pa.list_(pa.int32()), [12, 4, 4]),
        ([[("a", [1]), ("bb", [])], []], pa.map_(pa.string(), pa.list_(pa.int64())), [4 + 5 + 12 + 6 + 4, 4]),
        ([{"x": "abc", "y": 1}, None], pa.struct([("x", pa.string()), ("y", pa.int16())]), [9, 6]),
    ],
)
def test_bytes_of_rows(values, kind, expected):
    padded = pa.array([*values, *values], kind)
    table = pa.table({"a": pa.chunked_array([padded.slice(len(values)), padded.slice(0, len(values))])})
    assert row_bytes(table).tolist() == expected * 2


def test_a_table_without_columns_has_no_bytes():
    assert row_bytes(pa.table({"a": [1, 2]}).drop_columns(["a"])).tolist() == [0, 0]
