"""A layer of a delta: what is taken from it is gone from another one, over the same arrays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ruledex import Schema
from ruledex.index.delta_layer import Layer
from ruledex.index.program_of import build_program


def test_a_layer_loses_rules_and_changes_scores_without_touching_the_one_before():
    texts = pa.array(["a > 0", "a > 1", "a > 2"], pa.large_string())
    built = build_program(texts, np.array([1.0, 2.0, 3.0]), Schema())
    whole = Layer.of(built.program, built.dictionary, texts)
    less = whole.without([1]).with_scores([0], [9.0])
    batch = whole.encoder.encode_one({"a": 5})
    assert (whole.mask(), whole.n_alive, less.n_alive) == (None, 3, 2)
    assert whole.engine.match(batch, whole.mask()).rule.tolist() == [0, 1, 2]
    assert less.engine.match(batch, less.mask()).rule.tolist() == [0, 2]
    assert (whole.scores.array.tolist(), less.scores.array.tolist()) == ([1, 2, 3], [9, 2, 3])
    assert less.engine is whole.engine
