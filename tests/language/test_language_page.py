"""The rules in docs/language.md are valid, and its statements hold."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from ruledex.errors import RuleSyntaxError
from ruledex.language.parser import parse
from ruledex.language.scanner import MAX_DIGITS
from ruledex.language.schema import TYPES, Schema
from ruledex.language.text import tree_text
from ruledex.language.tree import MAX_DEPTH
from ruledex.limits import Limits

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "language.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


RULES = [line for block in blocks("ruledex") for line in block.splitlines()]


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_of_the_page_is_read_and_printed(rule):
    tree = parse(rule)
    assert parse(tree_text(tree)) == tree


def test_the_page_has_the_rules_that_this_reads():
    assert len(RULES) > 40


def test_precedence_is_as_the_page_says():
    assert parse("NOT a AND b OR c") == parse("((NOT a) AND b) OR c")
    assert parse("a XOR b AND c") == parse("a XOR (b AND c)")


def test_the_schema_of_the_page_is_one():
    (declared,) = blocks("toml")
    schema = Schema.of_mapping(tomllib.loads(declared))
    assert set(schema.attributes) == {"age", "tags", "device.os"}
    assert all(f"`{name}`" in PAGE for name in TYPES)


def test_the_error_of_the_page_is_the_one_that_is_shown():
    (shown,) = blocks("text")
    with pytest.raises(RuleSyntaxError) as caught:
        parse("age BETWEN 18 AND 35")
    assert str(caught.value) == shown.rstrip("\n")


def test_limits_are_as_the_page_says():
    assert (Limits().rule_characters, MAX_DEPTH, MAX_DIGITS) == (16 * 2**20, 256, 38)
