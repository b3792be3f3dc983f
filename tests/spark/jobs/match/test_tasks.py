"""What a task writes: batches that a JVM takes well, whatever is asked."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ruledex import Index
from ruledex.spark.jobs.match.plan import MatchRequest
from ruledex.spark.jobs.match.tasks import BYTES_PER_BATCH, match_partition
from ruledex.spark.worker.events import Layout

N_EVENTS, BYTES_PER_EVENT = 1500, 20_000


SHAPES = [("count", None), ("arrays", None), ("arrays", 1), ("rows", None), ("lists", None), ("lists", 1)]


@pytest.mark.parametrize(("shape", "top"), SHAPES)
def test_batches_are_cut_by_the_bytes_of_what_is_kept(tmp_path, shape, top):
    version = Index.build([(1, "a = 1")]).save(tmp_path)
    events = pa.array([{"a": 1}] * N_EVENTS)
    kept = pa.array([{"text": "x" * BYTES_PER_EVENT}] * N_EVENTS)
    given = pa.RecordBatch.from_arrays([events, kept], ["event", "kept"])
    layout = Layout(variants=(), packed=())
    request = MatchRequest(str(tmp_path), version, shape, top, "sum", layout, None, None, tells_version=False)
    found = list(match_partition(request, [given]))
    assert sum(batch.num_rows for batch in found) == N_EVENTS
    assert max(batch.num_rows for batch in found) * BYTES_PER_EVENT <= BYTES_PER_BATCH


def test_an_event_with_more_matches_than_a_batch_holds_has_several_lists(tmp_path, monkeypatch):
    monkeypatch.setattr("ruledex.spark.jobs.match.tasks.BYTES_PER_BATCH", 800)
    version = Index.build([(rule, "a = 1 OR b = 1" if rule == 7 else "a = 1") for rule in range(250)]).save(tmp_path)
    events = pa.array([{"a": 1, "b": 0}, {"a": 0, "b": 0}, {"a": 0, "b": 1}, {"a": 1, "b": 1}])
    given = pa.RecordBatch.from_arrays([events, pa.array([{"n": n} for n in range(4)])], ["event", "kept"])
    layout = Layout(variants=(), packed=())
    request = MatchRequest(str(tmp_path), version, "lists", None, "sum", layout, None, None, tells_version=False)
    found = list(match_partition(request, [given]))
    assert all(batch.nbytes <= 1_000 for batch in found)
    rows = [(row["n"], rule) for batch in found for row in batch.to_pylist() for rule in row["ruledex: matches"]]
    assert rows == [(n, rule) for n in (0, 2, 3) for rule in ([7] if n == 2 else range(250))]


def test_counts_are_those_of_the_index_as_blocks_become_larger(tmp_path):
    index = Index.build([(n, f"a % 100 < {n}") for n in range(0, 100, 7)])
    request = MatchRequest(
        str(tmp_path), index.save(tmp_path), "count", None, "sum", Layout((), ()), None, None, False, True
    )
    events = pa.table({"a": range(60_000)})
    structs = pa.table({"event": events.to_struct_array(), "kept": pa.nulls(60_000, pa.struct([("a", pa.int64())]))})
    found = pa.Table.from_batches(match_partition(request, structs.to_batches(10_000)))
    assert found["n_rules"].to_pylist() == index.count(events).tolist()
