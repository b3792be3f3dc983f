"""Relaxed matching against its definition, in each of its ways, and against itself on more rules than that can take."""

from concurrent.futures import ThreadPoolExecutor
from itertools import cycle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruledex.errors import RuledexError
from ruledex.events.mappings import EventEncoder
from ruledex.index.relaxed import relaxed_engine
from ruledex.language.parser import parse
from ruledex.language.rule_checks import parts_of
from ruledex.language.schema import Schema
from ruledex.language.text import tree_text
from ruledex.language.tree import And, Or, Required
from ruledex.program.builder import ProgramBuilder
from tests.contract.sizes import DRAWN, scaled
from tests.contract.strategies import batches, programs
from tests.engines.programs import drawn_batch, drawn_program
from tests.relaxed.reference import relaxed_score
from tests.strategies import SINGLE, events, trees

WAYS = ("scan", "count", "threshold", "auto")
RANKS = {
    "sum": lambda static, match: static + match,
    "product": lambda static, match: static * match,
    "static": lambda static, _match: static,
}
# Powers of two: sums of them are exact in any order, so that answers can be compared to the last bit.
EVENT_WEIGHTS = st.dictionaries(
    st.sampled_from(["a", "b", "c"]),
    st.one_of(st.sampled_from([0.0, 0.5, 2.0]), st.just({1: 4.0, 2: 0.25})),
    max_size=3,
)


def marked(tree, marks):
    """The tree with those conjuncts marked as required that `marks`, repeated, says so of."""
    marks = cycle(marks)
    branches = []
    for branch in parts_of(tree, Or):
        conjuncts = tuple(Required(c) if next(marks) else c for c in parts_of(branch, And))
        branches.append(And(conjuncts) if len(conjuncts) > 1 else conjuncts[0])
    return Or(tuple(branches)) if len(branches) > 1 else branches[0]


MARKS = st.lists(st.sampled_from([True, False, False, False]), min_size=1, max_size=6)
RULES = st.lists(
    st.tuples(st.builds(marked, trees(3), MARKS), st.sampled_from([0.0, 0.0, 1.0, -2.0, 0.5])), min_size=1, max_size=7
)


def built(rules, schema=None, as_text=False):
    """The engine of (tree, static score) pairs, and what encodes events for it."""
    builder = ProgramBuilder(schema or Schema())
    if as_text:
        texts = [tree_text(tree).encode() for tree, _ in rules]
        offsets = np.cumsum([0, *map(len, texts)])
        assert not builder.add_texts(
            np.frombuffer(b"".join(texts), np.uint8), offsets, np.array([static for _, static in rules])
        )
    else:
        for tree, static in rules:
            builder.add(tree, static)
    program, dictionary = builder.finish()
    return relaxed_engine(program), EventEncoder(dictionary)


def expected(rules, event, k, rank="sum", weights=None, schema=None):
    """The answer by its definition."""
    ranked = []
    for position, (tree, static) in enumerate(rules):
        match = relaxed_score(tree, event, weights, schema or Schema())
        if match is not None:
            ranked.append((-RANKS[rank](static, match), position))
    return [(position, -negative) for negative, position in sorted(ranked)[:k]]


def answer(engine, batch, k, **options):
    found = engine.top(batch, k, **options)
    return list(zip(found.rule.tolist(), found.scores.tolist(), strict=True))


@DRAWN
@given(
    RULES,
    st.lists(st.tuples(events(), st.one_of(st.none(), EVENT_WEIGHTS)), min_size=1, max_size=4),
    st.integers(0, 9),
    st.booleans(),
    st.booleans(),
)
def test_each_way_gives_what_the_definition_gives(rules, drawn, k, single, as_text):
    schema = Schema.of_mapping(SINGLE) if single else Schema()
    engine, encoder = built(rules, schema, as_text)
    for event, weights in drawn:
        batch = encoder.encode((event,), None if weights is None else (weights,))
        for rank in RANKS:
            wanted = expected(rules, event, k, rank, weights, schema)
            for way in WAYS:
                assert answer(engine, batch, k, rank=rank, method=way) == wanted, (way, rank, event)


# What is true of any Program, whatever rules it was made of.


@DRAWN
@given(st.data())
def test_all_ways_give_the_same_floats_whatever_the_weights(data):
    program = data.draw(programs())
    engine = relaxed_engine(program)
    batch, k = data.draw(batches(program)), data.draw(st.integers(0, 5))
    alive = np.array(data.draw(st.lists(st.booleans(), min_size=program.n_rules, max_size=program.n_rules)), np.bool_)
    for rank in RANKS:
        for options in ({}, {"alive": alive}):
            wanted = answer(engine, batch, k, rank=rank, method="scan", **options)
            for way in ("count", "threshold", "auto"):
                assert answer(engine, batch, k, rank=rank, method=way, **options) == wanted


@pytest.mark.parametrize("several", [False, True])
def test_all_ways_agree_on_many_rules(several):
    program = drawn_program(scaled(4000, 60), seed=5)
    engine = relaxed_engine(program)
    batch = drawn_batch(program, scaled(30, 3), seed=6, several=several)
    for k in (1, 10, program.n_rules + 5):
        wanted = answer(engine, batch, k, method="scan")
        assert wanted
        for way in ("count", "threshold", "auto"):
            assert answer(engine, batch, k, method=way) == wanted


def of_texts(*texts, static=None):
    scores = static or [0.0] * len(texts)
    return built([(parse(text), score) for text, score in zip(texts, scores, strict=True)])


def test_dead_rules_are_never_found():
    engine, encoder = of_texts("a = 1", "a = 1 AND b = 2", "b = 3")
    batch = encoder.encode(({"a": 1, "b": 2},))
    for way in WAYS:
        assert answer(engine, batch, 5, method=way, alive=np.array([True, False, True])) == [(0, 1.0)]


def test_static_scores_may_be_replaced_and_the_order_of_the_last_ones_is_not_used_for_others():
    engine, encoder = of_texts("a = 1", "a = 1 AND b = 2", "b = 2", static=[5.0, 0.0, 0.0])
    batch = encoder.encode(({"a": 1, "b": 2},))
    other = np.array([0.0, 0.5, 3.0])
    for way in WAYS:
        assert answer(engine, batch, 1, method=way) == [(0, 6.0)]
        assert answer(engine, batch, 2, method=way, static_score=other) == [(2, 4.0), (1, 2.5)]
        assert answer(engine, batch, 1, method=way) == [(0, 6.0)]


def test_rules_of_equal_rank_are_ordered_by_position():
    engine, encoder = of_texts(*["a = 1 AND b = 2"] * 40, "b = 2 AND a = 1 AND c = 9", *["a = 1^2"] * 3)
    batch = encoder.encode(({"a": 1, "b": 2},))
    for way in WAYS:
        assert answer(engine, batch, 43, method=way) == [(rule, 2.0) for rule in range(43)]


def test_reading_by_points_stops_early_where_weights_differ_and_is_given_up_where_they_do_not():
    n_rules = 6000
    steep, encoder = of_texts(*[f"(a < {rule + 1})^{rule % 97 + rule}" for rule in range(n_rules)])
    batch = encoder.encode(({"a": 0},))
    best, report = steep.top_reported(batch, 0, 5)
    assert best.rule.tolist() == steep.top(batch, 5, method="scan").rule.tolist()
    assert report.method == "threshold"
    assert report.n_scored < n_rules / 10

    flat, encoder = of_texts(*[f"a < {rule + 1}" for rule in range(n_rules)])
    batch = encoder.encode(({"a": 0},))
    assert flat.top_reported(batch, 0, 5)[1].method == "count"
    assert flat.top(batch, 5).rule.tolist() == [0, 1, 2, 3, 4]


def test_a_range_that_is_written_as_two_comparisons_counts_twice():
    engine, encoder = of_texts("a > 1 AND a < 9 AND a < 8", "(a < 5)^2", "b = 1 AND a < 4")
    batch = encoder.encode(({"a": 3},))
    for way in WAYS:
        assert answer(engine, batch, 2, method=way) == [(0, 3.0), (1, 2.0)]


def test_an_or_of_many_branches_is_as_good_as_its_best():
    engine, encoder = of_texts(" OR ".join(f"(a = {n} AND b = {n}^{n})" for n in range(1, 60)), "a = 7^50")
    batch = encoder.encode(({"a": [7, 9], "b": [9, 30]},))
    for way in WAYS:
        assert answer(engine, batch, 2, method=way) == [(1, 50.0), (0, 30.0)]


def test_an_index_without_rules_has_no_answer():
    engine, encoder = built([])
    assert answer(engine, encoder.encode(({"a": 1},)), 3) == []


def test_an_unknown_way_a_negative_k_and_an_unknown_rank_are_refused():
    engine, encoder = of_texts("a = 1")
    batch = encoder.encode(({"a": 1},))
    with pytest.raises(RuledexError, match=r"method must be one of .* not 'best'"):
        engine.top(batch, 1, method="best")
    with pytest.raises(RuledexError, match="k must be a whole number of at least 0, not -1"):
        engine.top(batch, -1)
    with pytest.raises(RuledexError, match="'best'"):
        engine.top(batch, 1, "best")


def test_sums_that_overflow_stay_finite_numbers():
    engine, encoder = of_texts("a = 1^1e300 AND b = 2", static=[0.0])
    batch = encoder.encode(({"a": 1, "b": 2},), ({"a": 1e300},))
    for way in WAYS:
        assert answer(engine, batch, 1, rank="product", method=way) == [(0, 0.0)]
        assert np.isfinite(answer(engine, batch, 1, method=way)[0][1])


def test_threads_share_an_engine():
    program = drawn_program(scaled(1000, 40), seed=1)
    engine = relaxed_engine(program)
    batch = drawn_batch(program, scaled(20, 2), seed=2)
    wanted = answer(engine, batch, 7, method="scan")
    with ThreadPoolExecutor(4) as threads:
        ways = [threads.submit(answer, engine, batch, 7, method=way) for way in WAYS * 3]
        assert all(way.result() == wanted for way in ways)


def test_it_says_what_it_is_made_of():
    engine, _ = of_texts("a = 1 AND b > 5 AND b < 9", "a = 1 OR c = 'x'", "a != 3")
    told = engine.describe()
    assert (told["n_rules"], told["n_branches"], told["n_conjuncts"]) == (3, 4, 6)
    assert told["bytes"] > 0
