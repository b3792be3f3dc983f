import numpy as np

from ruledex.engines.atree.heap import (
    FIRST_WORD,
    NO_BLOCK,
    TOP,
    empty_heap,
    free_block,
    new_block,
    with_room,
    without_waste,
    words_for,
    words_to_append,
)


def test_blocks_do_not_overlap_and_have_the_room_that_was_asked_for():
    heap = empty_heap(100_000)
    rng = np.random.default_rng(0)
    taken = np.zeros(len(heap), np.bool_)
    for n_words in rng.integers(1, 60, 300).tolist():
        start = new_block(heap, n_words)
        assert not taken[start - 1 : start + n_words].any()
        taken[start - 1 : start + n_words] = True


def test_a_block_that_was_given_back_is_used_again():
    heap = empty_heap(1000)
    start = new_block(heap, 20)
    free_block(heap, start)
    top = int(heap[TOP])
    assert new_block(heap, 19) == start
    assert heap[TOP] == top


def test_a_list_keeps_its_words_while_it_grows_and_shrinks():
    heap = empty_heap(10_000)
    start, words = NO_BLOCK, []
    for word in range(200):
        wanted = words_to_append(heap, start, len(words), 1)
        top = int(heap[TOP])
        start = with_room(heap, start, len(words), 1)
        assert heap[TOP] - top <= wanted
        heap[start + len(words)] = word
        words.append(word)
        assert heap[start : start + len(words)].tolist() == words
    while words:
        words.pop()
        start = without_waste(heap, start, len(words), 1)
        assert heap[start : start + len(words)].tolist() == words
    assert start == NO_BLOCK


def test_an_empty_heap_has_nothing_but_its_own_words():
    heap = empty_heap(0)
    assert (len(heap), heap[TOP]) == (FIRST_WORD, FIRST_WORD)
    assert words_for(0) == 0
    assert words_for(1) >= 2
