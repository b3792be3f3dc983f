"""Rules as deep as the parser allows."""

from __future__ import annotations

import pytest

from ruledex import evaluate, parse, score, to_text
from ruledex.language.schema import Schema
from ruledex.language.tree import MAX_DEPTH
from ruledex.program.builder import ProgramBuilder
from ruledex.rewrite.pipeline import match_tree, score_tree


def alternating(depth, words):
    rule = "x0 = 1"
    for level in range(1, depth - 1):
        rule = f"x{level} = 1 {words[level % len(words)]} ({rule})"
    return rule


@pytest.mark.parametrize("words", [("AND", "OR"), ("XOR", "AND"), ("AND NOT", "OR")])
def test_everything_walks_the_deepest_rule(words):
    tree = parse(alternating(MAX_DEPTH - (MAX_DEPTH // 2 if "NOT" in words[0] else 0), words))
    event = {"x0": 1}
    assert parse(to_text(tree)) == tree
    truth = evaluate(tree, event)
    assert (evaluate(score_tree(tree), event) is True) == (truth is True)
    assert score(tree, event) is None or truth
    match_tree(tree)
    builder = ProgramBuilder(Schema())
    builder.add(tree)
    builder.finish()
