"""The papers' own examples, as the language, the rewrites and the Program read them."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from ruledex import evaluate, parse, score
from ruledex.language.schema import Schema
from ruledex.language.tree import Not
from ruledex.program.builder import ProgramBuilder
from ruledex.rewrite.normal_form import multiply_out
from ruledex.rewrite.pipeline import match_tree

# whang2009, Figure 1, with the weights of Figure 2.
CONJUNCTIONS = {
    1: "age IN (3^0.1) AND state IN ('NY'^4.0)",
    2: "age IN (3^0.1) AND gender IN ('F'^0.3)",
    3: "age IN (3^0.2) AND gender IN ('M'^0.5) AND state NOT IN ('CA')",
    4: "state IN ('CA'^1.5) AND gender IN ('M'^0.9)",
    5: "age IN (3^0.1, 4^0.5)",
    6: "state NOT IN ('CA', 'NY')",
}

# whang2009, Figure 7, with the weights of Figure 8 that its examples use. Its "not in" is the weak one.
DISJUNCTIONS = {
    1: "(A = 1^0.1 OR B = 1^0.3) AND (C = 1 OR D = 1)",
    2: "(A = 1^0.3 OR C = 2) AND (B = 1^0.5 OR D = 1)",
    3: "(A = 1^0.3 OR B = 1^0.3) AND (C = 2^2.7 OR D = 1)",
    4: "(A = 1^0.1 OR B = 1^0.5) AND (A IN (1^0.1, 2) OR D = 1)",
    5: "(A = 1^0.1 OR B = 1^0.7) AND (C IS NULL OR C NOT IN (1, 2) OR D IS NULL OR D NOT IN (1) OR E = 1^3.9)",
    6: "(A IS NULL OR A NOT IN (1)) OR B = 1^0.1",
}


def matching(rules, event):
    return {name for name, text in rules.items() if evaluate(parse(text), event) is True}


def test_whang2009_section_3_finds_conjunctions_4_and_5():
    assert matching(CONJUNCTIONS, {"age": 3, "state": "CA", "gender": "M"}) == {4, 5}


def test_whang2009_figure_1_sizes_count_positive_literals():
    sizes = {}
    for name, text in CONJUNCTIONS.items():
        (conjunction,) = multiply_out(match_tree(parse(text)), "DNF")
        sizes[name] = sum(not isinstance(literal, Not) for literal in conjunction)
    assert sizes == {1: 2, 2: 2, 3: 2, 4: 2, 5: 1, 6: 0}


def test_whang2009_section_5_scores_conjunction_1_with_4_08():
    event = {"age": 3, "state": "NY", "gender": "F"}
    weights = {"age": {3: 0.8}, "state": {"NY": 1.0}, "gender": {"F": 0.9}}
    scores = {name: score(parse(text), event, weights) for name, text in CONJUNCTIONS.items()}
    assert scores[1] == pytest.approx(4.08)
    assert scores[2] == pytest.approx(0.1 * 0.8 + 0.3 * 0.9)
    assert scores[5] == pytest.approx(0.1 * 0.8)
    assert {name for name, points in scores.items() if points is not None} == {1, 2, 5}


def test_whang2009_section_4_finds_cnfs_3_4_and_5():
    assert matching(DISJUNCTIONS, {"A": 1, "C": 2}) == {3, 4, 5}


def test_whang2009_section_5_scores_cnf_3_with_2_46():
    event, weights = {"A": 1, "C": 2}, {"A": {1: 0.1}, "C": {2: 0.9}}
    assert score(parse(DISJUNCTIONS[3]), event, weights) == pytest.approx(2.46)
    assert score(parse(DISJUNCTIONS[4]), event, weights) == pytest.approx(2 * 0.1 * 0.1)


def test_whang2009_figure_7_is_in_conjunctive_normal_form_already():
    sizes = {
        name: sorted(map(len, multiply_out(match_tree(parse(text)), "CNF"))) for name, text in DISJUNCTIONS.items()
    }
    assert sizes == {1: [2, 2], 2: [2, 2], 3: [2, 2], 4: [2, 2], 5: [2, 3], 6: [2]}


# fontoura2010: the expression of Figures 2 and 5, leaves A to F.
TREE = "(A AND B) OR C OR (D AND E AND F)"


def test_fontoura2010_figure_5_is_satisfied_in_exactly_three_ways():
    tree = parse(TREE)
    holds = {
        chosen
        for n in range(7)
        for chosen in combinations("ABCDEF", n)
        if evaluate(tree, dict.fromkeys(chosen, True)) is True
    }
    minimal = {chosen for chosen in holds if not any(set(other) < set(chosen) for other in holds)}
    assert minimal == {("A", "B"), ("C",), ("D", "E", "F")}
    assert {len(conjunction) for conjunction in multiply_out(match_tree(tree), "DNF")} == {1, 2, 3}


def test_fontoura2010_figure_2_is_satisfied_by_a_d_e_f_and_not_by_b_and_d():
    tree = parse(TREE)
    assert evaluate(tree, dict.fromkeys("ADEF", True)) is True
    assert evaluate(tree, dict.fromkeys("BD", True)) is not True


# a-tree2021, Section 4: predicates P1 to P8.
FIRST = "(P1 OR P2 OR P3) AND P4 AND (P5 OR P6)"
SECOND = "(P5 OR P6) AND (P7 OR P8)"


def program_of(*rules):
    builder = ProgramBuilder(Schema())
    for text in rules:
        builder.add(parse(text))
    return builder.finish().program


def test_atree2021_figure_4_shares_the_subexpression_of_two_rules():
    program = program_of(FIRST, SECOND)
    assert program.n_literals == 8
    # P1 OR P2 OR P3, P5 OR P6 once for both, P7 OR P8, and the two roots.
    assert len(program.node_op) == 5
    assert len(program.level_offsets) - 1 == 2


def test_atree2021_figure_5_orders_and_groupings_become_one_tree():
    texts = ["((P1 OR P2) OR P3) OR P4", "P1 OR P2 OR P3 OR P4", "(P1 OR P2 OR P3) OR P4", "P4 OR (P2 OR P1) OR P3"]
    assert len({match_tree(parse(text)) for text in texts}) == 1
    assert len(program_of(*texts).node_op) == 1


def test_atree2021_section_3_lets_a_predicate_appear_twice():
    tree = parse("(P1 AND P2) OR (NOT P2 AND P3)")
    for p1, p2, p3 in product([True, False], repeat=3):
        assert evaluate(tree, {"P1": p1, "P2": p2, "P3": p3}) is ((p1 and p2) or (not p2 and p3))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("U AND T", None),
        ("U AND F", False),
        ("U OR T", True),
        ("U OR F", None),
        ("NOT U", None),
        ("U XOR T", None),
        ("U XOR F", None),
        ("U XNOR T", None),
        ("U XNOR F", None),
    ],
)
def test_atree2021_table_2_of_undefined_operands(rule, expected):
    assert evaluate(parse(rule), {"T": True, "F": False}) is expected


@pytest.mark.parametrize(
    ("rule", "expanded"),
    [
        ("NOT (P1 AND P2)", "NOT P1 OR NOT P2"),
        ("NOT (P1 OR P2)", "NOT P1 AND NOT P2"),
        ("P1 XOR P2", "(P1 AND NOT P2) OR (NOT P1 AND P2)"),
        ("P1 XNOR P2", "(P1 AND P2) OR (NOT P1 AND NOT P2)"),
        ("NOT (age > 60 OR weight > 100)", "NOT age > 60 AND NOT weight > 100"),
    ],
)
def test_atree2021_section_5_2_1_laws_of_zero_suppression(rule, expanded):
    assert match_tree(parse(rule)) == match_tree(parse(expanded))
