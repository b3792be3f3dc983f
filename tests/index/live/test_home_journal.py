"""An index in a folder: what was acknowledged is there for all who open it, also after a compaction."""

from __future__ import annotations

import pytest

from ruledex.artifact import collect_garbage, list_versions, publish_existing, verify
from ruledex.errors import ArtifactError, RulesError
from ruledex.index import Index
from ruledex.index.build import compact_state
from ruledex.index.live.home import JournalHome
from tests.index.live.model import Model, assert_same

RULES = [(1, "a = 1"), (2, "a = 2", 2.0), (4, "b = 'x'")]
EVENTS = [{"a": 1}, {"a": 2, "b": "x"}, {}]


@pytest.fixture
def root(tmp_path):
    Index.build(RULES, "sparse").save(tmp_path / "index")
    return tmp_path / "index"


def journals(root):
    return sorted(path.name for path in (root / "journal").iterdir() if path.name != "LOCK")


def test_changes_are_there_after_opening(root):
    index = Index.open(root)
    index.add([(3, "a > 0", 1.0)])
    index.set_score(1, 5.0)
    index.remove([4])
    index.update([(2, "b = 'x'", 3.0)])
    model = Model([(1, "a = 1", 5.0), (3, "a > 0", 1.0), (2, "b = 'x'", 3.0)])
    assert_same(index, model, EVENTS)
    opened = Index.open(root)
    assert_same(opened, model, EVENTS)
    assert_same(Index.open(root, engine="scan"), model, EVENTS)
    assert opened.describe()["changes"]["journal_records"] == 4
    assert journals(root) == [index.version]


def test_a_saved_index_keeps_its_changes_too(tmp_path):
    index = Index.build(RULES, "scan")
    index.add([(3, "a > 0")])
    index.save(tmp_path)
    assert index.describe()["changes"]["added"] == 0
    index.remove([1])
    assert [rule_id for rule_id, _ in Index.open(tmp_path)] == [2, 3, 4]


def test_a_version_that_is_asked_for_is_as_it_was_published(root):
    index = Index.open(root)
    index.remove([1])
    assert_same(Index.open(root, index.version), Model(RULES), EVENTS)


def test_what_is_refused_leaves_nothing_in_the_journal(root):
    index = Index.open(root)
    with pytest.raises(RulesError):
        index.add([(3, "a ="), (5, "a = 1")])
    assert journals(root) == []
    assert_same(Index.open(root), Model(RULES), EVENTS)


def test_nothing_to_change_leaves_no_journal(root):
    index = Index.open(root)
    assert (index.add([]), index.update([]), index.remove([])) == (0, 0, 0)
    assert journals(root) == []


def test_a_compaction_of_an_index_that_was_refreshed_meanwhile_is_given_up(root, monkeypatch):
    index = Index.open(root)
    index.add([(3, "a > 0")])
    stage = JournalHome.stage

    def publish_and_refresh(self, compacted):
        staged = stage(self, compacted)
        Index.build([(9, "a = 1")], "scan").save(root)
        index.refresh()
        return staged

    monkeypatch.setattr(JournalHome, "stage", publish_and_refresh)
    with pytest.raises(ArtifactError, match="meanwhile"):
        index.compact()
    assert list(Index.open(root)) == list(index) == [(9, "a = 1")]
    assert list((root / "staging").iterdir()) == []


def test_two_who_have_it_open_see_each_other_s_changes(root):
    one, two = Index.open(root), Index.open(root)
    one.add([(3, "a > 0")])
    assert two.match({"a": 1}) == [1]
    with pytest.raises(RulesError, match="in the index already"):
        two.add([(3, "a = 2")])
    two.add([(5, "a = 1")])
    assert two.match({"a": 1}) == [1, 3, 5]
    assert one.match({"a": 1}) == [1, 3]
    assert (one.refresh(), one.refresh()) == (True, False)
    assert one.match({"a": 1}) == [1, 3, 5]


def test_a_compaction_is_a_new_version_without_a_journal(root):
    index, other = Index.open(root), Index.open(root)
    first = index.version
    index.add([(3, "a > 0", 1.0)])
    index.remove([1])
    model = Model([*RULES[1:], (3, "a > 0", 1.0)])
    version = index.compact()
    assert version == index.version != first
    assert (index.engine, journals(root)) == ("sparse", [])
    for opened in (index, Index.open(root), Index.open(root, version)):
        assert_same(opened, model, EVENTS)
    assert Index.build([(3, "a > 0", 1.0), *RULES[1:]], "sparse").save(root.parent / "built") == version
    assert other.refresh() is True
    assert_same(other, model, EVENTS)
    assert verify(root).ok
    assert list((root / "staging").iterdir()) == []
    assert index.compact() == version


def test_the_journal_of_a_version_that_was_compacted_is_not_applied_again(root):
    index = Index.open(root)
    first = index.version
    index.remove([1])
    index.compact()
    publish_existing(root, first)
    assert_same(Index.open(root), Model(RULES), EVENTS)


def test_changes_that_come_while_a_version_is_compacted_are_carried_over(root):
    index, other = Index.open(root), Index.open(root)
    index.add([(3, "a > 0")])
    home = index._home
    state = home.begin(index._state)
    index.add([(5, "a = 1")])
    other.remove([3, 2])
    staged = home.stage(compact_state(state, None, None))
    other.set_score(1, 7.0)
    index._state = home.finish(staged)
    model = Model([(1, "a = 1", 7.0), (4, "b = 'x'"), (5, "a = 1")])
    assert_same(index, model, EVENTS)
    assert_same(Index.open(root), model, EVENTS)
    assert journals(root) == [index.version]
    index.remove([5])
    model.remove([5])
    assert other.refresh() is True
    assert_same(other, model, EVENTS)


def test_changes_that_undo_each_other_fold_to_the_same_version(root):
    index, other = Index.open(root), Index.open(root)
    index.add([(3, "a > 0")])
    index.remove([3])
    assert journals(root) == [index.version]
    version = index.version
    other.refresh()
    assert index.compact() == version
    assert journals(root) == []
    assert other.refresh() is False
    other.add([(6, "a = 1")])
    assert [rule_id for rule_id, _ in Index.open(root)] == [1, 2, 4, 6]


def test_what_others_publish_takes_the_place_of_changes(root):
    index = Index.open(root)
    index.add([(3, "a > 0")])
    Index.build([(9, "a = 1")], "scan").save(root)
    assert journals(root) == []
    for change in (lambda: index.add([(7, "a = 1")]), lambda: index.remove([1]), index.compact):
        with pytest.raises(ArtifactError, match="refresh it first"):
            change()
    assert index.match({"a": 1}) == [1, 3]
    assert index.refresh() is True
    index.add([(7, "a = 1")])
    assert index.match({"a": 1}) == [7, 9]


def test_a_compaction_that_comes_too_late_publishes_nothing(root):
    index = Index.open(root)
    index.add([(3, "a > 0")])
    home = index._home
    staged = home.stage(compact_state(home.begin(index._state), None, None))
    version = Index.build([(9, "a = 1")], "scan").save(root)
    with pytest.raises(ArtifactError, match="refresh it first"):
        home.finish(staged)
    assert Index.open(root).version == version
    assert list((root / "staging").iterdir()) == []


def test_saving_what_is_current_drops_the_changes_that_others_made(root):
    other = Index.open(root)
    other.remove([1])
    Index.build(RULES, "sparse").save(root)
    assert_same(Index.open(root), Model(RULES), EVENTS)
    assert other.refresh() is True
    assert_same(other, Model(RULES), EVENTS)


def test_a_compaction_that_fails_leaves_all_as_it_was(tmp_path):
    wide = "(a = 1 OR b = 2) AND (c = 3 OR d = 4) AND (e = 5 OR f = 6)"
    Index.build([(1, "a = 1")], "dnf", engine_options={"budget": 10}).save(tmp_path)
    index = Index.open(tmp_path)
    index.add([(2, wide)])
    with pytest.raises(Exception, match="DNF of rule 2 has at least"):
        index.compact(engine_options={"budget": 10, "overflow": "error"})
    assert_same(index, Model([(1, "a = 1"), (2, wide)]), [{"a": 1, "c": 3, "e": 5}])
    index.add([(3, "a = 1")])
    index.compact(engine_options={"budget": 10})
    assert Index.open(tmp_path).match({"a": 1, "c": 3, "e": 5}) == [1, 2, 3]


def test_garbage_collection_leaves_the_journal_alone(root):
    index = Index.open(root)
    index.add([(3, "a > 0")])
    collect_garbage(root)
    assert [rule_id for rule_id, _ in Index.open(root)] == [1, 2, 3, 4]
    index.compact()
    collect_garbage(root)
    assert list_versions(root) == [index.version]
    index.remove([3])
    assert_same(Index.open(root), Model(RULES), EVENTS)


def test_a_folder_that_cannot_be_written_is_an_error_and_no_change(root, monkeypatch):
    index = Index.open(root)
    index.add([(50, "a = 50")])
    index.update([(50, "a = 51")])
    before = list(index)

    def refuse(self, change, mark):
        raise ArtifactError("cannot write the journal: no space")

    with monkeypatch.context() as patched:
        patched.setattr("ruledex.index.live.journal.Journal.append", refuse)
        for change in (
            lambda: index.add([(60, "a = 60")]),
            lambda: index.update([(50, "a = 60")]),
            lambda: index.remove([50, 1]),
        ):
            with pytest.raises(ArtifactError, match="no space"):
                change()
            assert list(index) == list(Index.open(root)) == before
            assert [index.match({"a": value}) for value in (1, 51, 60)] == [[1], [50], []]
    assert isinstance(index._home, JournalHome)
    index.add([(70, "a = 60")])
    assert [index.match({"a": value}) for value in (1, 51, 60)] == [[1], [50], [70]]
    assert list(index) == list(Index.open(root))
