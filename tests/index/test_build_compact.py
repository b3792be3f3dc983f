"""A compacted index is what a build of the same rules gives."""

from __future__ import annotations

import pytest

from ruledex import Schema
from ruledex.index import Index
from ruledex.index.build import all_rules
from tests.index.samples import every_kind

pytestmark = pytest.mark.filterwarnings("ignore::ruledex.errors.RuledexWarning")  # bytes among the sample events


@pytest.mark.parametrize("of_strings", [False, True], ids=["integers", "strings"])
def test_all_rules_are_there_in_the_order_of_ids_with_their_scores(of_strings):
    rules, _ = every_kind()
    rules = [(f"{i:03}" if of_strings else i, text, i / 2) for i, text in rules]
    index = Index.build(rules[::2], "scan")
    index.add(rules[1::2])
    index.remove([rules[0][0], rules[3][0]])
    index.set_score(rules[2][0], 77.0)
    index.set_score(rules[5][0], 78.0)
    index.update([(rules[4][0], "a = 1", 79.0)])
    wanted = {rule[0]: rule[1:] for rule in rules}
    del wanted[rules[0][0]], wanted[rules[3][0]]
    wanted[rules[2][0]] = (rules[2][1], 77.0)
    wanted[rules[5][0]] = (rules[5][1], 78.0)
    wanted[rules[4][0]] = ("a = 1", 79.0)
    read = all_rules(index._state)
    pairs = zip(read.texts.to_pylist(), read.scores.tolist(), strict=True)
    assert dict(zip(read.ids.to_pylist(), pairs, strict=True)) == wanted
    assert read.ids.to_pylist() == sorted(wanted)


def test_a_compacted_index_is_the_version_that_a_build_gives(tmp_path):
    schema = Schema.of_mapping({"attributes": {"x": {"type": "any", "single": True}}})
    rules, events = every_kind()
    Index.build(rules[:-9], "sparse", schema=schema).save(tmp_path / "changed")
    index = Index.open(tmp_path / "changed")
    index.add(rules[-9:])
    index.remove([rules[1][0]])
    version = index.compact()
    whole = Index.build([rules[0], *rules[2:]], "sparse", schema=schema)
    assert whole.save(tmp_path / "built") == version
    assert list(index.match_batch(events)) == list(whole.match_batch(events))


def test_a_sample_of_events_changes_no_answer(tmp_path):
    rules, events = every_kind()
    index = Index.build(rules[::2], "sparse")
    index.add(rules[1::2])
    wanted = list(index.match_batch(events))
    index.compact(stats=events)
    assert list(index.match_batch(events)) == wanted


def test_an_index_without_any_rules_left_can_be_compacted(tmp_path):
    Index.build([(1, "a = 1")], "scan").save(tmp_path)
    index = Index.open(tmp_path)
    index.remove([1])
    index.compact()
    assert (len(index), len(Index.open(tmp_path)), index.match({"a": 1})) == (0, 0, [])
    index.add([("x", "a = 1")])
    index.compact()
    assert (Index.open(tmp_path).match({"a": 1}), index.id_kind) == (["x"], "string")
