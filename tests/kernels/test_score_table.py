"""Score programs, pair by pair."""

from __future__ import annotations

import numpy as np

from ruledex.kernels.rule_entries import LEAF
from ruledex.kernels.rule_scanner import AND, OR, XNOR, XOR
from ruledex.kernels.score_table import FALSE_BY, PUSH_TRUE, add_score, empty_score_table
from tests.kernels.rules import built


def test_a_score_program_keeps_the_order_of_the_text() -> None:
    made = built(["b = 2^3 AND (c OR (a != 1 OR d))"])
    # Literals are numbered as they are met, a predicate and its negation side by side.
    assert made.score_code(0) == [(LEAF, 0), (LEAF, 2), (LEAF, 5), (LEAF, 6), (OR, 3), (AND, 2)]
    assert made.nodes.score_weight.tolist() == [3.0, 1.0, 0.0, 1.0, 0.0, 0.0]


def test_a_weight_counts_where_a_negation_is_turned_round() -> None:
    made = built(["NOT a != 1^2"])
    assert made.score_code(0) == [(LEAF, 0)]
    assert made.nodes.score_weight.tolist() == [2.0]


def test_leaves_below_xor_say_when_they_are_false() -> None:
    assert built(["a XOR b != 1"]).score_code(0) == [(LEAF, 0), (FALSE_BY, 1), (LEAF, 3), (FALSE_BY, 2), (XOR, 2)]
    assert built(["a XOR NULL XNOR TRUE"]).score_code(0) == [
        *((LEAF, 0), (FALSE_BY, 1), (PUSH_TRUE, -1), (XOR, 2)),
        *((PUSH_TRUE, 1), (XNOR, 2)),
    ]


def test_the_negation_of_a_chain_turns_its_last_link() -> None:
    operators = [pair for pair in built(["NOT (a XOR b XOR c XOR d)"]).score_code(0) if pair[0] not in (LEAF, FALSE_BY)]
    assert operators == [(XOR, 3), (XNOR, 2)]
    operators = [pair for pair in built(["NOT (a XNOR b)"]).score_code(0) if pair[0] not in (LEAF, FALSE_BY)]
    assert operators == [(XOR, 2)]


def test_a_score_program_of_the_python_road_is_appended() -> None:
    scores = empty_score_table()
    for number in range(200):
        scores, start = add_score(scores, np.array([LEAF, number, LEAF, 1, AND, 2]), np.array([2.0, 3.0, 0.0]))
        assert start == 3 * number
    assert scores.n_pairs[0] == 600
    assert scores.code[1194:1200].tolist() == [LEAF, 199, LEAF, 1, AND, 2]


def test_code_and_weights_grow_together() -> None:
    scores = empty_score_table()
    for n_pairs in range(1, 400):
        scores, start = add_score(scores, np.full(2 * n_pairs, n_pairs), np.full(n_pairs, float(n_pairs)))
        assert scores.code[2 * start : 2 * (start + n_pairs)].tolist() == [n_pairs] * (2 * n_pairs)
        assert len(scores.code) >= 2 * len(scores.weight)
