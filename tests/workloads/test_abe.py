from __future__ import annotations

import re
from collections import Counter

import pytest

from ruledex.errors import RuledexError
from ruledex.workloads.abe import COMPARISONS, ArbitraryExpressions

from .matching import match_portion

PREDICATE = re.compile(r"a\d+ (?:(NOT IN|IN) \([^)]*\)|(BETWEEN) \d+ AND \d+|(<=|>=|!=|<|>|=) \d+)")


def texts(generator: ArbitraryExpressions, n: int) -> list[str]:
    return [text for _, text in generator.rules(n)]


def predicates(generator: ArbitraryExpressions, n: int) -> list[str]:
    return [found.group(0) for text in texts(generator, n) for found in PREDICATE.finditer(text)]


def structure(text: str) -> str:
    """A rule with its predicates written p."""
    return PREDICATE.sub("p", text)


def test_two_to_three_percent_of_the_default_rules_match_an_event() -> None:
    generator = ArbitraryExpressions(n_expressions=100_000)
    assert 0.02 < match_portion(generator, 500, 60) < 0.035


def test_predicates_are_shared_some_twenty_times_by_default() -> None:
    generator = ArbitraryExpressions(n_expressions=10_000)
    drawn = predicates(generator, 10_000)
    assert len(drawn) / 10_000 == pytest.approx(3.5**2, rel=0.02)
    assert 18 < len(drawn) / len(set(drawn)) < 23


def test_subexpressions_are_shared_some_four_and_a_half_times_by_default() -> None:
    generator = ArbitraryExpressions(n_expressions=10_000, operator_weights=(0.5, 0.5, 0, 0, 0))
    children = [part for text in texts(generator, 10_000) for part in re.split(r"(?<=\)) (?:AND|OR) (?=\(a)", text)]
    assert len(children) == 40_000
    assert 4.2 < len(children) / len(set(children)) < 5.2


def test_a_larger_alpha_shares_more_and_zero_shares_only_by_chance() -> None:
    n_distinct = [
        len(set(predicates(ArbitraryExpressions(n_expressions=3000, alpha=alpha, cardinality=3000), 3000)))
        for alpha in (0.0, 0.2, 0.6, 1.0)
    ]
    assert n_distinct == sorted(n_distinct, reverse=True)
    assert n_distinct[0] > 0.97 * 3000 * 3.5**2


def test_a_tree_has_the_given_depth_and_number_of_children() -> None:
    generator = ArbitraryExpressions(n_expressions=100, depth=3, n_children=3, operator_weights=(1, 0, 0, 0, 0))
    assert {structure(text) for text in texts(generator, 50)} == {" AND ".join(["(p AND p AND p)"] * 3)}


def test_a_rule_of_depth_one_is_a_predicate() -> None:
    assert {structure(text) for text in texts(ArbitraryExpressions(n_expressions=100, depth=1), 50)} == {"p"}


def test_a_deep_tree_is_shared_and_drawn_at_every_depth() -> None:
    generator = ArbitraryExpressions(n_expressions=100, depth=4, n_children=2, operator_weights=(0, 1, 0, 0, 0))
    inner = "((p OR p) OR (p OR p))"
    assert {structure(text) for text in texts(generator, 50)} == {f"{inner} OR {inner}"}


def test_operators_have_their_arity_and_their_portion() -> None:
    generator = ArbitraryExpressions(n_expressions=20_000, depth=2)
    shapes = Counter(structure(text) for text in texts(generator, 20_000))
    assert {shape: count / 20_000 for shape, count in shapes.items()} == pytest.approx(
        {"p AND p AND p AND p": 0.4, "p OR p OR p OR p": 0.4, "NOT p": 0.1, "p XOR p": 0.05, "p XNOR p": 0.05}, abs=0.02
    )


def test_all_comparisons_are_equally_likely() -> None:
    generator = ArbitraryExpressions(alpha=0.0)
    signs = Counter(
        found.lastindex and found.group(found.lastindex)
        for text in texts(generator, 2000)
        for found in PREDICATE.finditer(text)
    )
    assert set(signs) == set(COMPARISONS)
    assert [count / signs.total() for count in signs.values()] == pytest.approx([1 / 9] * 9, rel=0.1)


def test_only_the_comparisons_asked_for_are_drawn() -> None:
    generator = ArbitraryExpressions(alpha=0.0, comparisons=("=", "BETWEEN"))
    assert all(re.fullmatch(r"a\d+ (= \d+|BETWEEN \d+ AND \d+)", text) for text in predicates(generator, 100))


def test_values_and_attributes_stay_in_their_domains_even_when_those_are_tiny() -> None:
    generator = ArbitraryExpressions(n_expressions=500, n_dimensions=2, cardinality=1, event_size=2)
    assert {text.split()[0] for text in predicates(generator, 500)} == {"a0", "a1"}
    assert {number for text in predicates(generator, 500) for number in re.findall(r"\b\d+", text)} == {"0"}
    assert list(generator.events(2)) == [{"a0": 0, "a1": 0}] * 2


def test_an_event_has_exactly_its_size_in_attributes() -> None:
    for event in ArbitraryExpressions().events(200):
        assert len(event) == 20
        assert all(0 <= value < 100 for value in event.values())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"depth": 0}, "depth must be at least 1"),
        ({"n_children": 1}, "n_children must be at least 2"),
        ({"alpha": -0.1}, "alpha must not be negative"),
        ({"alpha": float("nan")}, "alpha must not be negative"),
        ({"event_size": 1001}, "event_size must lie between"),
        ({"operator_weights": (1, 1)}, "operator_weights must be five"),
        ({"operator_weights": (0, 0, 0, 0, 0)}, "not all zero"),
        ({"comparisons": ("~",)}, "comparisons must be some of"),
        ({"comparisons": ()}, "comparisons must be some of"),
        ({"between_portion": 0.0}, "between_portion"),
        ({"predicate_sharing": 0.5}, "predicate_sharing must be at least 1"),
    ],
)
def test_parameters_that_mean_nothing_are_errors(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(RuledexError, match=message):
        ArbitraryExpressions(**parameters)
