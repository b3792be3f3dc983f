"""What events make the engines over posting lists touch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.encode.event_batch import EventBatch
from ruledex.engines.conjunction_index_postings import new_cursors
from ruledex.engines.inputs import frozen_batch
from ruledex.engines.work import Work, averages
from ruledex.kernels.disjunctions import Disjunctions, expression_numbers
from ruledex.kernels.postings import Postings
from ruledex.kernels.postings_work import COUNTED, count_postings_touched


def postings_work(index: Postings, batch: EventBatch) -> Work:
    """Of posting lists, for an event on average."""
    batch = frozen_batch(batch)
    counts = np.zeros(len(COUNTED), np.int64)
    count_postings_touched(index, new_cursors(index, batch), batch.offsets, batch.cells, counts)
    return averages(dict(zip(COUNTED, counts.tolist(), strict=True)), batch)


def true_items(index: Postings, disjunctions: Disjunctions, batch: EventBatch) -> list[NDArray[np.int32]]:
    """The numbers of the items that are true of each event. Of conjunctions, `disjunctions` is empty."""
    batch = frozen_batch(batch)
    cursors = new_cursors(index, batch)
    counters = np.zeros(int(disjunctions.n_disjunctions.max(initial=0)), np.int64)
    out = np.zeros(int(index.partition_first[-1]), np.int32)
    found = []
    for begin, end in zip(batch.offsets[:-1], batch.offsets[1:], strict=True):
        n_found = expression_numbers(index, disjunctions, cursors, counters, batch.cells, begin, end, out)
        found.append(out[:n_found].copy())
    return found
