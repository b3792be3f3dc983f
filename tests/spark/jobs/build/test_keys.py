"""A rule's number depends on the rule alone."""

from __future__ import annotations

import numpy as np
import pytest

from ruledex import Schema
from ruledex.index.build import build_program
from ruledex.spark.jobs.build.keys import RULE_BITS, keys_of
from ruledex.workloads import workload
from tests.index.samples import every_kind

LARGE = "9007199254740993"  # as a double it is the integer before it


def keys(texts):
    program, dictionary, faults = build_program(texts, np.zeros(len(texts)), Schema())
    assert not faults
    return keys_of(program, dictionary).tolist()


@pytest.mark.parametrize("name", ["abe", "advertising", "exchange", "intervals", "demo", "every kind"])
def test_it_is_the_same_in_whatever_company(name):
    if name == "every kind":
        texts = [text for _, text in every_kind()[0]]
    else:
        texts = workload(name, seed=7).rule_table(400)["expr"].to_pylist()
    together = keys(texts)
    assert [keys([text])[0] for text in texts] == together
    order = np.random.default_rng(1).permutation(len(texts))
    assert keys([texts[at] for at in order]) == [together[at] for at in order]


def test_constants_that_others_name_do_not_change_it():
    texts = ["x > 10 AND x < 20", f"x = {LARGE}", "x IN (1, 2.50)", "NOT x BETWEEN 5 AND 7", "x IS NULL OR x != 15"]
    others = ["x = 15", "x > 12.5", "x = 9007199254740992", "x < 1e3", "x = 2.5", "x = 'a'", "x LIKE 'b%'"]
    assert keys(texts + others)[: len(texts)] == keys(texts)


def test_parts_that_others_share_do_not_change_it():
    texts = ["a = 1 AND b = 2 AND c = 3 AND d = 4", "(a = 1 OR b = 2 OR c = 3) AND d = 4"]
    others = ["b = 2 AND c = 3", "a = 1 OR b = 2", "b = 2 AND c = 3 AND e = 1"]
    assert keys(texts + others)[: len(texts)] == keys(texts)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("a = 1 AND b = 2", "b = 2 AND a = 1"),
        ("NOT (a = 1 OR b = 2)", "b != 2 AND a != 1"),
        ("a IN (1, 2)", "a IN (2, 1)"),
        ("a = 1 XOR b = 2", "b = 2 XOR a = 1"),
        ("a = 1^3", "a = 1"),
        ("TRUE", "a = 1 OR TRUE"),
    ],
)
def test_equal_conditions_have_one_number(left, right):
    assert keys([left]) == keys([right])


def test_rules_that_look_at_the_same_attributes_are_neighbours():
    texts = ["age > 3 AND country = 'IN'", "country != 'US' AND age < 90 AND zone = 1", "age > 3", "country = 'IN'"]
    buckets = [key >> RULE_BITS for key in keys(texts)]
    assert buckets[0] == buckets[1]
    assert len({*buckets}) == 3
    assert buckets[0] >> 8 == buckets[2] >> 8  # the first attribute comes first


def test_different_conditions_on_the_same_attributes_spread():
    texts = [f"a = {i} AND b > {i}" for i in range(3000)]
    found = keys(texts)
    assert len({key >> RULE_BITS for key in found}) == 1
    counts = np.bincount([key % 16 for key in found], minlength=16)
    assert counts.min() > 3000 / 16 / 2


@pytest.mark.parametrize(
    ("left", "right"),
    [("a > 1", "a >= 1"), ("a = 1", "a != 1"), ("a = 1 AND b = 2", "a = 1 OR b = 2"), ("a = 1", "a = '1'")],
)
def test_conditions_that_differ_a_little_have_different_numbers(left, right):
    assert keys([left]) != keys([right])


def test_no_rules_have_no_numbers():
    assert keys([]) == []
