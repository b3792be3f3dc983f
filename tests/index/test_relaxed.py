"""Relaxed answers of an index: built, opened, sharded, changed."""

import re
from pathlib import Path

import numpy as np
import pytest

from ruledex.errors import RuledexError
from ruledex.index import Index
from ruledex.index.relaxed import RelaxedViews
from ruledex.language.parser import parse
from tests.index.test_build_join import sharded
from tests.relaxed.reference import relaxed_score

RULES = [
    (10, "country = 'US' AND age BETWEEN 20 AND 30 AND tags = 'sports'^2", 0.0),
    (20, "REQUIRED(country = 'US') AND age > 40", 0.5),
    (30, "(country = 'IN' AND age < 25^3) OR tags = 'news'", 0.0),
    (40, "tags NOT IN ('blocked') AND age > 10", 0.0),
    (50, "age BETWEEN 18 AND 22 AND height BETWEEN 150 AND 160", 1.0),
]
EVENTS = [
    {"country": "US", "age": 21},
    {"country": "IN", "age": 21, "tags": ["news", "blocked"]},
    {"age": 50, "tags": ["sports"]},
    {"height": 155},
    {},
]


def expected(event, k, rules=RULES, weights=None):
    ranked = []
    for rule_id, text, static in rules:
        match = relaxed_score(parse(text), event, weights)
        if match is not None:
            ranked.append((-(static + match), rule_id))
    return [(rule_id, -negative) for negative, rule_id in sorted(ranked)[:k]]


@pytest.fixture(scope="module")
def index():
    return Index.build(RULES)


@pytest.mark.parametrize("k", [0, 1, 2, 9])
def test_the_answer_is_that_of_scoring_every_rule(index, k):
    for event in EVENTS:
        assert index.top(event, k, mode="relaxed") == expected(event, k)
    batch = index.top_batch(EVENTS, k, mode="relaxed")
    assert list(batch) == [[rule_id for rule_id, _ in expected(event, k)] for event in EVENTS]
    assert batch.scores.tolist() == [rank for event in EVENTS for _, rank in expected(event, k)]


def test_a_rule_that_is_true_ranks_as_it_does_in_an_exact_answer(index):
    event = {"country": "US", "age": 25, "tags": "sports"}
    assert set(index.top(event, 9)) <= set(index.top(event, 9, mode="relaxed"))
    assert index.top(event, 1) == index.top(event, 1, mode="exact") == [(10, 4.0)]


def test_the_event_s_weights_count(index):
    weights = {"country": 4.0, "tags": {"news": 8.0}}
    for event in EVENTS:
        assert index.top(event, 9, weights=weights, mode="relaxed") == expected(event, 9, weights=weights)


def test_ranks_are_combined_as_in_an_exact_answer(index):
    event = {"country": "US", "age": 21}
    assert index.top(event, 2, "static", mode="relaxed") == [(50, 1.0), (20, 0.5)]
    assert index.top(event, 2, "product", mode="relaxed") == [(50, 1.0), (20, 0.5)]


def test_an_index_that_was_opened_gives_the_same(index, tmp_path):
    index.save(tmp_path / "rules")
    opened = Index.open(tmp_path / "rules", engine="scan")
    for event in EVENTS:
        assert opened.top(event, 9, mode="relaxed") == expected(event, 9)


def test_an_index_of_several_shards_gives_the_same():
    index = sharded(RULES, 3)
    for event in EVENTS:
        assert index.top(event, 9, mode="relaxed") == expected(event, 9)
        assert index.top(event, 1, mode="relaxed") == expected(event, 1)


def test_changes_count_at_once(tmp_path):
    index = Index.build(RULES)
    index.save(tmp_path / "rules")
    assert index.top(EVENTS[0], 1, mode="relaxed") == expected(EVENTS[0], 1)
    new = [(15, "country = 'US'^9 AND age = 3", 0.0), (60, "REQUIRED(age = 3) AND country = 'US'", 0.0)]
    index.add(new)
    index.remove([10])
    index.set_score(20, 7.0)
    rules = [*new, *((i, text, 7.0 if i == 20 else static) for i, text, static in RULES if i != 10)]
    for event in EVENTS:
        assert index.top(event, 9, mode="relaxed") == expected(event, 9, sorted(rules))
    index.compact()
    for event in EVENTS:
        assert index.top(event, 9, mode="relaxed") == expected(event, 9, sorted(rules))


def test_what_was_made_is_kept_as_long_as_the_rules_are_the_same():
    index = Index.build(RULES)
    views = RelaxedViews()
    first = views.of(index._state, "relaxed")
    assert views.of(index._state, "relaxed") is first
    assert views.of(index._state, "exact") is index._state
    index.add([(99, "age = 1")])
    changed = views.of(index._state, "relaxed")
    assert changed is not first
    assert changed.base.engine is first.engine


def test_string_ids_and_ties_by_them():
    index = Index.build([(name, "a = 1 AND b = 2") for name in ("r10", "r2", "r1")])
    assert index.top({"a": 1}, 2, mode="relaxed") == [("r1", 1.0), ("r10", 1.0)]


def test_an_unknown_mode_is_refused(index):
    with pytest.raises(RuledexError, match="mode is 'loose', but one of exact, relaxed was expected"):
        index.top({}, 1, mode="loose")


def test_a_description_counts_the_rules_that_are_conjunctions_of_ranges(index):
    assert index.describe()["interval_rules"] == 3  # all but the OR and the list that is negated


def test_rules_of_ranges_alone_agree_with_scoring_every_rule():
    rng = np.random.default_rng(7)
    rules = []
    for rule_id in range(300):
        names = rng.choice(["x", "y", "z"], rng.integers(1, 4), replace=False)
        low = rng.integers(0, 50, len(names))
        parts = [
            f"({name} BETWEEN {start} AND {start + rng.integers(0, 20)})^{rng.integers(1, 4)}"
            for name, start in zip(names, low, strict=True)
        ]
        rules.append((rule_id, " AND ".join(parts), 0.0))
    index = Index.build(rules)
    assert index.describe()["interval_rules"] == 300
    for _ in range(20):
        event = {name: int(value) for name, value in zip("xyz", rng.integers(0, 70, 3), strict=True)}
        assert index.top(event, 12, mode="relaxed") == expected(event, 12, rules)


def test_the_example_of_the_page_gives_what_it_says():
    page = (Path(__file__).parents[2] / "docs" / "ranking.md").read_text("utf-8")
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)[1]
    names = {}
    exec(code, names)
    told = [line.split("  # ") for line in code.splitlines() if "  # " in line]
    assert len(told) == 4
    for expression, wanted in told:
        assert repr(eval(expression, names)) == wanted
