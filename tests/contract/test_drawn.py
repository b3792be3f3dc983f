"""Every engine against the reference, on Programs and events that hypothesis draws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from .agreement import assert_agrees, assert_top_agrees
from .sizes import DRAWN
from .strategies import STATIC_SCORES, batches, programs

pytestmark = pytest.mark.slow  # uncompiled; `make test` runs all of it compiled


@DRAWN
@given(st.data())
def test_match_and_count_agree_with_the_reference(engine_type, data):
    program = data.draw(programs())
    engine = engine_type.build(program)
    assert_agrees(engine, data.draw(batches(program)))


@DRAWN
@given(st.data())
def test_dead_rules_are_never_found(engine_type, data):
    program = data.draw(programs())
    alive = np.array(data.draw(st.lists(st.booleans(), min_size=program.n_rules, max_size=program.n_rules)), np.bool_)
    engine = engine_type.build(program)
    batch = data.draw(batches(program))
    assert_agrees(engine, batch, alive)
    assert_top_agrees(engine, batch, 3, "sum", alive)


@pytest.mark.parametrize("rank", ["sum", "product", "static"])
@DRAWN
@given(st.data())
def test_top_agrees_with_the_reference_to_the_last_bit(engine_type, rank, data):
    program = data.draw(programs())
    engine = engine_type.build(program)
    assert_top_agrees(engine, data.draw(batches(program)), data.draw(st.integers(0, 5)), rank)


@DRAWN
@given(st.data())
def test_static_scores_may_be_replaced_after_the_build(engine_type, data):
    program = data.draw(programs())
    static = np.array(
        data.draw(st.lists(STATIC_SCORES, min_size=program.n_rules, max_size=program.n_rules)), np.float64
    )
    engine = engine_type.build(program)
    assert_top_agrees(engine, data.draw(batches(program)), 2, "sum", None, static)


@DRAWN
@given(st.data())
def test_an_engine_restored_from_its_arrays_answers_alike(engine_type, data):
    program = data.draw(programs())
    built = engine_type.build(program)
    stored = {name: array.copy() for name, array in built.arrays().items()}
    engine = engine_type.from_arrays(program, stored)
    assert set(engine.arrays()) == set(stored)
    assert_agrees(engine, data.draw(batches(program)))
