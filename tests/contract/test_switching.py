"""Compiled code taken up in mid-use: the same answers, bit for bit, whichever call it begins with."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ruledex.compiled.scheduler import scheduler
from ruledex.index import Index
from tests.contract.sizes import COMPILED
from tests.engines.programs import drawn_batch, drawn_program

pytestmark = pytest.mark.skipif(not COMPILED, reason="there is no compiled code to take up")

RULES = [
    (1, "age >= 18 AND country IN ('DE', 'FR') AND NOT (tier = 'gold')", 0.5),
    (2, "age > 65 OR name LIKE 'A%'", 1.0),
    (3, "(a = 1 AND b = 2) OR (a = 3 AND (b = 4 OR c IS NULL) AND price < 1.5)", 2.0),
    (4, "country = 'DE' AND age BETWEEN 20 AND 40 AND a != 7", 3.0),
]
EVENTS = [
    {"age": 30, "country": "DE", "name": "Abel", "a": 1, "b": 2, "price": 1.25},
    {"age": 70, "country": ["FR", "US"], "tier": "gold", "a": 3, "b": 4},
    {},
]


def answers_of_an_engine(engine_type):
    program = drawn_program(40)
    engine = engine_type.build(program)
    arrays = engine.arrays()
    for seed in range(3):
        batch = drawn_batch(program, 4, seed)
        for found in (engine.match(batch), engine.top(batch, 3)):
            arrays |= {f"{seed} {len(arrays)} {field}": value for field, value in found._asdict().items()}
        arrays[f"{seed} counts"] = engine.count(batch)
    return arrays


def answers_of_an_index(engine_type):
    index = Index.build(RULES, engine_type.name, engine_options=engine_type.options)
    before = [(index.match(event), index.top(event, 2)) for event in EVENTS]
    index.add([(5, "age > 3 AND country = 'DE'"), (6, "a > 2 OR name = 'x'", 7.0)])
    index.remove([2])
    return before, [(index.match(event), index.top(event, 3)) for event in EVENTS], index.count(EVENTS).tolist()


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        if value is None:
            assert other[name] is None
        else:
            assert value.dtype == other[name].dtype, name
            assert np.array_equal(value, other[name]), name


@pytest.mark.parametrize("n_calls", [None, 1, 2, 4, 8, 16, 32])
def test_an_engine_answers_the_same_whichever_call_is_the_first_compiled_one(engine_type, n_calls):
    expected = answers_of_an_engine(engine_type)
    with scheduler.plainly(n_calls):
        assert_same(answers_of_an_engine(engine_type), expected)


@pytest.mark.parametrize("n_calls", [None, 10, 100])
def test_so_does_an_index_that_is_changed(engine_type, n_calls):
    expected = answers_of_an_index(engine_type)
    with scheduler.plainly(n_calls):
        assert repr(answers_of_an_index(engine_type)) == repr(expected)


def test_the_suite_passes_with_compiled_code_taken_up_in_each_test():
    if "RULEDEX_TAKE_UP" in os.environ:
        pytest.skip("this is the run that it would start")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        Path(__file__).parent / "test_top.py",
    ]
    run = subprocess.run(
        command, env={**os.environ, "RULEDEX_TAKE_UP": "12"}, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout[-4000:]
