"""The best of candidates, whatever their bounds as long as these are bounds."""

import numpy as np
import pytest

from ruledex.engines.inputs import SUM
from ruledex.program.scores.run import AT_ONCE
from ruledex.relaxed.candidates import NOT_MET, OneEvent, best_of_candidates, relaxed_scores
from ruledex.relaxed.layout import build_relaxed_layout
from tests.contract.sizes import scaled
from tests.engines.programs import drawn_batch, drawn_program

N_RULES = scaled(600, 150)


@pytest.fixture(scope="module")
def scored():
    """The layout of a Program, one event, and what each rule scores on it."""
    program = drawn_program(N_RULES, seed=8)
    layout = build_relaxed_layout(program)
    batch = drawn_batch(program, 1, seed=9)
    event = OneEvent(batch.cells, batch.weights, 0, len(batch.cells), SUM, program.static_scores())
    scores = np.empty(N_RULES)
    with layout.scorer.stack() as stack:
        relaxed_scores(layout.rules, event, stack, np.arange(N_RULES, dtype=np.int32), N_RULES, scores)
    return layout, event, scores


def best(scored, candidates, bounds, k):
    layout, event, _ = scored
    ranks, found = np.empty(k), np.empty(k, np.int32)
    with layout.scorer.stack() as stack:
        n_found = best_of_candidates(
            layout.rules, event, np.array(candidates, np.int32), np.array(bounds, np.float64), stack, ranks, found
        )
    return list(zip(found[:n_found].tolist(), ranks[:n_found].tolist(), strict=True))


@pytest.mark.parametrize("k", [1, 10, AT_ONCE, N_RULES])
@pytest.mark.parametrize("slack", [0.0, 0.7, 50.0, np.inf])
def test_the_answer_does_not_depend_on_how_tight_bounds_are(scored, k, slack):
    _, event, scores = scored
    ranks = event.static_score + scores
    met = np.flatnonzero(scores != NOT_MET)
    assert 0 < len(met) < N_RULES
    expected = sorted((-ranks[rule], rule) for rule in met.tolist())[:k]
    given = np.random.default_rng(1).permutation(N_RULES)
    bounds = (event.static_score + np.maximum(scores, 0.0))[given] + slack
    assert best(scored, given, bounds, k) == [(rule, -rank) for rank, rule in expected]


def test_no_candidates_give_no_answer(scored):
    assert best(scored, [], [], 3) == []


def test_candidates_that_are_not_met_are_left_out(scored):
    _, _, scores = scored
    unmet = np.flatnonzero(scores == NOT_MET)
    assert best(scored, unmet, np.full(len(unmet), 9.0), 5) == []
