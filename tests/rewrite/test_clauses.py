"""Conjunctions are compared with their formula in every world that the relations admit."""

from __future__ import annotations

import itertools
import random

import pytest

from ruledex.rewrite.clauses import FALSE, TRUE, Formula, Relations, TooLargeError, bits_of

N = 6


def relations_in(worlds):
    """Return what literals say of each other where these sets of true literals are all there are."""
    made = Relations.none(N)
    for one, other in itertools.permutations(range(N), 2):
        both = [(world >> one & 1, world >> other & 1) for world in worlds]
        made.excludes[one] |= (not any(a and b for a, b in both)) << other
        made.covers[one] |= all(a or b for a, b in both) << other
        is_equal = all(a == b for a, b in both)
        made.implies[one] |= (all(b or not a for a, b in both) and not (is_equal and one > other)) << other
    return made


def drawn(rng, depth):
    if depth == 0 or rng.random() < 0.2:
        return rng.randrange(N)
    return rng.random() < 0.5, [drawn(rng, depth - 1) for _ in range(rng.choice([2, 2, 3]))]


def holds(tree, world):
    if isinstance(tree, int):
        return bool(world >> tree & 1)
    return (all if tree[0] else any)(holds(child, world) for child in tree[1])


def node_of(formula, tree, is_dual=False):
    if isinstance(tree, int):
        return tree
    return formula.join(tree[0] is not is_dual, [node_of(formula, child, is_dual) for child in tree[1]])


@pytest.mark.parametrize("seed", range(150))
def test_both_forms_hold_where_the_formula_does(seed):
    rng = random.Random(seed)
    # Few worlds make many relations, and all worlds none.
    worlds = rng.sample(range(1 << N), rng.choice([6, 12, 24, 64]))
    relations, tree = relations_in(worlds), drawn(rng, 3)
    dnf, cnf = Formula(relations, 10_000), Formula(relations.dual(), 10_000)
    terms, clauses = dnf.conjunctions(node_of(dnf, tree)), cnf.conjunctions(node_of(cnf, tree, is_dual=True))
    for world in worlds:
        assert any(term & world == term for term in terms) == holds(tree, world)
        assert all(clause & world for clause in clauses) == holds(tree, world)
    for masks in (terms, clauses):
        assert not any(one & other == one for one, other in itertools.permutations(masks, 2))
    for formula, found, is_dual in ((dnf, terms, False), (cnf, clauses, True)):
        root = node_of(formula, tree, is_dual)
        if root >= 0 and len(worlds) == 1 << N:
            assert formula.least_literals(root) <= sum(mask.bit_count() for mask in found)


@pytest.mark.parametrize("seed", range(20))
def test_without_relations_the_form_is_the_set_of_prime_implicants(seed):
    rng = random.Random(seed)
    tree = drawn(rng, 3)
    formula = Formula(Relations.none(N), 10_000)
    true = [world for world in range(1 << N) if holds(tree, world)]
    least = {world for world in true if not any(other != world and other & world == other for other in true)}
    assert set(formula.conjunctions(node_of(formula, tree))) == least


def test_constants_are_folded():
    formula = Formula(Relations.none(2), 10)
    assert formula.join(True, [0, TRUE]) == 0
    assert formula.join(True, [0, FALSE]) == FALSE
    assert formula.join(False, [0, TRUE]) == TRUE
    assert formula.join(False, [FALSE, FALSE]) == FALSE
    assert formula.conjunctions(TRUE) == [0]
    assert formula.conjunctions(FALSE) == []


def test_equal_nodes_are_one_node():
    formula = Formula(Relations.none(4), 10)
    assert formula.join(False, [0, 1]) == formula.join(False, [1, 0, 1])
    assert formula.join(True, [formula.join(True, [0, 1]), 2]) == formula.join(True, [0, 1, 2])


def test_a_product_of_factors_that_share_nothing_is_refused_before_it_is_made():
    formula = Formula(Relations.none(80), 1000)
    root = formula.join(True, [formula.join(False, [2 * i, 2 * i + 1]) for i in range(40)])
    with pytest.raises(TooLargeError) as caught:
        formula.conjunctions(root)
    assert caught.value.is_final
    assert caught.value.size == 40 << 40 if 40 << 40 < 10**18 else 10**18


def test_bits_ascend():
    assert list(bits_of(0b101001)) == [0, 3, 5]
