"""What engines say that an event makes them touch, on rules small enough to count by hand."""

from itertools import product

import numpy as np
import pytest

from ruledex.engines.atree.engine import AtreeEngine
from ruledex.engines.atree.tree import Switches
from ruledex.engines.auto import AutoEngine
from ruledex.engines.kindex.engine import CnfEngine, DnfEngine
from ruledex.engines.labelled.dewey import DeweyEngine
from ruledex.engines.labelled.interval import IntervalEngine
from ruledex.engines.protocol import Statistics
from ruledex.engines.scan import ScanEngine
from ruledex.engines.sparse.engine import SparseEngine
from tests.contract.builder import make_batch, make_program
from tests.contract.sizes import scaled
from tests.engines.programs import drawn_batch, drawn_program
from work import work_of

A, B, C, D = (("in", (cell, cell)) for cell in range(1, 5))
# C is the access child of both, and the OR is that of nothing; D stands for itself.
RULES = [("and", ("or", A, B), C), ("and", C, D), D]
SELDOM_C = Statistics(np.array([1.0, 0.5, 0.5, 0.1, 0.2]))
EVENTS = [{2, 3}, {1, 2, 3, 4}]


def program_of(rules):
    return make_program([1, 1, 1, 1], [(tree, 0.0, None) for tree in rules])


def totals(engine, events):
    """Counts of all events together."""
    return {name: n * len(events) for name, n in work_of(engine, make_batch(engine.program, events)).items()}


def test_the_a_tree_counts_what_it_carries_and_what_it_looks_at():
    assert totals(AtreeEngine.build(program_of(RULES), SELDOM_C), EVENTS) == {
        "literals true": 2 + 4,
        "literals false": 0,
        "results propagated": 2 + 2,  # from C to both ANDs, of each event
        "nodes evaluated": 2 + 2 + 1 + 1,  # both ANDs, and the OR when it is asked
        "children looked at": 4 + 3,  # D; the OR, of which A and B, then D; the OR, of which A
        "nodes true": 1 + 1,  # the AND that waits for the OR; the other is for its rule alone, and not remembered
        "cleared": 2,  # all nodes share a word
        "rules true": 1 + 3,
    }


def test_without_its_optimisations_the_a_tree_carries_all_that_is_known():
    counts = {
        (zero_suppression, on_demand): totals(
            AtreeEngine.build(
                program_of(RULES),
                SELDOM_C,
                Switches(zero_suppression=zero_suppression, propagation_on_demand=on_demand),
            ),
            EVENTS[:1],
        )
        for zero_suppression, on_demand in product([False, True], repeat=2)
    }
    # A domain of one cell that the event has not is unknown, so nothing is false.
    assert (
        counts[True, False]
        == counts[False, False]
        == {
            "literals true": 2,
            "literals false": 0,
            "results propagated": 4,  # B to the OR, this and C to the first AND, C to the second
            "nodes evaluated": 3,
            "children looked at": 0,
            "nodes true": 2,
            "cleared": 5,
            "rules true": 1,
        }
    )
    assert counts[False, True] == {
        "literals true": 2,
        "literals false": 0,
        "results propagated": 3,  # B to the OR, C to both ANDs
        "nodes evaluated": 3,
        "children looked at": 4,  # both of each AND
        "nodes true": 2,
        "cleared": 5,
        "rules true": 1,
    }


def test_without_zero_suppression_what_is_false_is_carried_too():
    program = make_program([3], [(("and", A, B), 0.0, None), (("or", A, B), 0.0, None)])
    engine = AtreeEngine.build(program, options=Switches(zero_suppression=False, propagation_on_demand=False))
    counts = totals(engine, [{1}])
    assert (counts["literals true"], counts["literals false"]) == (1, 1)
    assert (counts["results propagated"], counts["nodes true"], counts["rules true"]) == (4, 1, 1)


def test_sparse_counts_edges():
    assert totals(SparseEngine.build(program_of(RULES), SELDOM_C), EVENTS) == {
        "atoms and literals true": 2 + 4,
        "OR edges followed": 0 + 1,  # D to its rule; the OR is not told
        "AND edges followed": 2 + 2,  # C to both ANDs
        "children looked at": 3 + 3,  # D; C again, which stands before the OR, and one child of the OR
        "verified late": 0,
        "nodes true": 0,
        "words cleared": 2 + 2,
        "rules true": 1 + 3,
    }


def test_auto_counts_what_single_events_touch():
    program = program_of(RULES)
    assert totals(AutoEngine.build(program, SELDOM_C), EVENTS) == totals(SparseEngine.build(program, SELDOM_C), EVENTS)


def test_scan_counts_what_it_evaluates_until_a_value_is_known():
    rules = [("and", A, B), ("or", A, B), ("not in", 3, (4, 4)), "always", "never"]
    assert totals(ScanEngine.build(program_of(rules)), [{1, 3}]) == {
        "literals evaluated": 2 + 1 + 1,
        "nodes evaluated": 1 + 1,
    }


@pytest.mark.parametrize("switches", list(product([False, True], repeat=2)))
def test_an_a_tree_finds_the_rules_that_it_matches_and_looks_at_more_than_is_true(switches):
    program = drawn_program(scaled(300, 20))
    engine = AtreeEngine.build(
        program, options=Switches(zero_suppression=switches[0], propagation_on_demand=switches[1])
    )
    batch = drawn_batch(program, 5, several=True)
    counts = work_of(engine, batch)
    assert counts["rules true"] == engine.count(batch).mean()
    assert (
        counts["nodes true"] <= counts["nodes evaluated"] <= counts["results propagated"] + counts["children looked at"]
    )
    assert work_of(engine, batch) == counts
    assert np.array_equal(engine.match(batch).rule, ScanEngine.build(program).match(batch).rule)


def test_sparse_finds_the_rules_that_it_matches():
    program = drawn_program(scaled(300, 20))
    engine = SparseEngine.build(program)
    batch = drawn_batch(program, 5, several=True)
    counts = work_of(engine, batch)
    assert counts["rules true"] == engine.count(batch).mean()
    assert work_of(engine, batch) == counts


@pytest.mark.parametrize(("engine", "items"), [(DnfEngine, "conjunctions"), (CnfEngine, "expressions")])
def test_lists_and_what_they_lead_to_are_counted(engine, items):
    program = make_program([4], [(("and", A, B), 0.0, None)] * 3 + [(("and", B, C), 0.0, None), (D, 0.0, None)])
    work = work_of(engine.build(program), make_batch(program, [{1, 2}, {4}]))
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
    work = work_of(engine.build(program, often), make_batch(program, [{1, 3}, {3}]))
    assert {name: work[name] for name in ("conjunctions true", "annotations", "expressions")} == {
        "conjunctions true": 1.5,
        "annotations": 2.0,  # A leads to both expressions, C to the second alone
        "expressions": 1.5,
    }
    assert (work["leaves looked at"], work["leaves true"]) == ((4 + 2 + 1) / 2, (2 + 2 + 1) / 2)
