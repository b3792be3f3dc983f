"""The worked examples of whang2009, Figures 1 to 13: lists, skips, counters, results and scores."""

import numpy as np
import pytest

from ruledex.compiled.arrays import frozen
from ruledex.compiled.constants import EVERY
from ruledex.engines.inputs import freeze_batch
from ruledex.engines.kindex.conjunctions import ConjunctionIndex
from ruledex.engines.kindex.cursors import (
    NONE,
    agreed_codes,
    initialize_current_entries,
    next_agreement,
)
from ruledex.engines.kindex.disjunctions import DisjunctionIndex
from ruledex.engines.kindex.engine import CnfEngine, DnfEngine
from ruledex.engines.kindex.matching import expression_numbers, is_satisfied, matching_conjunctions
from ruledex.engines.kindex.posting_lists import new_cursors
from ruledex.engines.kindex.postings import ListBounds, get_posting_lists
from ruledex.engines.kindex.top import sum_of_largest
from tests.contract.builder import make_batch, make_program

ANY = -np.inf

# Figure 1. The first age is there so that 3 and 4 have no common node above them.
AGE_2, AGE_3, AGE_4, CA, NY, F, M = range(1, 8)
NAMES = {EVERY: "Z", AGE_3: "age 3", AGE_4: "age 4", CA: "CA", NY: "NY", F: "F", M: "M"}


def is_in(*cells):
    return ("in", *((cell, cell) for cell in cells))


def not_in(*cells):
    return ("not in", EVERY, *((cell, cell) for cell in cells))


CONJUNCTIONS = [
    ("and", is_in(AGE_3), is_in(NY)),
    ("and", is_in(AGE_3), is_in(F)),
    ("and", is_in(AGE_3), is_in(M), not_in(CA)),
    ("and", is_in(CA), is_in(M)),
    is_in(AGE_3, AGE_4),
    not_in(CA, NY),
]


def program_of(sizes, trees, scores=None):
    return make_program(sizes, [(tree, 0.0, scores[i] if scores else None) for i, tree in enumerate(trees)])


def literals_of(program):
    """For each rule that is a literal or a node of literals, which it has."""
    first = program.n_literals
    rows = []
    for root in program.root.tolist():
        inner = root - first
        offsets = program.child_offsets
        rows.append([root] if inner < 0 else program.children[offsets[inner] : offsets[inner + 1]].tolist())
    return rows


def offsets_of(rows):
    return np.concatenate([[0], np.cumsum([len(row) for row in rows])])


@pytest.fixture(scope="module")
def conjunctions():
    program = program_of([3, 2, 2], CONJUNCTIONS)
    rows = literals_of(program)
    return program, ConjunctionIndex.build(
        program, offsets_of(rows), np.array([i for row in rows for i in row], np.int32)
    )


def lists_of(index, names, meaning):
    """Each list as ((K, key), [(id, what the code means)]); ids are the paper's, from 1."""
    cell_of = {}
    for domain, (begin, end) in enumerate(zip(index.domain_offsets[:-1], index.domain_offsets[1:], strict=True)):
        cell_of |= {int(index.domain_nodes[domain]) + i: int(begin) + i for i in range(int(end - begin))}
    found = []
    for node in range(len(index.node_lists) - 1):
        for number in range(index.node_lists[node], index.node_lists[node + 1]):
            partition = index.list_partition[number]
            shift, first = index.partition_shift[partition], index.partition_first[partition]
            entries = index.entries[index.list_offsets[number] : index.list_offsets[number + 1]].tolist()
            decoded = [(first + (entry >> shift), entry & ((1 << int(shift)) - 1)) for entry in entries]
            row = [(int(index.item[item]) + 1, meaning(item, code)) for item, code in decoded]
            found.append(((int(index.partition_size[partition]), names[cell_of[node]]), row))
    return found


def test_figure_2_the_inverted_list(conjunctions):
    _, built = conjunctions
    found = lists_of(built.index, NAMES, lambda item, code: "∈" if code else "∉")
    assert sorted(found) == sorted(
        [
            ((0, "CA"), [(6, "∉")]),
            ((0, "NY"), [(6, "∉")]),
            ((0, "Z"), [(6, "∈")]),
            ((1, "age 3"), [(5, "∈")]),
            ((1, "age 4"), [(5, "∈")]),
            ((2, "NY"), [(1, "∈")]),
            ((2, "age 3"), [(1, "∈"), (2, "∈"), (3, "∈")]),
            ((2, "F"), [(2, "∈")]),
            ((2, "CA"), [(3, "∉"), (4, "∈")]),
            ((2, "M"), [(3, "∈"), (4, "∈")]),
        ]
    )


class Walk:
    """One K-index and one event, from agreement to agreement."""

    def __init__(self, index, batch, k, upper_bounds=None):
        self.index, self.batch = index, freeze_batch(batch)
        self.cursors = new_cursors(index, self.batch, ranked=upper_bounds is not None)
        largest = 1.0
        bounds = np.zeros(len(index.list_partition)) if upper_bounds is None else upper_bounds
        of_lists = ListBounds(bounds, np.zeros(len(bounds)))
        get_posting_lists(
            index, self.cursors, of_lists, self.batch.cells, self.batch.weights, 0, len(self.batch.cells), largest
        )
        self.partition = index.partition_size.tolist().index(k)
        self.first, self.last = self.cursors.partition_lists[self.partition : self.partition + 2].tolist()
        self.k, self.n_lists, self.n_taken, self.current = max(k, 1), self.last - self.first, 0, NONE
        self.code_bits = int(index.partition_shift[self.partition])
        c = self.cursors
        initialize_current_entries(
            self.first, self.last, self.code_bits, index.entries, c.place, c.following, c.first_on, c.occupied
        )

    def next(self, least=ANY):
        """The id that K lists agree on, as the paper counts it, or none; and how many lists are not at their end."""
        c = self.cursors
        self.n_lists, self.current, self.n_taken = next_agreement(
            self.k,
            self.n_lists,
            self.n_taken,
            self.current + 1,
            self.code_bits,
            self.index.entries,
            c.place,
            c.end,
            c.p_lists,
            c.following,
            c.first_on,
            c.occupied,
            c.bounds,
            least,
        )
        return (None if self.current == NONE else self.paper_id(), self.n_lists)

    @property
    def number(self):
        return int(self.index.partition_first[self.partition]) + self.current

    def paper_id(self):
        return int(self.index.item[self.number]) + 1

    def codes(self):
        c = self.cursors
        n_codes = agreed_codes(self.n_taken, self.code_bits, self.index.entries, c.place, c.p_lists, c.codes)
        return c.codes[:n_codes].tolist()


def test_figures_3_to_6_skipping(conjunctions):
    program, built = conjunctions
    walk = Walk(built.index, make_batch(program, [{AGE_3, CA, M}]), 2)
    assert walk.n_lists == 3  # Figure 4: (age, 3), (state, CA), (gender, M)
    assert walk.next() == (3, 3)  # Figure 5: 1 and 2 were skipped, and three lists have 3
    assert walk.n_taken == 3
    assert walk.codes()[0] == 0  # which (state, CA) has with ∉: rejected
    assert walk.next() == (4, 2)  # Figure 6: (age, 3) is at its end
    assert walk.codes() == [1, 2]  # both ∈ predicates of 4: accepted
    assert walk.next() == (None, 0)


def test_the_result_of_the_dnf_example(conjunctions):
    program, built = conjunctions
    batch = make_batch(program, [{AGE_3, CA, M}])
    out = np.zeros(6, np.int32)
    n_found = matching_conjunctions(built.index, built.new_scratch(batch), batch.cells, 0, len(batch.cells), out)
    assert {int(found) + 1 for found in out[:n_found]} == {4, 5}
    assert (DnfEngine.build(program).match(batch).rule + 1).tolist() == [4, 5]


# Figure 7.
A1, A2, B1, C1, C2, D1, E1 = range(1, 8)
CNF_NAMES = {EVERY: "Z", A1: "A 1", A2: "A 2", B1: "B 1", C1: "C 1", C2: "C 2", D1: "D 1", E1: "E 1"}
DISJUNCTIONS = [
    [[is_in(A1), is_in(B1)], [is_in(C1), is_in(D1)]],
    [[is_in(A1), is_in(C2)], [is_in(B1), is_in(D1)]],
    [[is_in(A1), is_in(B1)], [is_in(C2), is_in(D1)]],
    [[is_in(A1), is_in(B1)], [is_in(A1, A2), is_in(D1)]],
    [[is_in(A1), is_in(B1)], [not_in(C1, C2), not_in(D1), is_in(E1)]],
    [[not_in(A1), is_in(B1)]],
]
SIZES = [2, 1, 2, 1, 1]


def cnf_tree(disjunctions):
    trees = [("or", *disjunction) for disjunction in disjunctions]
    return trees[0] if len(trees) == 1 else ("and", *trees)


@pytest.fixture(scope="module")
def expressions():
    program = program_of(SIZES, [cnf_tree(disjunctions) for disjunctions in DISJUNCTIONS])
    # The index is given the disjunctions in the paper's order, which a Program does not keep.
    rows = [disjunction for rule in DISJUNCTIONS for disjunction in rule]
    number = {literal: literal_id(program, literal) for row in rows for literal in row}
    clauses = [[number[literal] for literal in row] for row in rows]
    built = DisjunctionIndex.build(
        program,
        offsets_of(DISJUNCTIONS),
        offsets_of(clauses),
        np.array([literal for clause in clauses for literal in clause], np.int32),
    )
    return program, built


def literal_id(program, tree):
    """The id of a literal of a Program, by its intervals and its kind."""
    wanted = [interval for interval in tree[1:] if interval != EVERY]
    for positive in range(program.n_positive):
        places = range(program.interval_offsets[positive], program.interval_offsets[positive + 1])
        if [(program.interval_low[place], program.interval_high[place]) for place in places] == wanted:
            if tree[0] == "in":
                return positive
            return program.n_positive + program.negative_of.tolist().index(positive)
    raise AssertionError(tree)


def meaning_of(disjunctions):
    """What a code of engines/kindex/matching.py means: the sign, and the disjunction, which is -1 in the list Z."""

    def meaning(item, code):
        first, last = disjunctions.negative_offsets[item], disjunctions.negative_offsets[item + 1]
        n_codes = 2 * (last - first)
        if code < n_codes:
            assert code & 1 == 1  # a WEAK predicate has no entry for presence
            return "∉", int(disjunctions.negative_disjunction[first + (code >> 1)]) >> 1
        within = int(code - n_codes)
        return "∈", within if within < disjunctions.n_disjunctions[item] else -1

    return meaning


def test_figure_8_the_inverted_list_of_cnf(expressions):
    _, built = expressions
    found = lists_of(built.index, CNF_NAMES, meaning_of(built.disjunctions))
    assert sorted(found) == sorted(
        [
            ((0, "A 1"), [(6, ("∉", 0))]),
            ((0, "B 1"), [(6, ("∈", 0))]),
            ((0, "Z"), [(6, ("∈", -1))]),
            ((1, "C 1"), [(5, ("∉", 1))]),
            ((1, "C 2"), [(5, ("∉", 1))]),
            ((1, "D 1"), [(5, ("∉", 1))]),
            ((1, "A 1"), [(5, ("∈", 0))]),
            ((1, "B 1"), [(5, ("∈", 0))]),
            ((1, "E 1"), [(5, ("∈", 1))]),
            ((2, "A 1"), [(1, ("∈", 0)), (2, ("∈", 0)), (3, ("∈", 0)), (4, ("∈", 0))]),
            ((2, "B 1"), [(1, ("∈", 0)), (2, ("∈", 1)), (3, ("∈", 0)), (4, ("∈", 0))]),
            ((2, "C 1"), [(1, ("∈", 1))]),
            ((2, "D 1"), [(1, ("∈", 1)), (2, ("∈", 1)), (3, ("∈", 1)), (4, ("∈", 1))]),
            ((2, "C 2"), [(2, ("∈", 0)), (3, ("∈", 1))]),
            ((2, "A 1"), [(4, ("∈", 1))]),
            # The paper prints 0 here, but A ∈ {1, 2} stands in the second disjunction, as it does for (A, 1) above.
            ((2, "A 2"), [(4, ("∈", 1))]),
        ]
    )


def counters_of(walk, disjunctions):
    counters = np.zeros(2, np.int64)
    codes = walk.codes()
    holds = is_satisfied(walk.number, len(codes), walk.cursors.codes, *disjunctions, counters)  # type: ignore[call-arg]
    return bool(holds), counters[: disjunctions.n_disjunctions[walk.number]].tolist()


@pytest.mark.parametrize(
    ("k", "expected"),
    [
        (2, [(2, (False, [1, 0])), (3, (True, [1, 1])), (4, (True, [1, 1]))]),  # 1 is in one list, and skipped
        (1, [(5, (True, [1, -1]))]),
        (0, [(6, (False, [0]))]),
    ],
)
def test_figure_9_counters(expressions, k, expected):
    program, built = expressions
    walk = Walk(built.index, make_batch(program, [{A1, C2}]), k)
    found = []
    while (agreed := walk.next()[0]) is not None:
        found.append((agreed, counters_of(walk, built.disjunctions)))
    assert found == expected


def test_the_result_of_the_cnf_example(expressions):
    program, built = expressions
    batch = make_batch(program, [{A1, C2}])
    out = np.zeros(6, np.int32)
    cursors, counters = built.new_scratch(batch)
    found = expression_numbers(
        built.index, built.disjunctions, cursors, counters, batch.cells, 0, len(batch.cells), out
    )
    assert {int(built.index.item[number]) + 1 for number in out[:found]} == {3, 4, 5}
    assert (CnfEngine.build(program).match(batch).rule + 1).tolist() == [3, 4, 5]


def upper_bounds(index, names, bounds):
    """UB of each list, by its key."""
    return np.array([bounds[key] for (_, key), _ in lists_of(index, names, lambda *_: None)])


def test_figures_10_and_11_the_first_pruning_technique(conjunctions):
    program, built = conjunctions
    weights = [{AGE_3: 0.8, NY: 1.0, F: 0.9}]
    bounds = upper_bounds(
        built.index, NAMES, {"Z": 0.0, "CA": 2.0, "NY": 5.0, "age 3": 1.0, "age 4": 3.0, "F": 2.0, "M": 1.0}
    )
    batch = make_batch(program, [{AGE_3, NY, F}], weights)
    score = 4.0 * 1.0 + 0.1 * 0.8
    assert score == pytest.approx(4.08)
    without = Walk(built.index, batch, 2)
    assert [without.next()[0], without.next()[0]] == [1, 2]
    walk = Walk(built.index, batch, 2, bounds)
    assert walk.next() == (1, 3)
    assert walk.next(2.6 + 1e-9) == (None, 1)  # 2 is passed over: 1.0 * 0.8 + 2.0 * 0.9 is not enough
    again = Walk(built.index, batch, 2, bounds)
    assert [again.next(score)[0], again.next(2.6 - 1e-9)[0]] == [1, 2]


def test_figure_12_the_second_pruning_technique(conjunctions):
    program, built = conjunctions
    bounds = upper_bounds(
        built.index, NAMES, {"Z": 0.0, "CA": 2.0, "NY": 5.0, "age 3": 1.0, "age 4": 3.0, "F": 2.0, "M": 1.0}
    )
    walk = Walk(built.index, make_batch(program, [{AGE_3, NY, F}], [{AGE_3: 0.8, NY: 1.0, F: 0.9}]), 1, bounds)
    assert sum_of_largest(walk.cursors.bounds, walk.first, walk.last, 1, np.zeros(2)) == pytest.approx(0.8)


def test_figure_13_pruning_of_cnf(expressions):
    program, built = expressions
    names = {"Z": 0.0, "A 1": 0.5, "A 2": 1.0, "B 1": 1.5, "C 1": 2.5, "C 2": 3.0, "D 1": 3.5, "E 1": 4.5}
    batch = make_batch(program, [{A1, C2}], [{A1: 0.1, C2: 0.9}])
    walk = Walk(built.index, batch, 2, upper_bounds(built.index, CNF_NAMES, names))
    assert [walk.next()[0], walk.next()[0]] == [2, 3]
    score = 0.3 * 0.1 + 2.7 * 0.9
    assert score == pytest.approx(2.46)
    assert walk.next(score)[0] is None  # 4 is bounded by 0.5 * 0.1 + 0.5 * 0.1


def scored(tree, weights):
    """The score tree of a rule from its match tree, with a weight for each cell."""
    if tree[0] == "in":
        leaves = [("leaf", is_in(low), weights[low]) for low, _ in tree[1:]]
        return leaves[0] if len(leaves) == 1 else ("or", *leaves)
    if tree[0] == "not in":
        return ("leaf", tree, 0.0)
    return (tree[0], *(scored(child, weights) for child in tree[1:]))


def test_the_best_conjunction_scores_4_08():
    weights = [
        {NY: 4.0, AGE_3: 0.1},
        {AGE_3: 0.1, F: 0.3},
        {AGE_3: 0.2, M: 0.5},
        {CA: 1.5, M: 0.9},
        {AGE_3: 0.1, AGE_4: 0.5},
        {},
    ]
    scores = [scored(tree, own) for tree, own in zip(CONJUNCTIONS, weights, strict=True)]
    program = program_of([3, 2, 2], CONJUNCTIONS, scores)
    batch = make_batch(program, [{AGE_3, NY, F}], [{AGE_3: 0.8, NY: 1.0, F: 0.9}])
    best = DnfEngine.build(program).top(batch, 1)
    assert best.rule.tolist() == [0]
    assert best.scores.tolist() == pytest.approx([4.08])


def test_the_best_cnf_expression_scores_2_46():
    weights = [
        {A1: 0.1, B1: 0.3, C1: 0.2, D1: 2.1},
        {A1: 0.3, B1: 0.5, C2: 2.5, D1: 2.5},
        {A1: 0.3, B1: 0.3, C2: 2.7, D1: 1.7},
        {A1: 0.1, A2: 0.1, B1: 0.5, D1: 1.9},
        {A1: 0.1, B1: 0.7, E1: 3.9},
        {B1: 0.1},
    ]
    trees = [cnf_tree(disjunctions) for disjunctions in DISJUNCTIONS]
    scores = [scored(tree, own) for tree, own in zip(trees, weights, strict=True)]
    program = program_of(SIZES, trees, scores)
    best = CnfEngine.build(program).top(make_batch(program, [{A1, C2}], [{A1: 0.1, C2: 0.9}]), 1)
    assert best.rule.tolist() == [2]
    assert best.scores.tolist() == pytest.approx([2.46])


def test_the_index_s_arrays_are_read_only(conjunctions):
    _, built = conjunctions
    assert all(frozen(array, array.dtype.type) is array for array in built.index)
