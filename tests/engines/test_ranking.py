import numpy as np
import pytest

from ruledex.compiled.constants import AND, CONSTANT, IS_TRUE, LEAF, OPERATION, STEP_BITS
from ruledex.engines.inputs import PRODUCT, STATIC, SUM
from ruledex.engines.ranking import precedes, push, rank_bound, rank_of, score_steps, sort_heap
from tests.contract.builder import make_program


@pytest.mark.parametrize("seed", range(5))
def test_a_heap_keeps_the_best_and_breaks_ties_by_position(seed):
    rng = np.random.default_rng(seed)
    offered = [(float(rank), int(rule)) for rule, rank in enumerate(rng.integers(0, 6, 50))]
    rng.shuffle(offered)
    for k in (1, 2, 7, 60):
        ranks, rules, n_held = np.zeros(k), np.zeros(k, np.int32), 0
        for rank, rule in offered:
            if n_held < k or precedes(rank, rule, ranks[0], rules[0]):
                n_held = push(ranks, rules, n_held, rank, rule)
        sort_heap(ranks, rules, n_held)
        expected = sorted(offered, key=lambda pair: (-pair[0], pair[1]))[:k]
        assert list(zip(ranks[:n_held].tolist(), rules[:n_held].tolist(), strict=True)) == expected


@pytest.mark.parametrize("kind", [SUM, PRODUCT, STATIC])
@pytest.mark.parametrize("static", [-2.0, 0.0, 3.0])
def test_no_rank_exceeds_its_bound(kind, static):
    for weight in (0.0, 0.5, 4.0):
        bound = rank_bound(kind, static, 2.0, weight)
        assert all(rank_of(kind, static, part * 2.0 * weight) <= bound for part in (0.0, 0.3, 1.0))


def test_a_rule_without_a_score_program_gets_that_of_its_root():
    a, b, c = (("in", (cell, cell)) for cell in (1, 2, 3))
    program = make_program([3], [(("and", c, ("or", a, b)), 0.0, None), (a, 0.0, None), ("always", 0.0, None)])
    offsets, code = score_steps(program)
    assert offsets.tolist() == [0, 5, 6, 7]
    assert [step & OPERATION for step in code.tolist()].count(LEAF) == 4
    assert (code[4], code[6]) == (2 << STEP_BITS | AND, IS_TRUE << STEP_BITS | CONSTANT)
