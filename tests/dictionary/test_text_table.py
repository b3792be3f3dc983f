"""Numbers of distinct slices, against a dictionary."""

from __future__ import annotations

import random

import numpy as np

from ruledex.dictionary.text_table import empty_text_table, intern_slices
from tests.program.rules import column


def test_equal_slices_have_one_number_in_the_order_of_first_sight() -> None:
    draw = random.Random(7)
    words = ["".join(draw.choice("ab=1 ") for _ in range(draw.randint(0, 9))) for _ in range(5000)]
    table = empty_text_table()
    known: dict[str, int] = {}
    for chunk in np.array_split(np.arange(len(words)), 4):
        part = [words[i] for i in chunk]
        text, offsets = column(part)
        table, numbers = intern_slices(table, text, offsets[:-1], offsets[1:])
        assert numbers.tolist() == [known.setdefault(word, len(known)) for word in part]
    assert table.n_texts == len(known)
    assert [text.decode() for text in table.slices(range(table.n_texts))] == list(known)


def test_slices_of_one_hash_are_told_apart_by_their_bytes() -> None:
    table = empty_text_table()
    text, offsets = column(["a = 1", "a = 2"])
    table, _ = intern_slices(table, text, offsets[:1], offsets[1:2])
    # The table is made to look as if the second slice had the hash, and so the bucket, of the first.
    other, _ = intern_slices(empty_text_table(), text, offsets[1:2], offsets[2:])
    table.hashes[0] = other.hashes[0]
    table.buckets[:] = other.buckets
    table, numbers = intern_slices(table, text, offsets[1:2], offsets[2:])
    assert numbers.tolist() == [1]


def test_a_slice_larger_than_the_table_makes_it_grow() -> None:
    text, offsets = column(["x" * 100_000, "y"])
    table, numbers = intern_slices(empty_text_table(), text, offsets[:-1], offsets[1:])
    assert numbers.tolist() == [0, 1]
    assert table.slices([0]) == [b"x" * 100_000]


def test_no_slices_have_no_numbers() -> None:
    nothing = np.empty(0, np.int64)
    assert len(intern_slices(empty_text_table(), np.empty(0, np.uint8), nothing, nothing)[1]) == 0


def test_the_arrays_of_a_table_grow_together() -> None:
    table = empty_text_table()
    text, offsets = column([f"a = {number}" for number in range(20_000)])
    for first in range(0, 20_000, 100):
        table, _ = intern_slices(table, text, offsets[first : first + 100], offsets[first + 1 : first + 101])
        assert table.n_texts == first + 100
        assert table.n_texts <= len(table.hashes)
        assert table.n_texts < len(table.offsets)
        assert 2 * table.n_texts <= len(table.buckets)
