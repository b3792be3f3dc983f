import pytest

from ruledex.engines.labelled.dewey import DeweyEngine
from ruledex.errors import ArtifactError
from tests.contract.agreement import assert_agrees
from tests.contract.builder import make_batch, make_program
from tests.contract.sizes import scaled


def test_more_children_than_16_bits_count():
    # The ID's components take up to three bytes.
    n_cells = scaled(70_000, 300)
    tree = ("and", ("in", (1, 1)), ("or", *(("in", (cell, cell)) for cell in range(2, n_cells))))
    program = make_program([n_cells], [(tree, 0.0, None)])
    engine = DeweyEngine.build(program)
    assert engine.describe()["most_leaves"] == n_cells - 1
    last = n_cells - 1
    assert_agrees(engine, make_batch(program, [{1, last}, {last}, {1}, {1, 2, last}, set()]))


def test_ids_grow_with_depth():
    a, b = ("in", (1, 1)), ("in", (2, 2))
    tree: tuple[object, ...] = ("or", a, b)
    sizes = []
    for level in range(1, 41):
        tree = (("and", "or")[level % 2 == 0], tree, ("in", (2 + level, 2 + level)))
        engine = DeweyEngine.build(make_program([50], [(tree, 0.0, None)]))
        sizes.append(len(engine.labels["labels"]))
    assert sizes == sorted(set(sizes))
    assert sizes[-1] > 40 * 40 // 2


def test_missing_labels_are_a_damaged_index():
    engine = DeweyEngine.build(make_program([2], [(("in", (1, 1)), 0.0, None)]))
    arrays = engine.arrays()
    del arrays["labels"]
    with pytest.raises(ArtifactError, match="labels"):
        DeweyEngine.from_arrays(engine.program, arrays)
