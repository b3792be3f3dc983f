import numpy as np
import pytest

from ruledex.engines.batch.rows import N_DIGITS, N_EVENTS, N_WORDS, count_rows, write_rows


def drawn_rows(n_rows, density, seed):
    """Rows as a table of booleans, and as words."""
    table = np.random.default_rng(seed).random((n_rows, N_EVENTS)) < density
    return table, np.packbits(table, axis=1, bitorder="little").view(np.uint64).reshape(-1)


@pytest.mark.parametrize("density", [0.0, 0.01, 0.5, 1.0])
@pytest.mark.parametrize("n_rows", [0, 1, 7, 8, 9, 100])
def test_columns_are_counted(n_rows, density):
    table, words = drawn_rows(n_rows, density, n_rows)
    counts = np.full(N_EVENTS, 5)
    count_rows(words, n_rows, np.ones(N_DIGITS, np.uint64), counts)
    assert np.array_equal(counts, 5 + table.sum(axis=0))


@pytest.mark.parametrize("density", [0.0, 0.02, 0.5, 1.0])
def test_each_event_gets_its_rules_in_order(density):
    table, words = drawn_rows(40, density, 1)
    rules = np.sort(np.random.default_rng(2).choice(1000, 40, replace=False)).astype(np.int32)
    counts = table.sum(axis=0)
    ends = np.cumsum(counts)
    cursor = (ends - counts).astype(np.uint64)
    out = np.full(ends[-1], -1, np.int32)
    write_rows(rules[:25], words[: 25 * N_WORDS], 25, cursor, out)
    write_rows(rules[25:], words[25 * N_WORDS :], 15, cursor, out)
    assert np.array_equal(cursor, ends)
    assert np.array_equal(out, np.concatenate([rules[column] for column in table.T]))
