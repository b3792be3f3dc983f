from __future__ import annotations

import re
from collections import Counter

import pytest

from ruledex.errors import RuledexError
from ruledex.workloads.exchange import ExchangeContracts

from .matching import match_portion

PREDICATE = re.compile(r"k\d+ IN \([^)]*\)")


def structures(n: int, **parameters: object) -> list[str]:
    """Rules with their predicates written p."""
    generator = ExchangeContracts(**parameters)
    return [PREDICATE.sub("p", text) for _, text in generator.rules(n)]


SINGLE = {"predicate_weights": (1.0,), "children_weights": (0.0, 1.0)}


def test_levels_alternate_between_and_and_or() -> None:
    assert set(structures(20, max_depth=1, **SINGLE)) == {"p AND p"}
    assert set(structures(20, max_depth=2, **SINGLE)) == {"(p OR p) AND (p OR p)"}
    inner = "((p AND p) OR (p AND p))"
    assert set(structures(20, max_depth=3, **SINGLE)) == {f"{inner} AND {inner}"}


def test_depth_zero_is_a_conjunction() -> None:
    assert set(structures(50, min_depth=0, max_depth=0, predicate_weights=(0.0, 0.0, 1.0))) == {"p AND p AND p"}


def test_conjunctions_are_parenthesised_below_a_node_and_single_children_are_not_twice() -> None:
    pairs = structures(20, max_depth=1, predicate_weights=(0.0, 1.0), children_weights=(0.0, 1.0))
    assert set(pairs) == {"(p AND p) AND (p AND p)"}
    chains = structures(20, max_depth=4, predicate_weights=(0.0, 1.0), children_weights=(1.0,))
    assert set(chains) == {"(p AND p)"}


def test_the_number_of_children_follows_its_weights() -> None:
    counts = Counter(text.count("p") for text in structures(20_000, max_depth=1, predicate_weights=(1.0,)))
    portions = {n: count / 20_000 for n, count in counts.items()}
    assert portions == pytest.approx({1: 0.05, 2: 0.7, 3: 0.2, 4: 0.05}, abs=0.01)


def test_nodes_end_early_between_the_two_depths_only() -> None:
    shapes = set(structures(2000, min_depth=1, max_depth=2, leaf_probability=0.5, **SINGLE))
    assert shapes == {"p AND p", "p AND (p OR p)", "(p OR p) AND p", "(p OR p) AND (p OR p)"}
    assert set(structures(200, min_depth=2, max_depth=2, leaf_probability=1.0, **SINGLE)) == {"(p OR p) AND (p OR p)"}


def test_no_conjunction_names_an_attribute_twice() -> None:
    generator = ExchangeContracts(n_attributes=6, mean_keys=3, min_depth=0, max_depth=0)
    for _, text in generator.rules(2000):
        attributes = re.findall(r"k\d+", text)
        assert len(set(attributes)) == len(attributes)


def test_the_portion_of_matches_falls_and_rises_with_the_depth_as_published() -> None:
    portions = [match_portion(ExchangeContracts(max_depth=depth), 100, 20) for depth in (1, 2, 3, 4)]
    assert portions[0] < portions[1]
    assert portions[2] < portions[3]
    assert portions[2] < portions[0]
    assert 0.1 < portions[0] < 0.3
    assert 0.35 < portions[1] < 0.65


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"min_depth": 3}, "min_depth must lie between 0 and max_depth = 2"),
        ({"children_weights": (0.0,)}, "children_weights must be weights"),
        ({"leaf_probability": 2.0}, "leaf_probability must lie in"),
        ({"n_attributes": 2}, "n_attributes must be at least"),
        ({"mean_keys": -1}, "mean_keys must lie between"),
        ({"n_sets": 0}, "n_sets must be at least 1"),
        ({"value_exponent": -1}, "value_exponent must not be negative"),
    ],
)
def test_parameters_that_mean_nothing_are_errors(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(RuledexError, match=message):
        ExchangeContracts(**parameters)
