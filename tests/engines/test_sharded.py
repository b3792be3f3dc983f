"""Rules in several engines answer as in one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruledex.compiled.arrays import frozen
from ruledex.compiled.lists import gather_lists
from ruledex.engines.registry import engine_class
from ruledex.engines.sharded import EngineShard, ShardedEngine
from ruledex.errors import RuledexError
from ruledex.program.program import Program
from tests.contract.agreement import assert_agrees, assert_top_agrees
from tests.contract.builder import make_batch
from tests.contract.sizes import DRAWN
from tests.contract.strategies import STATIC_SCORES, batches, programs
from tests.engines.programs import drawn_program


def only(program: Program, rules: np.ndarray) -> Program:
    """The Program of some of the rules."""
    lengths = np.diff(program.score_offsets)[rules]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    code = np.zeros(offsets[-1], np.int32)
    gather_lists(
        frozen(program.score_offsets, np.int64),
        frozen(program.score_code, np.int32),
        frozen(rules, np.int64),
        offsets,
        code,
    )
    return program._replace(
        root=program.root[rules],
        static_score=program.static_score[rules],
        score_offsets=offsets.astype(np.int32),
        score_code=code,
    )


def sharded(program: Program, shard_of: np.ndarray, engines: list[str]) -> ShardedEngine:
    parts = []
    for shard, name in enumerate(engines):
        rules = np.flatnonzero(shard_of == shard).astype(np.int32)
        parts.append(EngineShard(engine_class(name).build(only(program, rules)), rules))
    engine = ShardedEngine(parts)
    engine.program = program  # type: ignore[attr-defined]  # what the agreement is checked against
    return engine


def test_what_is_alive_is_taken_apart_once_for_an_array_that_stays_as_it_is():
    program = drawn_program(20)
    engine = sharded(program, np.arange(20, dtype=np.int32) % 3, ["scan", "sparse", "scan"])
    batch = make_batch(program, [{1, 2, 5}])
    alive = np.ones(20, np.uint8)
    everything = engine.match(batch, alive).rule.tolist()
    alive[everything[:1]] = 0
    assert engine.match(batch, alive).rule.tolist() == everything[1:]
    alive.flags.writeable = False
    first, second = engine._alive.of(alive), engine._alive.of(alive)
    assert first is second
    assert engine.match(batch, alive).rule.tolist() == everything[1:]
    assert engine.count(batch, np.ones(20, np.uint8)).tolist() == [len(everything)]


def drawn_shards(data, program):
    n_shards = data.draw(st.integers(1, 4))
    of = data.draw(st.lists(st.integers(0, n_shards - 1), min_size=program.n_rules, max_size=program.n_rules))
    names = data.draw(st.lists(st.sampled_from(["scan", "sparse", "batch"]), min_size=n_shards, max_size=n_shards))
    return sharded(program, np.array(of, np.int32), names)


@DRAWN
@given(st.data())
def test_matches_and_counts_are_those_of_all_rules(data):
    program = data.draw(programs())
    alive = np.array(data.draw(st.lists(st.booleans(), min_size=program.n_rules, max_size=program.n_rules)), np.bool_)
    engine = drawn_shards(data, program)
    batch = data.draw(batches(program))
    assert_agrees(engine, batch)
    assert_agrees(engine, batch, alive)


@pytest.mark.parametrize("rank", ["sum", "product", "static"])
@DRAWN
@given(st.data())
def test_the_best_of_all_shards_are_the_best_of_all_rules(rank, data):
    program = data.draw(programs())
    static = np.array(data.draw(st.lists(STATIC_SCORES, min_size=program.n_rules, max_size=program.n_rules)))
    engine = drawn_shards(data, program)
    batch = data.draw(batches(program))
    k = data.draw(st.integers(0, 5))
    assert_top_agrees(engine, batch, k, rank)
    assert_top_agrees(engine, batch, k, rank, None, static)


def test_it_says_what_its_shards_are():
    program = drawn_program(20)
    told = sharded(program, np.arange(20) % 2, ["scan", "scan"]).describe()
    assert (told["engine"], told["n_rules"], len(told["shards"])) == ("scan", 20, 2)
    assert told["bytes"] >= 20 * 4


def test_a_negative_k_is_an_error():
    program = drawn_program(4)
    batch = make_batch(program, [set()])
    with pytest.raises(RuledexError, match="k must be a whole number of at least 0, not -1"):
        sharded(program, np.zeros(4), ["scan"]).top(batch, -1)
