import numpy as np
import pytest

from ruledex.engines.kindex import posting_lists
from ruledex.engines.kindex.disjunctions import DisjunctionIndex
from ruledex.engines.kindex.matching import expression_numbers
from tests.contract.reference import Reference
from tests.contract.sizes import scaled
from tests.engines.programs import drawn_batch, drawn_program


@pytest.mark.parametrize("n_led", [3, 1 << 30])
@pytest.mark.parametrize("several", [False, True])
def test_all_true_expressions_are_found_once(n_led, several, monkeypatch):
    monkeypatch.setattr(posting_lists, "N_LED", n_led)
    program = drawn_program(40, 1)
    rng = np.random.default_rng(1)
    rows = [
        [sorted({*rng.choice(program.n_literals, rng.integers(1, 4)).tolist()}) for _ in range(rng.integers(0, 4))]
        for _ in range(scaled(200, 60))
    ]
    clauses = [clause for row in rows for clause in row]
    index = DisjunctionIndex.build(
        program,
        np.cumsum([0, *map(len, rows)]),
        np.cumsum([0, *map(len, clauses)]),
        np.array([literal for clause in clauses for literal in clause], np.int32),
    )
    assert index.index.partition_opened.any() == (n_led == 3)
    batch = drawn_batch(program, scaled(20, 4), 1, several)
    reference = Reference(program)
    cursors, counters = index.new_scratch(batch)
    out = np.zeros(len(rows), np.int32)
    for number, event in enumerate(reference.events(batch)):
        begin, end = batch.offsets[number], batch.offsets[number + 1]
        n_found = expression_numbers(index.index, index.disjunctions, cursors, counters, batch.cells, begin, end, out)
        expected = [
            i
            for i, row in enumerate(rows)
            if all(any(reference.holds(literal, event) for literal in clause) for clause in row)
        ]
        assert sorted(index.index.item[out[:n_found]].tolist()) == expected
