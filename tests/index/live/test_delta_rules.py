"""The arrays of a delta: all of them move together."""

from __future__ import annotations

import numpy as np

from ruledex.index.live.delta import DeltaRules


def rules_of(*ids):
    array = np.array(ids, object if isinstance(ids[0], str) else np.int64)
    numbers = np.arange(len(ids))
    return DeltaRules(array, numbers * 10, numbers / 2, numbers.astype(np.int32) + 5, numbers + 100)


def test_others_come_between_in_the_order_of_ids():
    both = rules_of(1, 5, 9).merge(rules_of(0, 6, 7, 12))
    assert both.ids.tolist() == [0, 1, 5, 6, 7, 9, 12]
    assert both.before.tolist() == [0, 0, 10, 10, 20, 20, 30]
    assert both.scores.tolist() == [0, 0, 0.5, 0.5, 1, 1, 1.5]
    assert both.tree_positions.tolist() == [5, 5, 6, 6, 7, 7, 8]
    assert both.entries.tolist() == [100, 100, 101, 101, 102, 102, 103]
    assert [array.dtype for array in both] == [array.dtype for array in rules_of(1)]


def test_some_go():
    rest = rules_of("a", "b", "c").drop([0, 2])
    assert (rest.ids.tolist(), rest.tree_positions.tolist(), rest.ids.dtype) == (["b"], [6], object)


def test_nothing_joined_with_ids_of_strings_has_ids_of_strings():
    assert DeltaRules.empty().merge(rules_of("b")).ids.tolist() == ["b"]


def test_scores_change_in_another_one():
    before = rules_of(1, 2, 3)
    assert before.replace_scores([(0, 9.0), (2, 8.0)]).scores.tolist() == [9, 0.5, 8]
    assert before.scores.tolist() == [0, 0.5, 1]
