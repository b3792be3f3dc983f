from ruledex.compiled.constants import EVERY
from ruledex.engines.kindex.engine import CnfEngine
from tests.contract.builder import make_program

A, B, C = 1, 4, 7
HAS_A = 10


def partition_sizes(*trees):
    program = make_program([3, 3, 3, 1], [(tree, 0.0, None) for tree in trees])
    return CnfEngine.build(program).index.partition_size.tolist()


def test_size_counts_disjunctions_that_no_absence_satisfies():
    either = ("or", ("in", (A, A)), ("in", (B, B)))
    weak = ("or", ("not in", EVERY, (C, C)), ("in", (B + 1, B + 1)))
    strong = ("or", ("not in", HAS_A, (A, A)), ("in", (B + 1, B + 1)))
    assert partition_sizes(either) == [1]
    assert partition_sizes(("and", either, weak)) == [1]
    assert partition_sizes(("and", either, strong)) == [2]
    assert partition_sizes(weak) == [0]


def test_a_rule_that_is_always_true_has_no_disjunctions():
    assert partition_sizes("always", "never") == [0]


def test_a_key_of_two_disjunctions_has_two_lists():
    tree = ("and", ("or", ("in", (A, A)), ("in", (B, B))), ("or", ("in", (A, A)), ("in", (C, C))))
    built = CnfEngine.build(make_program([3, 3, 3, 1], [(tree, 0.0, None)]))
    assert built.describe()["n_lists"] == 4
    assert built.describe()["n_entries"] == 4
