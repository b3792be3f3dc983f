"""Versions in Maven's order: the examples of its documentation, and as constants of rules everywhere."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from ruledex import Index
from ruledex.engines.registry import PLACES
from ruledex.errors import RuleTypeError
from ruledex.language.parser import parse
from ruledex.language.reference import truth_of
from ruledex.language.structured import from_structured, to_structured
from ruledex.language.text import tree_text
from ruledex.language.value_types import MavenVersion

EQUAL = [
    ("1", "1.0", "1.0.0", "1-0", "1.0-0", "1.ga", "1-ga", "1-GA", "1.final", "1-Release", "1.", "1-", "01"),
    ("1.0.0-foo.0.0", "1-foo", "1.foo", "1foo", "1.0.0Foo", "1.0.0.foo"),
    ("1-a1", "1-alpha-1", "1alpha1", "1.0.A1"),
    ("1-b2", "1-beta-2"),
    ("1m3", "1-milestone-3", "1MileStone3"),
    ("1-rc", "1cr", "1-CR"),
    ("1-1.foo-bar1baz-.1", "1-1.foo-bar-1-baz-0.1"),
    ("1-ga-1", "1-1", "1.0-1"),
    ("", "0", "0.0", "ga"),
]
ASCENDING = [
    # The order of qualifiers, and of numbers after a hyphen and after a dot.
    ("1-alpha-1-snapshot", "1-alpha-1", "1-alpha-20", "1-beta", "1-beta3", "1-m1", "1-milestone-12", "1-rc", "1-cr1"),
    ("1-rc12", "1-snapshot", "1", "1-sp", "1-sp3", "1-apple", "1-pear-2", "1-2-rc", "1-2", "1-30", "1.1"),
    ("3.0", "3.0.x", "3-4", "3.0.5", "3.0.40", "3.1.0", "3.1-x", "3.1y", "3.1-9", "3.1.0.7", "3.2", "3.20"),
    ("4.a3", "4.a10", "4.b1", "4.m1", "4", "4.a", "4b"),  # letters with a digit, and without
    ("1", "1.1"),
    ("1-snapshot", "1", "1-sp"),
    ("1-foo2", "1-foo10"),
    ("1.foo", "1-1", "1.1"),
    ("1-ga.1", "1-sp.1"),
    ("1-sp-1", "1-ga-1"),
    ("1.0.RC2", "1.0-RC3", "1.0.1"),
    ("6.1.0rc3", "6.1.0", "6.1H.5-beta"),
    ("20240101.1", "9876543210.1", "98765432109876.x", "987654321098765432109.x"),
    ("1-0.alpha", "1-0.beta", "1"),
    ("aardvark", "zebra", "ζέβρα", "7"),
    ("\u0668", "1"),
    ("0.2", "0.7", "1.0.7", "2"),
]


@pytest.mark.parametrize("versions", EQUAL, ids=lambda versions: versions[0])
def test_what_the_documentation_calls_equal_is_equal(versions):
    assert len({MavenVersion(text).key for text in versions}) == 1


@pytest.mark.parametrize("versions", ASCENDING, ids=lambda versions: versions[0])
def test_what_the_documentation_calls_less_is_less(versions):
    for low, high in pairwise(map(MavenVersion, versions)):
        assert low < high, (low, high)
        assert low != high


def drawn(random: Random) -> str:
    pieces = ("0", "1", "2", "10", ".", ".", "-", "a", "alpha", "rc", "SNAPSHOT", "sp", "ga", "x", "final", "007")
    return "".join(random.choice(pieces) for _ in range(random.randint(1, 7)))


RANDOM = Random(11)
NEGATIONS, COMPARISONS = ("", "", "", "NOT "), ("=", "<", "<=", ">", ">=")
RULES = [
    (number, f"{RANDOM.choice(NEGATIONS)}maven_version(v) {RANDOM.choice(COMPARISONS)} '{drawn(RANDOM)}'")
    for number in range(40)
]
EVENTS: list[dict[str, Any]] = [{"v": drawn(RANDOM)} for _ in range(40)] + [
    {},
    {"v": None},
    {"v": ["1-rc1", "2"]},
    {"v": []},
]


@pytest.mark.parametrize("engine", list(PLACES))
def test_every_engine_orders_them_as_the_reference_does(engine, tmp_path):
    expected = [[number for number, rule in RULES if truth_of(parse(rule), event) is True] for event in EVENTS]
    Index.build(RULES[:25], engine=engine).save(tmp_path)
    index = Index.open(tmp_path)
    index.add(RULES[25:])
    assert [index.match(event) for event in EVENTS] == expected
    table = pa.table({"v": pa.array([event.get("v") for event in EVENTS[:40]])})
    assert [list(found) for found in index.match_batch(table)] == expected[:40]
    index.compact()
    assert [index.match(event) for event in EVENTS] == expected


def test_they_are_written_and_read_in_both_forms():
    for rule in ("maven_version(v) IN ('1.0-rc1', '2')", "maven_version(v) BETWEEN '1-a1' AND '1'"):
        tree = parse(rule)
        assert parse(tree_text(tree)) == tree
        assert from_structured(to_structured(tree)) == tree
    constant = {"maven_version": "1-rc1"}
    written = {
        "op": "=",
        "operand": {"function": "maven_version", "arguments": [{"attribute": "v"}]},
        "value": constant,
    }
    assert to_structured(from_structured(written)) == written


def test_they_do_not_compare_with_other_versions():
    for rule in ("maven_version(a) = version(b)", "maven_version(a) = 1"):
        with pytest.raises(RuleTypeError, match="Maven version"):
            parse(rule)
    assert "1-rc1" in str(Index.build([(1, "maven_version(a) < '1'")]).explain(1, {"a": "1-rc1"}))
