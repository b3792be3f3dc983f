import numpy as np
import pytest

from ruledex.engines.labelled.interval import IntervalEngine
from ruledex.errors import ArtifactError
from tests.contract.agreement import assert_agrees
from tests.contract.builder import make_batch, make_program

A, B = ("in", (1, 1)), ("in", (2, 2))


def of_size(n_leaves):
    """An AND of a literal and an OR of many, and a small rule before it."""
    tree = ("and", A, ("or", *(("in", (cell, cell)) for cell in range(2, n_leaves + 1))))
    return make_program([n_leaves + 1], [(("or", A, B), 0.0, None), (tree, 0.0, None)])


@pytest.mark.parametrize(("n_leaves", "dtype"), [(300, np.uint16), (65_535, np.uint16), (65_536, np.int32)])
def test_ends_are_as_wide_as_the_largest_tree_needs(n_leaves, dtype):
    program = of_size(n_leaves)
    engine = IntervalEngine.build(program)
    assert engine.labels["end"].dtype == dtype
    assert engine.labels["end"].max() == engine.describe()["most_leaves"] == n_leaves
    batch = make_batch(program, [{1, n_leaves}, {n_leaves}, {1}, {1, 2, n_leaves}, set()])
    assert_agrees(engine, batch)
    restored = IntervalEngine.from_arrays(program, {name: array.copy() for name, array in engine.arrays().items()})
    assert restored.labels["begin"].dtype == dtype
    assert_agrees(restored, batch)


def test_ids_do_not_grow_with_depth():
    tree: tuple[object, ...] = ("or", A, B)
    for level in range(1, 101):
        tree = (("and", "or")[level % 2 == 0], tree, ("in", (2 + level, 2 + level)))
    engine = IntervalEngine.build(make_program([110], [(tree, 0.0, None)]))
    n_leaves = engine.describe()["n_leaves"]
    assert n_leaves > 90
    assert engine.describe()["bytes_of_labels"] == 4 * n_leaves


def test_missing_labels_are_a_damaged_index():
    engine = IntervalEngine.build(make_program([2], [(A, 0.0, None)]))
    arrays = engine.arrays()
    del arrays["end"]
    with pytest.raises(ArtifactError, match="end"):
        IntervalEngine.from_arrays(engine.program, arrays)
