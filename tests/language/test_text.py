"""A tree as text, and back."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from ruledex.language.parser import parse
from ruledex.language.text import to_text
from tests.strategies import trees, wild_trees

REPRODUCIBLE = settings(derandomize=True, deadline=None, max_examples=400, suppress_health_check=[HealthCheck.too_slow])


@REPRODUCIBLE
@given(wild_trees(3))
def test_the_text_of_any_tree_is_read_as_the_same_tree(tree):
    assert parse(to_text(tree)) == tree


@REPRODUCIBLE
@given(trees(4))
def test_the_text_of_a_deep_tree_is_read_as_the_same_tree(tree):
    assert parse(to_text(tree)) == tree
