"""What a task writes: batches that a JVM takes well, whatever is asked."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ruledex import Index
from ruledex.spark.jobs.match.plan import MatchRequest
from ruledex.spark.jobs.match.tasks import BYTES_PER_BATCH, match_partition
from ruledex.spark.worker.events import Layout

N_EVENTS, BYTES_PER_EVENT = 1500, 20_000


@pytest.mark.parametrize(("shape", "top"), [("count", None), ("arrays", None), ("arrays", 1), ("rows", None)])
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
