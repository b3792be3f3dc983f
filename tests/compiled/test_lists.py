"""Lists in CSR form."""

from __future__ import annotations

import numpy as np

from ruledex.compiled.arrays import frozen
from ruledex.compiled.csr import gather_lists


def test_lists_are_gathered_in_the_order_given_and_as_often() -> None:
    lists = [[4, 5], [], [7], [1, 2, 3]]
    chosen = [3, 0, 1, 3]
    offsets = np.cumsum([0, *map(len, lists)])
    out_offsets = np.cumsum([0, *(len(lists[each]) for each in chosen)])
    out = np.zeros(out_offsets[-1], np.int32)
    entries = frozen(np.concatenate(lists), np.int32)
    gather_lists(frozen(offsets, np.int64), entries, frozen(np.array(chosen), np.int64), out_offsets, out)
    assert out.tolist() == [1, 2, 3, 4, 5, 1, 2, 3]
