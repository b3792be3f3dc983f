"""Rules that grow when they are multiplied out get small forms, and the engines answer the same with them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ruledex import Index, Schema, evaluate, parse
from ruledex.compiled.constants import AND, OR
from ruledex.engines.kindex import normal_forms
from ruledex.engines.kindex.engine import CnfEngine, DnfEngine
from ruledex.engines.kindex.normal_forms import NormalFormOptions, clauses_of, expressions_of, join_clauses
from ruledex.engines.kindex.reduction import literal_relations, reduced_clauses
from ruledex.errors import BudgetError
from ruledex.program.builder import ProgramBuilder
from ruledex.rewrite.clauses import bits_of
from tests.contract.agreement import assert_agrees, assert_top_agrees
from tests.contract.sizes import scaled
from tests.engines.programs import drawn_batch, drawn_program
from tests.rewrite.test_normal_form import SHARED, chain

ENGINES = [DnfEngine, CnfEngine]


def program_of(*texts):
    builder = ProgramBuilder(Schema())
    for text in texts:
        builder.add(parse(text))
    return builder.finish().program


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(3))
def test_engines_agree_with_the_reference_if_every_product_is_reduced(engine, seed, monkeypatch):
    monkeypatch.setattr(normal_forms, "LARGE", 1)
    program = drawn_program(scaled(60, 30), seed)
    batch = drawn_batch(program, scaled(15, 4), seed)
    for budget in (10_000, 12):
        built = engine.build(program, options=NormalFormOptions(budget=budget))
        alive = np.arange(program.n_rules) % 3 > 0
        assert_agrees(built, batch)
        assert_agrees(built, batch, alive)
        assert_top_agrees(built, batch, 4, "sum", alive)
        assert_top_agrees(engine.from_arrays(program, built.arrays()), batch, 4, "product")


@pytest.mark.parametrize(("text", "n_literals"), [(chain(5), 80), (SHARED, 5), (chain(6), 192)])
def test_rules_that_grow_have_small_forms(text, n_literals):
    program, form = program_of(text), "CNF"
    expressions = expressions_of(program, form, 10_000, "error")
    clauses = join_clauses(clauses_of(program, form, expressions))
    assert len(clauses.literals) == n_literals
    assert clauses.offsets[-1] == n_literals


def test_large_and_small_rules_stand_side_by_side():
    texts = [chain(5), "a = 1", SHARED, chain(5), "a = 1 AND (b = 1 OR c = 1)", "TRUE", "a = 1"]
    program = program_of(*texts)
    expressions = expressions_of(program, "CNF", 10_000, "error")
    assert len(expressions.roots) == 5
    assert sorted(expressions.rules.tolist()) == list(range(7))
    clauses = join_clauses(clauses_of(program, "CNF", expressions))
    assert len(clauses.n_clauses) == 5
    for root, begin, end in zip(
        expressions.roots, expressions.rule_offsets[:-1], expressions.rule_offsets[1:], strict=True
    ):
        assert (program.root[expressions.rules[begin:end]] == root).all()
    rng = random.Random(5)
    names = [*(f"x{i}" for i in range(5)), "a", "b", "c", "m", "k16", "k20", "k30", "k73"]
    events = [{name: rng.choice([1, 1, 2, 5, 7, 17, None]) for name in names} for _ in range(40)]
    for engine in ("dnf", "cnf"):
        index = Index.build(list(enumerate(texts)), engine, engine_options={"overflow": "error"})
        for event in events:
            expected = [i for i, text in enumerate(texts) if evaluate(parse(text), event) is True]
            assert sorted(index.match(event)) == expected


def test_what_is_a_form_already_keeps_all_its_clauses(monkeypatch):
    """Of a score, each clause may be the best one, so none is left out."""
    monkeypatch.setattr(normal_forms, "LARGE", 1)
    expressions = expressions_of(program_of("a = 1 AND b = 1 OR a IN (1, 2) AND b = 1"), "DNF", 100, "error")
    assert len(expressions.reduced.n_clauses) == 0


def test_literals_exclude_cover_and_imply_each_other_by_their_cells():
    # x = 1 and x IN (1, 2), both as they are and negated, and x IS NULL with its negation.
    text = "(x = 1 OR y = 1) AND (x IN (1, 2) OR y = 2) AND (x != 1 OR y = 3) AND (x NOT IN (1, 2) OR y = 4)"
    program = program_of(f"{text} AND (z IS NULL OR y = 5) AND (z IS NOT NULL OR y = 6)")
    literals = list(range(program.n_literals))
    relations = literal_relations(program, literals)
    for cells in [{0}, *({0, cell} for cell in range(1, program.n_cells))]:
        true = set()
        for literal in range(program.n_positive):
            begin, end = program.interval_offsets[literal], program.interval_offsets[literal + 1]
            spans = zip(program.interval_low[begin:end], program.interval_high[begin:end], strict=True)
            if any(low <= cell <= high for low, high in spans for cell in cells):
                true.add(literal)
        for n, (presence, of) in enumerate(zip(program.negative_presence, program.negative_of, strict=True)):
            if int(presence) in cells and int(of) not in true:
                true.add(program.n_positive + n)
        for one in literals:
            assert not (one in true and any(other in true for other in bits_of(relations.excludes[one])))
            assert one in true or all(other in true for other in bits_of(relations.covers[one]))
            assert one not in true or all(other in true for other in bits_of(relations.implies[one]))
    assert sum(map(int.bit_count, relations.implies)) >= 2
    assert sum(map(int.bit_count, relations.excludes)) >= 8
    assert sum(map(int.bit_count, relations.covers)) >= 2


def test_a_rule_that_has_no_small_form_is_an_error_that_says_how_large_it_is():
    text = " AND ".join(f"(a{i} = 1 OR b{i} = 1)" for i in range(20))
    program = program_of("a0 = 1", text)
    with pytest.raises(BudgetError, match="DNF of the rule at position 1 has at least 20,971,520 literals"):
        expressions_of(program, "DNF", 10_000, "error")
    assert expressions_of(program, "DNF", 10_000, "sparse").overflow.tolist() == [1]
    rng = random.Random(3)
    text = " AND ".join("(" + " OR ".join(f"x{i} = 1" for i in rng.sample(range(40), 6)) + ")" for _ in range(30))
    with pytest.raises(BudgetError, match="literals before absorption, over the budget of 100"):
        expressions_of(program_of(text), "DNF", 100, "error")


def test_clauses_ascend():
    program = program_of(chain(3))
    for outer in (AND, OR):
        clauses = reduced_clauses(program, int(program.root[0]), outer, 100)
        assert len(clauses) == 4
        assert all(clause == sorted(set(clause)) for clause in clauses)
