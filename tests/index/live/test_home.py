"""The home of an index in memory: changes during a compaction are kept."""

from __future__ import annotations

from ruledex.index import Index
from ruledex.index.build import compact_state
from tests.index.live.model import Model, assert_same

RULES = [(1, "a = 1"), (2, "a = 2", 2.0)]


def test_changes_during_a_compaction_are_kept():
    index = Index.build(RULES, "scan")
    index.add([(3, "a > 0")])
    home = index._home
    state = home.begin(index._state)
    index.remove([1, 3])
    index.add([(3, "b = 1"), (4, "a = 2")])
    index._state = home.finish(home.stage(compact_state(state, None, None)))
    assert_same(index, Model([RULES[1], (3, "b = 1"), (4, "a = 2")]), [{"a": 2, "b": 1}, {"a": 1}])
    assert index.describe()["changes"]["removed"] == 2


def test_a_compacted_index_is_as_if_it_had_been_built():
    index = Index.build(RULES, "scan")
    index.add([(3, "a > 0")])
    assert index.compact() is None
    assert index.describe()["changes"] == {"added": 0, "removed": 0}
    assert index.describe() == Index.build([*RULES, (3, "a > 0")], "scan").describe()


def test_a_fold_that_was_given_up_is_forgotten():
    index = Index.build(RULES, "scan")
    index.add([(3, "a > 0")])
    index._home.begin(index._state)
    index.remove([1])
    index._home.discard(None)
    index.add([(4, "a > 0")])
    index.compact()
    assert [rule_id for rule_id, _ in index] == [2, 3, 4]
