"""Keys under which rules are found: none is missed, and no score exceeds what they add up to."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ruledex.compiled.constants import STEP_BITS
from ruledex.relaxed.candidates import MAY_SCORE, MUST_HOLD
from ruledex.relaxed.layout import build_relaxed_layout
from tests.contract.builder import make_program
from tests.contract.reference import Reference
from tests.contract.sizes import DRAWN
from tests.contract.strategies import batches, programs

A, B = 1, 11
SIZES = [10, 5]
ONE, OTHER, WIDE, TALL = ("in", (A, A)), ("in", (B, B)), ("in", (A, A + 4)), ("in", (A + 3, A + 9))
NOT_OTHER = ("not in", 0, (B, B))


def conjuncts_of(layout, rule):
    """The steps of each conjunct of each branch of a rule."""
    rules, programs = layout.rules, layout.rules.programs
    return [
        [
            [
                (step % 2**STEP_BITS, step >> STEP_BITS)
                for step in programs.score_code[
                    programs.score_offsets[conjunct] : programs.score_offsets[conjunct + 1]
                ].tolist()
            ]
            for conjunct in range(rules.conjunct_offsets[branch], rules.conjunct_offsets[branch + 1])
        ]
        for branch in range(rules.branch_offsets[rule], rules.branch_offsets[rule + 1])
    ]


def points_met(layout, event):
    """For each branch of which an event, a dict of cells and weights, meets a key, the points of all that it meets."""
    keys, intervals = layout.keys, layout.intervals
    met = {}
    for key, (low, high) in enumerate(zip(intervals.low.tolist(), intervals.high.tolist(), strict=True)):
        for cell, weight in event.items():
            if low <= cell <= high:
                met.setdefault(int(keys.branch[key]), []).append(weight * float(keys.points[key]))
    for cell, weight in event.items():
        for key in range(keys.cell_offsets[cell], keys.cell_offsets[cell + 1]):
            met.setdefault(int(keys.branch[key]), []).append(weight * float(keys.points[key]))
    return {branch: sum(points) for branch, points in met.items()}


@DRAWN
@given(st.data())
def test_a_branch_that_counts_has_a_key_and_scores_no_more_than_its_keys(data):
    program = data.draw(programs())
    layout, reference = build_relaxed_layout(program), Reference(program)
    for event in reference.events(data.draw(batches(program))):
        met = points_met(layout, event)
        branch = 0
        for rule in range(program.n_rules):
            for conjuncts in conjuncts_of(layout, rule):
                first = layout.rules.conjunct_offsets[branch]
                kinds = layout.rules.kind[first : first + len(conjuncts)].tolist()
                found = [reference.score_tree(list(steps), event) for steps in conjuncts]
                pairs = list(zip(found, kinds, strict=True))
                must = all(truth is True for (truth, _), kind in pairs if kind & MUST_HOLD)
                some = any(truth is True for (truth, _), kind in pairs if kind & MAY_SCORE)
                if must and (some or not any(kind & MAY_SCORE for kind in kinds)):
                    total = sum(points for truth, points in found if truth is True)
                    assert branch in met
                    assert total <= met[branch] * (1 + 1e-9)
                branch += 1


@DRAWN
@given(st.data())
def test_lists_and_trees_are_in_order(data):
    program = data.draw(programs())
    layout = build_relaxed_layout(program)
    keys, intervals = layout.keys, layout.intervals
    for cell in range(program.n_cells):
        mine = slice(keys.cell_offsets[cell], keys.cell_offsets[cell + 1])
        pairs = list(zip((-keys.points[mine]).tolist(), keys.branch[mine].tolist(), strict=True))
        assert pairs == sorted(pairs)
        assert len({branch for _, branch in pairs}) == len(pairs)
    assert np.all(intervals.low < intervals.high)
    assert np.all(layout.tree_first[intervals.tree] <= intervals.low)
    assert np.all(intervals.high <= layout.tree_last[intervals.tree])
    repeats = np.zeros(len(layout.tree_first))
    for tree in range(len(repeats)):
        branches = keys.branch[: len(intervals.low)][intervals.tree == tree]
        repeats[tree] = np.bincount(branches).max()
    assert repeats.tolist() == layout.tree_repeats.tolist()


def test_what_no_event_makes_score_must_hold():
    score = ("and", ("leaf", ONE, 2.0), ("leaf", OTHER, 0.0), ("leaf", NOT_OTHER, 1.0), ("constant", True))
    layout = build_relaxed_layout(make_program(SIZES, [(("and", ONE, NOT_OTHER), 0.0, score)]))
    assert layout.rules.kind.tolist() == [MAY_SCORE, MUST_HOLD, MUST_HOLD, MUST_HOLD]
    assert layout.keys.branch.tolist() == [0]
    assert layout.keys.points.tolist() == [2.0]


def test_several_ranges_of_one_attribute_repeat_in_its_tree():
    layout = build_relaxed_layout(make_program(SIZES, [(("and", WIDE, TALL, OTHER), 0.0, None), (WIDE, 0.0, None)]))
    assert len(layout.intervals.low) == 3
    assert layout.tree_repeats.tolist() == [2.0]
    assert layout.most_keys == 3
    assert layout.most >= 3.0


def test_sums_are_exact_where_weights_are_small_multiples():
    def of(weight):
        return build_relaxed_layout(
            make_program(SIZES, [(ONE, 0.0, ("and", ("leaf", ONE, weight), ("leaf", OTHER, 1.0)))])
        )

    assert of(0.25).is_exact
    assert not of(0.1).is_exact
    assert not of(2.0**60).is_exact


def test_rules_that_are_never_true_are_found_under_nothing():
    layout = build_relaxed_layout(make_program(SIZES, [("never", 0.0, None), ("always", 0.0, None)]))
    assert layout.keys.branch.tolist() == [1]
    assert np.diff(layout.keys.cell_offsets)[0] == 1
