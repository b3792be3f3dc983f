"""Every layout that Arrow has, nested in each other: the answers are those of the same events in Python."""

from __future__ import annotations

import os
from contextlib import suppress
from random import Random

import pyarrow as pa
import pytest

from ruledex import evaluate, parse
from ruledex.index import Index
from tests.events.arrow.layouts import drawn_chunks

N_TABLES = int(os.environ.get("RULEDEX_ARROW_TABLES", "600"))
RULES = [
    *("x = 1", "x = 'a'", "x != 'b'", "x IS NULL", "x IS NOT NULL", "x IN (1, 2)", "x LIKE '%e%'"),
    *("x.q = 1", "x.q = 'a'", "x.q != 'b'", "x.q IS NULL", "x.q IS NOT NULL", "x.q <= 1.5D", "x.q", "NOT x.q"),
    *("x.q.r = 1", "x.q.r = 'a'", "x.q.r NOT IN ('b')", "x.q.r IS NULL", "x.r.q.q IS NULL", "x.r.q = 'cde'"),
    *("size(x) = 2", "size(x.q) = 0", "size(x.q.r) = 1", "subset_of(x, 'a', 'b')", "superset_of(x.q, 1)", "x.q = x.r"),
    *("x IS NULL OR x != 2", "lower(x.q) = 'a'", "x.q + 1 = 2", "set_equals(x.r, 'a')"),
]  # fmt: skip


@pytest.fixture(scope="module")
def index():
    return Index.build(list(enumerate(RULES)))


TREES = [parse(rule) for rule in RULES]


def true_of(value):
    return [number for number, tree in enumerate(TREES) if evaluate(tree, {"x": value}) is True]


@pytest.mark.parametrize("part", range(10))
def test_columns_of_every_nested_type_in_any_layout_answer_as_the_same_events_in_python(index, part):
    for seed in range(part, N_TABLES, 10):
        random = Random(seed)
        kind, chunks, values = drawn_chunks(random)
        tables = [pa.table({"x": pa.chunked_array(chunks, kind)})]
        with suppress(pa.ArrowException):  # not all types can be joined
            tables.append(pa.RecordBatch.from_arrays([pa.concat_arrays(chunks)], ["x"]))
        for table in tables:
            assert [list(found) for found in index.match_batch(table)] == [true_of(v) for v in values], (seed, kind)


def test_empty_lists_of_views_in_maps_stay_empty_when_maps_are_joined():
    keys, views = pa.array(["k", "k"]), pa.ListViewArray.from_arrays([0, 0], [2, 0], pa.array([1, 2]))
    maps = pa.MapArray.from_arrays(pa.array([0, 1, 2], pa.int32()), keys, views)
    table = pa.table({"m": pa.concat_arrays([maps, maps.slice(1)])})
    index = Index.build([(1, "m.k = 1"), (2, "m.k IS NULL")])
    assert [list(found) for found in index.match_batch(table)] == [[1], [2], [2]]
