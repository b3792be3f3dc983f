"""Ranking cases by name, on every engine."""

import numpy as np
import pytest

from ruledex.errors import RuledexError

from .agreement import assert_top_agrees
from .builder import make_batch, make_program
from .sizes import scaled

A, B = 1, 11
SIZES = [10, 5]
SPORTS, NEWS = ("in", (A, A)), ("in", (B, B + 2))


def answers(engine, batch, k, **options):
    assert_top_agrees(engine, batch, k, **options)
    found = engine.top(batch, k, **options)
    return list(zip(found.rule.tolist(), found.scores.tolist(), strict=True))


def test_ties_are_broken_by_position(engine_type):
    program = make_program(SIZES, [(SPORTS, 2.0, None)] * 7 + [(SPORTS, 3.0, None)])
    engine = engine_type.build(program)
    assert answers(engine, make_batch(program, [{A}]), 3) == [(7, 4.0), (0, 3.0), (1, 3.0)]


def test_k_larger_than_what_matches_gives_all(engine_type):
    program = make_program(SIZES, [(SPORTS, 1.0, None), (NEWS, 2.0, None), ("always", 0.5, None)])
    engine = engine_type.build(program)
    assert answers(engine, make_batch(program, [{A}]), 10) == [(0, 2.0), (2, 0.5)]
    assert answers(engine, make_batch(program, [{A}]), 5000) == [(0, 2.0), (2, 0.5)]


def test_k_of_zero_gives_nothing(engine_type):
    program = make_program(SIZES, [(SPORTS, 1.0, None)])
    assert answers(engine_type.build(program), make_batch(program, [{A}, {B}]), 0) == []


def test_a_negative_k_is_refused(engine_type):
    program = make_program(SIZES, [(SPORTS, 1.0, None)])
    with pytest.raises(RuledexError, match="k must be a whole number of at least 0, not -1"):
        engine_type.build(program).top(make_batch(program, [{A}]), -1)


def test_an_unknown_rank_is_refused(engine_type):
    program = make_program(SIZES, [(SPORTS, 1.0, None)])
    with pytest.raises(RuledexError, match="'best'"):
        engine_type.build(program).top(make_batch(program, [{A}]), 1, "best")


def test_the_event_s_weights_scale_the_rule_s(engine_type):
    tree = ("or", SPORTS, NEWS)
    score = ("or", ("leaf", SPORTS, 2.0), ("leaf", NEWS, 3.0))
    program = make_program(SIZES, [(tree, 1.0, score)])
    engine = engine_type.build(program)
    weights = [{A: 5.0}, {A: 0.5, B: 0.25, B + 1: 4.0}, {A: 0.0, B: 0.0}]
    batch = make_batch(program, [{A}, {A, B, B + 1}, {A, B}], weights)
    assert answers(engine, batch, 1) == [(0, 11.0), (0, 13.0), (0, 1.0)]
    assert answers(engine, batch, 1, rank="product") == [(0, 10.0), (0, 12.0), (0, 0.0)]
    assert answers(engine, batch, 1, rank="static") == [(0, 1.0)] * 3


def test_an_exclusive_or_with_an_unknown_side_scores_nothing(engine_type):
    # NEWS has no value in the event, so SPORTS XOR NEWS is unknown, and the OR around it scores its other side only.
    has_news, no_news = ("in", (B, B + 4)), ("not in", 0, (B, B + 4))
    score = ("or", ("xor", ("leaf", SPORTS, 9.0), ("leaf", NEWS, 9.0)), ("leaf", SPORTS, 1.0))
    program = make_program(SIZES, [(SPORTS, 0.0, score), (has_news, 0.0, None), (no_news, 0.0, None)])
    assert_top_agrees(engine_type.build(program), make_batch(program, [{A}, {A, B}, {A, B + 4}]), 3)


def test_static_scores_may_be_negative(engine_type):
    score = ("leaf", SPORTS, 2.0)
    program = make_program(SIZES, [(SPORTS, -3.0, score), (SPORTS, -1.0, score), (SPORTS, 0.0, score)])
    engine = engine_type.build(program)
    batch = make_batch(program, [{A}])
    assert answers(engine, batch, 2) == [(2, 2.0), (1, 1.0)]
    assert answers(engine, batch, 3, rank="product") == [(2, 0.0), (1, -2.0), (0, -6.0)]


def test_sums_that_overflow_stay_finite_numbers(engine_type):
    largest = float(np.finfo(np.float64).max)
    score = ("and", ("leaf", SPORTS, largest), ("leaf", NEWS, largest))
    program = make_program(SIZES, [(("and", SPORTS, NEWS), 0.0, score), (SPORTS, 1.0, ("leaf", SPORTS, 1.0))])
    found = engine_type.build(program).top(make_batch(program, [{A, B}]), 2, "product")
    assert found.rule.tolist() == [1, 0]
    assert found.scores.tolist() == [1.0, 0.0]


def test_bounds_keep_no_rule_out_that_belongs_in(engine_type):
    rng = np.random.default_rng(3)
    n_rules = scaled(20_000, 300)
    trees = [SPORTS, NEWS, ("or", SPORTS, NEWS), ("and", SPORTS, NEWS)]
    drawn = []
    for _ in range(n_rules):
        tree = trees[rng.integers(len(trees))]
        first, second = rng.choice([0.1, 0.2, 0.3, 1.0, 7.0], 2).tolist()
        score = (("and", "or")[rng.integers(2)], ("leaf", SPORTS, first), ("leaf", NEWS, second))
        drawn.append((tree, float(rng.choice([0.0, 0.1, 0.7, 2.0])), score))
    program = make_program(SIZES, drawn)
    events = [{A}, {B}, {A, B}, {A + 1}] * scaled(20, 3)
    weights = [{cell: float(rng.choice([0.1, 0.5, 1.0, 3.0])) for cell in event} for event in events]
    engine = engine_type.build(program)
    for rank in ("sum", "product", "static"):
        assert_top_agrees(engine, make_batch(program, events[:8], weights[:8]), 25, rank)
    n_of_each = np.diff(engine.top(make_batch(program, events), 25).offsets)
    assert n_of_each.tolist() == [25, 25, 25, 0] * scaled(20, 3)
