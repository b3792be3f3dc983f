import numpy as np

from ruledex.compiled.constants import ALWAYS
from ruledex.engines.labelled import annotator as annotator_module
from ruledex.engines.labelled.annotator import MOST_TESTED, Annotator
from ruledex.engines.labelled.dewey import DeweyEngine
from ruledex.engines.labelled.interval import IntervalEngine, IntervalLabeller
from tests.contract.agreement import assert_agrees
from tests.contract.builder import make_program
from tests.contract.sizes import scaled
from tests.engines.programs import drawn_batch, drawn_program

A, B, C, D = (("in", (cell, cell)) for cell in range(1, 5))


def annotated(*trees):
    program = make_program([4], [(tree, 0.0, None) for tree in trees])
    return Annotator(program).annotate(np.arange(program.n_rules), IntervalLabeller(), None)


def test_a_conjunction_that_expressions_share_stands_once_with_many_annotations():
    both = ("and", A, B)
    found = annotated(both, ("or", both, C), ("and", both, ("or", C, D)), ("and", A, B, ("or", A, D)))
    # A AND B, C, D and A.
    assert found.conjunctions.n_conjunctions == 4
    annotations = found.annotations
    n_leaves = np.bincount(annotations.conjunction_of)
    assert sorted(n_leaves.tolist()) == [1, 2, 2, 4]
    assert annotations.expression_offsets.tolist() == [0, 1, 3, 6, 9]
    of_both = annotations.annotations[slice(*annotations.annotation_offsets[np.argmax(n_leaves) :][:2])]
    assert annotations.expression_of[of_both].tolist() == [0, 1, 2, 3]


def test_an_and_is_led_to_by_one_child_alone():
    found = annotated(("and", ("or", A, B), ("or", B, C, D)), ("or", A, D)).annotations
    assert found.is_tested.tolist() == [1, 0]
    # A and B lead to the first leaf of the first expression; A and D to their leaves in the second.
    assert sorted(found.annotations.tolist()) == [0, 0, 5, 6]


def test_of_a_large_expression_all_leaves_lead_to_it():
    many = tuple(("in", (cell, cell)) for cell in range(1, MOST_TESTED + 2))
    for n_leaves, is_tested in ((MOST_TESTED - 1, 1), (MOST_TESTED, 0)):
        tree = ("and", many[0], ("or", *many[1 : n_leaves + 1]))
        program = make_program([MOST_TESTED + 1], [(tree, 0.0, None)])
        found = Annotator(program).annotate(np.arange(1), IntervalLabeller(), None).annotations
        assert found.is_tested.tolist() == [is_tested]
        assert len(found.annotations) == (1 if is_tested else n_leaves + 1)


def test_rules_that_share_a_root_share_its_annotations():
    tree = ("or", A, ("and", B, C))
    annotations = annotated(D, tree, "never", tree, D, tree).annotations
    assert annotations.expression_offsets.tolist() == [0, 1, 3]
    assert annotations.rule_offsets.tolist() == [0, 2, 5]
    assert annotations.rules.tolist() == [0, 4, 1, 3, 5]


def test_leaves_are_counted_before_anything_is_unfolded():
    tree = ("and", A, ("or", B, ("and", C, D)), ("or", A, B, C))
    program = make_program([4], [(tree, 0.0, None), ("always", 0.0, None), ("never", 0.0, None), (A, 0.0, None)])
    assert Annotator(program).n_leaves(program.root).tolist() == [6, 1, 0, 1]
    assert program.root[1] == ALWAYS


def test_trees_are_unfolded_some_at_a_time(monkeypatch):
    program = drawn_program(scaled(300, 30))
    batch = drawn_batch(program, scaled(30, 3))
    whole = {engine: engine.build(program).arrays() for engine in (DeweyEngine, IntervalEngine)}
    monkeypatch.setattr(annotator_module, "LEAVES_AT_ONCE", 7)
    for engine, arrays in whole.items():
        in_parts = engine.build(program)
        assert_agrees(in_parts, batch)
        for name, array in in_parts.arrays().items():
            assert np.array_equal(array, arrays[name]), name
