"""Score programs, step by step."""

from __future__ import annotations

from ruledex.compiled.constants import CONSTANT, FALSE_BY, IS_TRUE, IS_UNKNOWN, LEAF, WEIGH
from ruledex.program.rule_tokens import AND, OR, XNOR, XOR
from ruledex.program.scores.compile import add_score, empty_score_table, pack_step
from tests.program.rules import built


def test_a_score_program_keeps_the_order_of_the_text() -> None:
    made = built(["b = 2^3 AND (c OR (a != 1 OR d))"])
    # Literals are numbered as they are met, a predicate and its negation side by side.
    assert made.score_code(0) == [(LEAF, 0), (WEIGH, 0), (LEAF, 2), (LEAF, 5), (LEAF, 6), (OR, 3), (AND, 2)]
    assert made.nodes.score_weight.tolist() == [3.0]


def test_a_weight_counts_where_a_negation_is_turned_round() -> None:
    made = built(["NOT a != 1^2"])
    assert made.score_code(0) == [(LEAF, 0), (WEIGH, 0)]
    assert made.nodes.score_weight.tolist() == [2.0]


def test_leaves_below_xor_say_when_they_are_false() -> None:
    assert built(["a XOR b != 1"]).score_code(0) == [(LEAF, 0), (FALSE_BY, 1), (LEAF, 3), (FALSE_BY, 2), (XOR, 2)]
    assert built(["a XOR NULL XNOR TRUE"]).score_code(0) == [
        *((LEAF, 0), (FALSE_BY, 1), (CONSTANT, IS_UNKNOWN), (XOR, 2)),
        *((CONSTANT, IS_TRUE), (XNOR, 2)),
    ]


def test_the_negation_of_a_chain_turns_its_last_link() -> None:
    operators = [pair for pair in built(["NOT (a XOR b XOR c XOR d)"]).score_code(0) if pair[0] not in (LEAF, FALSE_BY)]
    assert operators == [(XOR, 3), (XNOR, 2)]
    operators = [pair for pair in built(["NOT (a XNOR b)"]).score_code(0) if pair[0] not in (LEAF, FALSE_BY)]
    assert operators == [(XOR, 2)]


def test_a_score_program_of_the_python_road_is_appended() -> None:
    scores = empty_score_table()
    for number in range(200):
        scores, start = add_score(scores, [(LEAF, number), (WEIGH, 0), (LEAF, 1), (AND, 2)], [2.0 + number])
        assert start == 4 * number
    assert (scores.n_steps[0], scores.n_weights[0]) == (800, 200)
    assert scores.code[796:800].tolist() == [
        pack_step(LEAF, 199),
        pack_step(WEIGH, 199),
        pack_step(LEAF, 1),
        pack_step(AND, 2),
    ]
    assert scores.weight[199] == 201.0


def test_equal_weights_stand_once_in_a_program() -> None:
    made = built(["a = 1^3 AND b = 2^0.5 OR c = 1^3", "d = 1^3", "e = 1^0.5 OR f = 2"], n_chunks=3)
    assert made.nodes.score_weight.tolist() == [0.5, 3.0]
    weighed = [[argument for operation, argument in made.score_code(rule) if operation == WEIGH] for rule in range(3)]
    assert weighed == [[1, 0, 1], [1], [0]]
