"""What `dnf` and `cnf` have in common is tested on both here."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ruledex.engines.kindex import engine as kindex_engine
from ruledex.engines.kindex import hierarchy, posting_lists
from ruledex.engines.kindex import ranking as kindex_ranking
from ruledex.engines.kindex.engine import CnfEngine, DnfEngine
from ruledex.engines.kindex.normal_forms import NormalFormOptions
from ruledex.engines.protocol import Statistics
from ruledex.errors import ArtifactError, BudgetError
from tests.contract.agreement import assert_agrees, assert_top_agrees
from tests.contract.builder import make_batch, make_program
from tests.contract.sizes import scaled
from tests.engines.programs import drawn_batch, drawn_program

ENGINES = [DnfEngine, CnfEngine]


@pytest.fixture(params=[False, True], ids=["large parts", "small parts"])
def parts(request, monkeypatch):
    if request.param:
        monkeypatch.setattr(posting_lists, "N_LED", 3)
        monkeypatch.setattr(hierarchy, "N_SHARED", 2)


def without_score_programs(program):
    """The same rules, each scored by its match tree with weights of 1."""
    return program._replace(
        score_offsets=np.zeros_like(program.score_offsets),
        score_code=program.score_code[:0],
        score_weight=program.score_weight[:0],
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("several", [False, True])
def test_answers_agree_with_the_reference(engine, several, parts):
    program = drawn_program(scaled(80, 20), 3)
    batch = drawn_batch(program, scaled(20, 4), 3, several)
    assert_agrees(engine.build(program), batch)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("prepared", [without_score_programs, lambda program: program])
def test_the_best_agree_with_the_reference(engine, prepared, parts):
    program = prepared(drawn_program(scaled(80, 20), 4))
    batch = drawn_batch(program, scaled(12, 3), 4, True)
    rng = np.random.default_rng(4)
    weighted = batch._replace(weights=rng.choice([0.0, 0.1, 1.0, 3.0], len(batch.cells)))
    built = engine.build(program)
    for rank in ("sum", "product", "static"):
        assert_top_agrees(built, batch, 2, rank)
        assert_top_agrees(built, weighted, 3, rank, static_score=rng.normal(size=program.n_rules))


@pytest.mark.parametrize("engine", ENGINES)
def test_rules_past_the_budget_are_an_error_or_are_counted(engine):
    program = drawn_program(scaled(60, 40), 5)
    with pytest.raises(BudgetError):
        engine.build(program, options=NormalFormOptions(budget=4, overflow="error"))
    built = engine.build(program, options=NormalFormOptions(budget=4))
    assert 0 < built.describe()["n_overflow"] < program.n_rules
    batch = drawn_batch(program, scaled(15, 4), 5)
    stored = {name: array.copy() for name, array in built.arrays().items()}
    for one in (built, engine.from_arrays(program, stored)):
        alive = np.arange(program.n_rules) % 3 > 0
        assert_agrees(one, batch)
        assert_agrees(one, batch, alive)
        assert_top_agrees(one, batch, 4, "sum", alive)


@pytest.mark.parametrize("engine", ENGINES)
def test_statistics_change_no_answer(engine, parts):
    program = drawn_program(scaled(60, 15), 6)
    frequency = np.random.default_rng(6).random(program.n_cells)
    assert_agrees(engine.build(program, Statistics(frequency)), drawn_batch(program, scaled(15, 4), 6))


@pytest.mark.parametrize("engine", ENGINES)
def test_answers_longer_than_one_chunk_are_put_together(engine, monkeypatch):
    monkeypatch.setattr(kindex_engine, "CHUNK", 1)
    monkeypatch.setattr(kindex_ranking, "ROOM", 4)
    program = make_program([2], [("always", float(i), None) for i in range(5)])
    batch = make_batch(program, [{1}, {2}, {1}])
    built = engine.build(program)
    assert built.match(batch).rule.tolist() == [0, 1, 2, 3, 4] * 3
    assert built.top(batch, 2).rule.tolist() == [4, 3] * 3


@pytest.mark.parametrize("engine", ENGINES)
def test_threads_may_share_an_engine(engine):
    program = drawn_program(scaled(200, 20), 7)
    built = engine.build(program)
    batches = [drawn_batch(program, scaled(20, 3), seed) for seed in range(6)]
    expected = [built.match(batch).rule.tolist() for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        assert [found.rule.tolist() for found in pool.map(built.match, batches * 2)] == expected * 2


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("missing", ["entries", "owner_rules"])
def test_a_missing_array_is_a_damaged_index(engine, missing):
    program = drawn_program(5)
    arrays = engine.build(program).arrays()
    del arrays[missing]
    with pytest.raises(ArtifactError, match=missing):
        engine.from_arrays(program, arrays)


def test_a_conjunction_of_many_rules_is_indexed_once():
    shared = ("and", ("in", (1, 1)), ("in", (3, 3)))
    trees = [("or", shared, ("in", (cell, cell))) for cell in (1, 2, 4)] + [shared]
    built = DnfEngine.build(make_program([2, 2], [(tree, 0.0, None) for tree in trees]))
    assert built.describe()["n_indexed"] == 4
    assert built.describe()["n_entries"] == 5
