"""A layer of a delta: what is taken from it is gone from another one, over the same rules."""

from __future__ import annotations

import numpy as np
import pytest

from ruledex import Schema, parse
from ruledex.errors import RulesError
from ruledex.index.delta_layer import FEW_TREES, Layer
from ruledex.index.program_of import build_program

SCHEMA = Schema()


def texts_of(n_rules):
    return [f"a > {number} OR b IS NULL AND c LIKE '%{number}'" for number in range(n_rules)]


def layer_of(n_rules, **parsed):
    return Layer.of(SCHEMA, np.arange(n_rules), texts_of(n_rules), np.arange(1.0, n_rules + 1), **parsed)


def test_a_layer_loses_rules_and_changes_scores_without_touching_the_one_before():
    whole = layer_of(3)
    less = whole.without([1]).with_scores([0], [9.0])
    batch = whole.encoder.encode_one({"a": 5})
    assert (whole.mask(), whole.n_alive, less.n_alive) == (None, 3, 2)
    assert whole.engine.match(batch, whole.mask()).rule.tolist() == [0, 1, 2]
    assert less.engine.match(batch, less.mask()).rule.tolist() == [0, 2]
    assert (whole.scores.array.tolist(), less.scores.array.tolist()) == ([1, 2, 3], [9, 2, 3])
    assert less.engine is whole.engine


@pytest.mark.parametrize("n_rules", [1, FEW_TREES, FEW_TREES + 1, 40])
def test_rules_answer_the_same_parsed_and_compiled(n_rules):
    texts = texts_of(n_rules)
    parsed = layer_of(n_rules, trees=[parse(text) for text in texts])
    built = layer_of(n_rules, built=build_program(texts, np.zeros(n_rules), SCHEMA))
    plain = layer_of(n_rules)
    for event in ({"a": 3}, {"b": 1, "c": "x7"}, {"c": "x7", "a": -1}, {"a": [0, 9], "b": 2}, {}):
        expected = built.rules.match_one(event, None)
        mask = np.arange(n_rules, dtype=np.uint8) % 2
        for layer in (parsed, plain):
            assert list(layer.rules.match_one(event, None)) == expected
            assert list(layer.rules.match_one(event, mask)) == [rule for rule in expected if rule % 2]


def test_a_layer_is_compiled_once_and_for_all_that_share_its_rules():
    whole = layer_of(3)
    compiled = whole.without([0]).rules.compile()
    assert whole.rules.compile() is compiled


def test_a_text_that_is_no_rule_is_an_error_that_names_it():
    layer = Layer.of(SCHEMA, np.array([7, 8]), ["a = 1", "a ="], np.zeros(2))
    with pytest.raises(RulesError, match="rule 8"):
        layer.rules.compile()
