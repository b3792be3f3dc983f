import numpy as np
import pytest

from ruledex.engines.kindex.cnf import CnfEngine
from ruledex.engines.kindex.dnf import DnfEngine
from ruledex.engines.labelled.dewey import DeweyEngine
from ruledex.engines.labelled.interval import IntervalEngine
from ruledex.engines.protocol import Statistics
from tests.contract.builder import make_batch, make_program

A, B, C, D = (("in", (cell, cell)) for cell in range(1, 5))


@pytest.mark.parametrize(("engine", "items"), [(DnfEngine, "conjunctions"), (CnfEngine, "expressions")])
def test_lists_and_what_they_lead_to_are_counted(engine, items):
    program = make_program([4], [(("and", A, B), 0.0, None)] * 3 + [(("and", B, C), 0.0, None), (D, 0.0, None)])
    work = engine.build(program).work(make_batch(program, [{1, 2}, {4}]))
    assert work == {
        "partitions": 1.0,  # K = 2 for the first event, K = 1 for the second
        "lists": 1.5,
        "entries noted": 2.0,
        "entries in lists that skip": 0.0,
        "lists of closed partitions": 0.0,
        f"{items} true": 1.0,
        "rules marked": 2.0,
    }


@pytest.mark.parametrize("engine", [DeweyEngine, IntervalEngine])
def test_annotations_and_leaves_are_counted(engine):
    tree = ("and", ("or", A, B), ("or", C, D))
    program = make_program([4], [(tree, 0.0, None), (("or", A, C), 0.0, None)])
    often = Statistics(np.array([1.0, 0.1, 0.1, 0.9, 0.9]))
    work = engine.build(program, often).work(make_batch(program, [{1, 3}, {3}]))
    assert {name: work[name] for name in ("conjunctions true", "annotations", "expressions")} == {
        "conjunctions true": 1.5,
        "annotations": 2.0,  # A leads to both expressions, C to the second alone
        "expressions": 1.5,
    }
    assert (work["leaves looked at"], work["leaves true"]) == ((4 + 2 + 1) / 2, (2 + 2 + 1) / 2)
