"""An engine's answers against the reference's."""

import numpy as np

from ruledex.engines.protocol import OneEventMatcher

from .reference import Reference


def assert_agrees(engine, batch, alive=None):
    """Matches, counts and the form of both are what the reference says."""
    expected = Reference(engine.program).matches(batch, alive)
    found = engine.match(batch, alive)
    assert found.offsets.dtype == np.int64
    assert found.rule.dtype == np.int32
    assert found.scores is None
    assert [found.of(event).tolist() for event in range(found.n_events)] == expected
    if isinstance(engine, OneEventMatcher) and alive is None:
        for event, rules in enumerate(expected):
            cells = batch.cells[batch.offsets[event] : batch.offsets[event + 1]].tolist()
            one = engine.match_one([*cells[::-1], *cells[:2]])  # in any order, some twice
            assert one.dtype == np.int32
            assert one.tolist() == rules
    counted = engine.count(batch, alive)
    assert counted.dtype == np.int64
    assert counted.tolist() == [len(rules) for rules in expected]


def assert_top_agrees(engine, batch, k, rank="sum", alive=None, static_score=None):
    """Rules, order and every bit of the ranks are what the reference says."""
    expected = Reference(engine.program).top(batch, k, rank, alive, static_score)
    found = engine.top(batch, k, rank, alive, static_score)
    assert found.scores.dtype == np.float64
    answers = [
        list(
            zip(
                found.of(event).tolist(),
                found.scores[found.offsets[event] : found.offsets[event + 1]].tolist(),
                strict=True,
            )
        )
        for event in range(found.n_events)
    ]
    assert answers == expected
