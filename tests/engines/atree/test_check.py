import numpy as np
import pytest

from ruledex.compiled.constants import AND, OR
from ruledex.engines.atree import layout
from tests.engines.atree.check import BrokenTreeError
from tests.engines.atree.sets import hold
from tests.engines.atree.trees import ChangingTree
from tests.engines.programs import drawn_program


@pytest.fixture
def changing():
    return ChangingTree(drawn_program(25, n_domains=3, n_cells=4))


def inner_nodes(changing):
    nodes = changing.tree.arrays.nodes[: changing.tree.arrays.counts[layout.TOP_NODE]]
    return np.flatnonzero((nodes[:, layout.OP] == AND) | (nodes[:, layout.OP] == OR))


COLUMNS = [layout.OP, layout.LEVEL, layout.N_DOWN, layout.KEY, layout.USES, layout.N_LENT, layout.N_ATOMS]


@pytest.mark.parametrize("column", [*COLUMNS, layout.N_BORROWED, layout.N_SILENT])
def test_a_wrong_number_in_a_node_is_found(changing, column):
    changing.check()
    changing.tree.arrays.nodes[inner_nodes(changing)[-1], column] += 1
    with pytest.raises((BrokenTreeError, IndexError)):
        changing.check()


@pytest.mark.parametrize("count", [layout.N_NODES, layout.N_INNER, layout.N_EDGES, layout.TOP_LEVEL, layout.N_CENTERS])
def test_a_wrong_count_is_found(changing, count):
    changing.tree.arrays.counts[count] += 1
    with pytest.raises(BrokenTreeError):
        changing.check()


def test_every_wrong_word_of_an_entry_is_found(changing):
    tree = changing.tree.arrays
    node = max(inner_nodes(changing).tolist(), key=lambda node: tree.nodes[node, layout.LEVEL])
    access = tree.heap[tree.nodes[node, layout.BLOCK]]
    place = tree.nodes[access, layout.FIRE] + layout.ROW * tree.heap[tree.nodes[node, layout.BLOCK] + layout.UP]
    for word in range(layout.ROW):
        tree.heap[place + word] ^= 3
        with pytest.raises((BrokenTreeError, IndexError)):
            changing.check()
        tree.heap[place + word] ^= 3
    changing.check()


def test_a_node_that_the_table_does_not_find_is_found(changing):
    table = changing.tree.arrays.table
    table[np.flatnonzero(table >= 0)[0]] = -1
    with pytest.raises(BrokenTreeError, match="hash"):
        changing.check()


def test_a_use_that_nothing_has_is_found(changing):
    hold(changing.tree, np.array([0], np.int32))
    with pytest.raises(BrokenTreeError, match="uses of 0"):
        changing.check()


def test_an_interval_that_moved_is_found(changing):
    tree = changing.tree.arrays
    tree.heap[tree.nodes[0, layout.BLOCK]] += 1
    with pytest.raises(BrokenTreeError, match="intervals"):
        changing.check()
