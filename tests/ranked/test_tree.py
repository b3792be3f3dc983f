"""What all five structures must do, the same tests for each."""

from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from ruledex.errors import ArtifactError, RuledexError
from ruledex.ranked.index import STRUCTURES
from tests.contract.sizes import DRAWN, scaled

from .reference import Drawn, drawn, overlapped, pairs, queries, stabbed

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "segment": [{}],
    "interval": [{"most_unsplit": 1}, {"most_unsplit": 3}, {}],
    "r": [{"branching": 2}, {"branching": 3}, {}],
    "ir": [{"branching": 2}, {"branching": 3}, {}],
    "sopt": [{"branching": 2}, {"branching": 3}, {}],
}
CASES = [(name, options) for name, choices in OPTIONS.items() for options in choices]
ABLE = [name for name, structure in STRUCTURES.items() if structure.can_overlap]


def built(name, given, **options):
    arguments, ends = given.arguments()
    return STRUCTURES[name].build(*arguments, **ends, **options)


@pytest.mark.parametrize(("name", "options"), CASES)
@pytest.mark.parametrize("n", [0, 1, 5, 33, 300])
def test_a_point_finds_the_intervals_that_hold_it_by_score_and_id(name, options, n):
    given = drawn(scaled(n, min(n, 40)), seed=n)
    tree = built(name, given, **options)
    asked = queries()
    found = tree.stab_top_batch(asked, 4)
    assert found.scores is not None
    for place, query in enumerate(asked):
        expected = stabbed(given, query)
        assert list(tree.stab(query)) == expected
        assert pairs(tree.stab_top(query, 4)) == expected[:4]
        assert found.of(place).tolist() == [identity for identity, _ in expected[:4]]


@pytest.mark.parametrize(("name", "options"), [case for case in CASES if case[0] in ABLE])
@pytest.mark.parametrize("n", [0, 1, 5, 33, 300])
def test_an_interval_finds_the_intervals_that_overlap_it_by_score_and_id(name, options, n):
    given = drawn(scaled(n, min(n, 40)), seed=n + 1)
    tree = built(name, given, **options)
    for low in queries()[::5]:
        for high in (low, low + 0.5, low + 3, low + 20, np.inf):
            expected = overlapped(given, low, high)
            assert list(tree.overlap(low, high)) == expected
            assert pairs(tree.overlap_top(low, high, 3)) == expected[:3]
            assert tree.overlap_top_batch([low], [high], 3).rule.tolist() == [i for i, _ in expected[:3]]


numbers = st.sampled_from([-np.inf, -1e308, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1.0, 1.0 + 2**-52, 7.5, 1e308, np.inf])
intervals = st.tuples(numbers, numbers, st.sampled_from([-1.0, 0.0, 0.5, 2.0]), st.booleans(), st.booleans())


@DRAWN
@for_all(st.lists(intervals, max_size=30), numbers, st.integers(0, 5))
def test_the_edges_of_what_a_double_can_be_are_no_edges_of_the_trees(rows, query, k):
    rows = [(min(a, b), max(a, b), score, *is_open) for a, b, score, *is_open in rows]
    columns = list(zip(*rows, strict=True)) if rows else [()] * 5
    given = Drawn(*(np.array(c, t) for c, t in zip(columns, (float, float, float, bool, bool), strict=True)))
    expected = stabbed(given, query)
    for name in STRUCTURES:
        options = {"branching": 2} if name in ("r", "ir", "sopt") else {}
        tree = built(name, given, **options)
        assert list(tree.stab(query)) == expected
        assert pairs(tree.stab_top(query, k)) == expected[:k]


@pytest.mark.parametrize("name", STRUCTURES)
def test_an_iterator_goes_on_where_it_stood(name):
    n = scaled(3000, 100)
    given = drawn(n, seed=5, n_scores=1000)
    tree, expected = built(name, given), stabbed(given, 7.5)
    one, other = tree.stab(7.5), tree.stab(7.5)
    assert list(islice(one, 40)) == expected[:40]
    assert list(islice(other, 3)) == expected[:3]
    assert list(one) == expected[40:]
    assert list(other) == expected[3:]


@pytest.mark.parametrize("name", STRUCTURES)
def test_threads_may_share_a_tree(name):
    given = drawn(300, seed=6)
    tree = built(name, given)
    asked = [query for query in queries() if np.isfinite(query)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda query: pairs(tree.stab_top(query, 9)), asked * 5))
    assert found == [stabbed(given, query)[:9] for query in asked] * 5


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_tree_from_stored_arrays_answers_alike(name):
    tree = built(name, drawn(200, seed=7))
    arrays = tree.arrays()
    again = type(tree).from_arrays(arrays)
    for query in queries():
        assert list(again.stab(query)) == list(tree.stab(query))
    assert all(np.shares_memory(array, arrays[key]) for key, array in again.arrays().items() if array.size)
    del arrays["ids"]
    with pytest.raises(ArtifactError, match="ids"):
        type(tree).from_arrays(arrays)


@pytest.mark.parametrize("name", STRUCTURES)
def test_several_trees_in_the_same_arrays_do_not_mix(name):
    from ruledex.ranked.intervals import closed_intervals, entries_of

    given = drawn(200, seed=8)
    arguments, ends = given.arguments()
    tree_of = np.arange(200) % 3
    tree_of[tree_of == 1] = 2  # the tree in the middle is empty
    forest = STRUCTURES[name].from_entries(entries_of(closed_intervals(*arguments, **ends), tree_of, 3))
    for query in (3.0, 7.5):
        low = np.full(3, query)
        cursors = forest.new_cursors(3, True)
        ids, scores, n_filled = np.zeros((3, 200), np.int32), np.zeros((3, 200)), np.zeros(3, np.int64)
        for n_wanted in (2, 5, 200):  # in steps, each row at its own place
            wanted = np.full(3, n_wanted)
            forest.fill(np.arange(3, dtype=np.int32), low, low, cursors, False, wanted, ids, scores, n_filled)
        for number in range(3):
            expected = [pair for pair in stabbed(given, query) if tree_of[pair[0]] == number]
            assert list(zip(ids[number, : n_filled[number]], scores[number], strict=False)) == expected


@pytest.mark.parametrize("name", STRUCTURES)
def test_queries_that_make_no_sense_are_errors(name):
    tree = built(name, drawn(20, seed=9))
    with pytest.raises(RuledexError, match="not a number"):
        tree.stab_top(np.nan, 1)
    with pytest.raises(RuledexError, match="not a number"):
        tree.stab_top_batch([1.0, np.nan], 1)
    with pytest.raises(RuledexError, match="not a number"):
        next(tree.stab(np.nan))
    with pytest.raises(RuledexError, match="k must be a whole number of at least 0, not -1"):
        tree.stab_top(1.0, -1)
    if tree.can_overlap:
        with pytest.raises(RuledexError, match="above its high end"):
            tree.overlap_top(2.0, 1.0, 1)
        with pytest.raises(RuledexError, match="above its high end"):
            tree.overlap(2.0, 1.0)
        with pytest.raises(RuledexError, match="have a low end"):
            tree.overlap_top_batch([1.0, 2.0], [3.0], 1)
    else:
        for ask in (tree.overlap, lambda *ends: tree.overlap_top(*ends, 1), lambda *e: tree.overlap_top_batch(*e, 1)):
            with pytest.raises(RuledexError, match="ScoredRTree"):
                ask(1.0, 2.0)


@pytest.mark.parametrize("name", STRUCTURES)
def test_an_unknown_option_is_an_error(name):
    with pytest.raises(TypeError, match="colour"):
        built(name, drawn(3, seed=1), colour="red")


@pytest.mark.parametrize(
    ("name", "option"), [("r", "branching"), ("ir", "branching"), ("sopt", "branching"), ("interval", "most_unsplit")]
)
def test_a_node_has_room_for_something(name, option):
    with pytest.raises(RuledexError, match="at least"):
        built(name, drawn(3, seed=1), **{option: 0})


@pytest.mark.parametrize("name", ["interval", "r", "ir", "sopt"])
def test_an_interval_takes_24_bytes_at_the_most_besides_its_score(name):
    n = scaled(20_000, 2000)
    rng = np.random.default_rng(10)
    left = rng.random(n)
    for width in (0.0, 1 / n, 0.5):
        assert STRUCTURES[name].build(left, left + width * rng.random(n), rng.random(n)).n_bytes <= 24 * n
