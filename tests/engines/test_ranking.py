import numpy as np
import pytest

from ruledex.compiled.constants import AND, CONSTANT, IS_TRUE, LEAF, OPERATION, STEP_BITS
from ruledex.engines.inputs import PRODUCT, STATIC, SUM
from ruledex.engines.ranking import precedes, push, rank_bound, rank_of, score_steps, sort_heap
from ruledex.engines.registry import engine_class
from tests.contract.agreement import assert_top_agrees
from tests.contract.builder import make_batch, make_program


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


def drawn_score(rng, literals, depth=2):
    """A score tree of ORs of ANDs, mostly, with everything else here and there."""
    kind = rng.random()
    if depth == 0 or kind < 0.2:
        return ("leaf", literals[rng.integers(len(literals))], float(rng.choice([0.0, 0.1, 0.3, 1.0, 2.5])))
    if kind < 0.25:
        return ("constant", (True, False, None)[rng.integers(3)])
    operation = ("or", "and")[depth % 2] if kind < 0.9 else ("xor", "xnor", "or", "and")[rng.integers(4)]
    return (operation, *(drawn_score(rng, literals, depth - 1) for _ in range(rng.integers(1, 6))))


@pytest.mark.parametrize("is_weighed", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_what_bounds_leave_out_would_not_have_been_among_the_best(seed, is_weighed):
    rng = np.random.default_rng(seed)
    starts = [1, 7, 13, 19]
    literals = [("in", (start + low, start + low + int(rng.integers(3)))) for start in starts for low in range(4)]
    literals += [("in", (start, start + 1), (start + 4, start + 5)) for start in starts]
    literals += [("not in", 25 + number, (start + 1, start + 3)) for number, start in enumerate(starts)]

    def drawn_tree(depth):
        if depth == 0 or rng.random() < 0.1:
            return literals[rng.integers(len(literals))]
        return (("and", "or")[depth % 2 == 0], *(drawn_tree(depth - 1) for _ in range(rng.integers(1, 5))))

    scores = [drawn_score(rng, literals, int(rng.integers(1, 4))) if rng.random() < 0.7 else None for _ in range(80)]
    rules = [(drawn_tree(int(rng.integers(1, 4))), float(rng.choice([-1.0, 0.0, 0.0, 0.5, 2.0])), s) for s in scores]
    program = make_program([6, 6, 6, 6, 1, 1, 1, 1], rules)
    chosen = [rng.choice(4, rng.integers(1, 5), replace=False) for _ in range(20)]
    cells = [
        {int(starts[d] + rng.integers(6)) for d in event for _ in range(rng.integers(1, 3))}
        | {25 + int(d) for d in event}
        for event in chosen
    ]
    batch = make_batch(program, cells)
    if is_weighed:
        batch = batch._replace(weights=rng.choice([0.0, 0.1, 0.7, 1.0, 1.0, 3.3], len(batch.cells)))
    for name in ("scan", "sparse", "batch", "dnf", "cnf"):
        engine = engine_class(name).build(program)
        for rank in ("sum", "product"):
            for k in (1, 2, 7):
                assert_top_agrees(engine, batch, k, rank)
