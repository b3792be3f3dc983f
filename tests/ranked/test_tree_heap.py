import numpy as np
import pytest

from ruledex.compiled.decorator import jit
from ruledex.ranked.tree import add_to_heap, replace_best


@jit
def merge(offsets, scores, ids, out):
    """Merge lists that are in order, as trees merge those of their nodes."""
    n_lists = offsets.size - 1
    heap_score, heap_id, heap_column = np.empty(n_lists), np.empty(n_lists, np.int32), np.empty(n_lists, np.int32)
    places = offsets[:-1] + 1
    n_held, n_written = 0, 0
    for slot in range(n_lists):
        if offsets[slot] < offsets[slot + 1]:
            first = offsets[slot]
            n_held = add_to_heap(heap_score, heap_id, heap_column, n_held, scores[first], ids[first], slot)
    while n_held > 0:
        slot = heap_column[0]
        out[n_written] = heap_id[0]
        n_written += 1
        place = places[slot]
        places[slot] += 1
        if place < offsets[slot + 1]:
            replace_best(heap_score, heap_id, heap_column, n_held, scores[place], ids[place], slot)
        else:
            n_held -= 1
            last = heap_score[n_held], heap_id[n_held], heap_column[n_held]
            replace_best(heap_score, heap_id, heap_column, n_held, last[0], last[1], last[2])
    return n_written


@pytest.mark.parametrize("seed", range(5))
def test_lists_are_merged_by_score_and_then_by_id(seed):
    rng = np.random.default_rng(seed)
    n, n_lists = 60, 9
    ids = np.arange(n, dtype=np.int32)
    scores = rng.integers(0, 4, n).astype(float)
    of_list = rng.integers(0, n_lists, n)
    order = np.lexsort((ids, -scores, of_list))
    offsets = np.searchsorted(of_list[order], np.arange(n_lists + 1))
    out = np.empty(n, np.int32)
    assert merge(offsets, scores[order], ids[order], out) == n
    assert out.tolist() == np.lexsort((ids, -scores)).tolist()
