import numpy as np

from ruledex.compiled.arrays import FREE
from ruledex.engines.kindex.normal_forms import ClauseTable, intern_clauses


def interned(clauses, n_slots):
    n_literals = sum(map(len, clauses))
    table = ClauseTable(
        np.full(n_slots, FREE, np.int32),
        np.zeros(len(clauses), np.int64),
        np.zeros(len(clauses) + 1, np.int64),
        np.zeros(n_literals, np.int32),
    )
    ids = np.zeros(len(clauses), np.int32)
    ends = np.cumsum([len(clause) for clause in clauses])
    literals = np.array([literal for clause in clauses for literal in clause], np.int32)
    n_held = intern_clauses(table, 0, ends, literals, ids)
    held = [table.literals[table.offsets[i] : table.offsets[i + 1]].tolist() for i in range(n_held)]
    return ids.tolist(), held


def test_equal_clauses_have_one_id_and_others_their_own():
    assert interned([[1, 2], [1], [], [1, 2], [2], [], [1]], 16) == ([0, 1, 2, 0, 3, 2, 1], [[1, 2], [1], [], [2]])


def test_clauses_are_compared_and_not_their_hashes_alone():
    rng = np.random.default_rng(1)
    clauses = [sorted(rng.choice(50, rng.integers(0, 4), replace=False).tolist()) for _ in range(400)]
    ids, held = interned(clauses, 1024)
    assert [held[i] for i in ids] == clauses
    assert len({tuple(clause) for clause in held}) == len(held)
