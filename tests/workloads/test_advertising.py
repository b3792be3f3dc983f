from __future__ import annotations

import re
from itertools import pairwise

import pytest

from ruledex.errors import RuledexError
from ruledex.workloads.advertising import AdvertisingContracts

from .matching import match_portion

PREDICATE = re.compile(r"(k\d+) (NOT IN|IN) (\([^)]*\))")
MONTH = re.compile(r"month = '(2009-\d\d)'")


def conjunctions(text: str) -> list[list[tuple[str, str, str]]]:
    """The predicates of each conjunction of a DNF rule, without the month."""
    return [PREDICATE.findall(part) for part in text.split(" OR ")]


def dnf_rules(n: int, **parameters: object) -> list[str]:
    return [text for _, text in AdvertisingContracts(**parameters).rules(n)]


def test_sizes_of_conjunctions_and_assignments_are_those_of_table_1() -> None:
    rules = [conjunctions(text) for text in dnf_rules(8000)]
    sizes = [len(conjunction) for rule in rules for conjunction in rule]
    assert sum(sizes) / len(sizes) == pytest.approx(2.65, rel=0.03)
    keys = [len(event) - 1 for event in AdvertisingContracts().events(2000)]
    assert sum(keys) / len(keys) == pytest.approx(91, rel=0.02)


@pytest.mark.parametrize(("exponent", "mean"), [(3.0, 1.6), (2.5, 2.3), (2.0, 3.5)])
def test_the_exponent_gives_the_published_mean_number_of_conjunctions(exponent: float, mean: float) -> None:
    counts = [text.count("month") for text in dnf_rules(8000, size_exponent=exponent)]
    assert sum(counts) / len(counts) == pytest.approx(mean, rel=0.05)
    assert max(counts) <= 20


def test_a_tenth_of_the_predicates_are_not_in() -> None:
    signs = [sign for text in dnf_rules(4000) for _, sign, _ in PREDICATE.findall(text)]
    assert signs.count("NOT IN") / len(signs) == pytest.approx(0.1, rel=0.1)


def test_no_conjunction_names_an_attribute_twice() -> None:
    for text in dnf_rules(4000, n_attributes=12, mean_keys=5):
        for conjunction in conjunctions(text):
            assert len({attribute for attribute, _, _ in conjunction}) == len(conjunction)


def test_all_conjunctions_of_a_rule_have_the_same_month() -> None:
    for text in dnf_rules(1000):
        months = MONTH.findall(text)
        assert len(months) == len(conjunctions(text))
        assert len(set(months)) == 1


def test_a_cnf_has_its_month_once_and_predicates_joined_by_or() -> None:
    for text in dnf_rules(1000, form="cnf"):
        assert len(MONTH.findall(text)) == 1
        for disjunction in text.split(" AND ")[:-1]:
            rest = PREDICATE.sub("p", disjunction)
            assert rest == "p" or re.fullmatch(r"\(p( OR p)+\)", rest)


def test_copying_all_from_the_one_before_copies_what_fits_and_no_copying_copies_next_to_nothing() -> None:
    def copied(text: str) -> list[int]:
        return [len(set(before) & set(after)) for before, after in pairwise(conjunctions(text))]

    for text in dnf_rules(500, copied_portion=1.0, copy_probability=1.0):
        sizes = [len(conjunction) for conjunction in conjunctions(text)]
        assert all(shared >= min(pair) for shared, pair in zip(copied(text), pairwise(sizes), strict=True))
    chance = [shared for text in dnf_rules(2000, copy_probability=0.0) for shared in copied(text)]
    default = [shared for text in dnf_rules(2000) for shared in copied(text)]
    assert sum(chance) / len(chance) < 0.1
    assert sum(default) / len(default) > 0.5


def test_with_one_month_some_twelve_percent_of_dnf_rules_match() -> None:
    assert 0.09 < match_portion(AdvertisingContracts(n_months=1), 400, 40) < 0.15


def test_more_months_divide_the_matches() -> None:
    assert match_portion(AdvertisingContracts(n_months=12), 500, 30) < 0.025


def test_weak_not_in_is_written_with_is_null() -> None:
    (strong, weak) = (dnf_rules(200, weak_not_in=weak) for weak in (False, True))
    assert not any("IS NULL" in text for text in strong)
    assert [re.sub(r"\((k\d+) IS NULL OR (\1 NOT IN \([^)]*\))\)", r"\2", text) for text in weak] == strong


def test_weights_stand_on_values_of_in_only_and_lie_between_zero_and_one() -> None:
    weights = []
    for text in dnf_rules(500, weighted=True):
        for _, sign, values in PREDICATE.findall(text):
            found = re.findall(r"\^(\d\.\d+)", values)
            assert len(found) == (values.count("'v") if sign == "IN" else 0)
            weights += [float(weight) for weight in found]
    assert all(0 <= weight <= 1 for weight in weights)
    assert len(set(weights)) > 100


def test_event_weights_name_the_attributes_of_the_same_events() -> None:
    generator = AdvertisingContracts(n_attributes=100, mean_keys=10)
    events, weights = list(generator.events(50)), list(generator.event_weights(50))
    assert [list(event) for event in events] == [list(weight) for weight in weights]
    assert all(0 <= number < 1 for weight in weights for number in weight.values())
    assert list(generator.event_weights(10)) == weights[:10]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"form": "xnf"}, "form must be dnf or cnf"),
        ({"copied_portion": 1.5}, "copied_portion must lie in"),
        ({"n_months": 13}, "n_months must lie between 1 and 12"),
        ({"n_attributes": 3}, "n_attributes must be at least"),
        ({"mean_keys": 2000}, "mean_keys must lie between"),
        ({"predicate_weights": ()}, "predicate_weights must be weights"),
        ({"max_groups": 0}, "max_groups must be at least 1"),
        ({"n_sets": 0}, "n_sets must be at least 1"),
        ({"size_exponent": -1}, "size_exponent must not be negative"),
    ],
)
def test_parameters_that_mean_nothing_are_errors(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(RuledexError, match=message):
        AdvertisingContracts(**parameters)
