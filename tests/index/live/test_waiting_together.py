"""Changes that reach the disk together: each as if it were alone, all of them with one write."""

from __future__ import annotations

import os
import threading
from random import Random

import pytest

from ruledex.errors import ArtifactError, RuledexError, RulesError
from ruledex.index import Index
from ruledex.index.live.waiting import changes_together
from tests.index.live.model import Model, assert_same

RULES = [(1, "a = 1"), (2, "a = 2", 2.0), (4, "b = 'x'")]
EVENTS = [{"a": 1}, {"a": 2, "b": "x"}, {}]


@pytest.fixture
def root(tmp_path):
    Index.build(RULES, "sparse").save(tmp_path / "index")
    return tmp_path / "index"


def test_changes_together_are_one_record_with_one_flush(root, monkeypatch):
    index = Index.open(root)
    index.add([(9, "a = 9")])  # begins the journal
    flushed = []
    real = os.fsync

    def flush(descriptor):
        flushed.append(descriptor)
        real(descriptor)

    monkeypatch.setattr("os.fsync", flush)
    with changes_together(index):
        index.add([(3, "a > 0", 1.0)])
        index.update([(3, "b = 'x'", 3.0)])
        index.set_score(1, 5.0)
        index.remove([9])
        assert index.match({"b": "x"}) == [3, 4]
        assert Index.open(root).match({"b": "x"}) == [4]  # nobody else knows yet
    assert len(flushed) == 1
    opened = Index.open(root)
    assert opened.describe()["changes"]["journal_records"] == 2
    model = Model([(1, "a = 1", 5.0), (2, "a = 2", 2.0), (3, "b = 'x'", 3.0), (4, "b = 'x'")])
    assert_same(index, model, EVENTS)
    assert_same(opened, model, EVENTS)


def test_a_refused_change_leaves_the_others_alone(root):
    index = Index.open(root)
    with changes_together(index):
        index.add([(3, "a > 0")])
        with pytest.raises(RulesError):
            index.add([(3, "a > 1")])
        with pytest.raises(RulesError):
            index.update([(4, "a >")])
        with pytest.raises(RulesError):
            index.remove([77])
        index.remove([1])
    for seen in (index, Index.open(root)):
        assert list(seen) == [(2, "a = 2"), (3, "a > 0"), (4, "b = 'x'")]


def test_a_group_without_changes_writes_nothing(root):
    index = Index.open(root)
    with changes_together(index):
        pass
    assert index.describe()["changes"]["journal_records"] == 0
    assert len(index) == 3


def test_changes_of_others_come_first(root):
    index, other = Index.open(root), Index.open(root)
    other.add([(3, "a = 1")])
    with changes_together(index):
        assert index.match({"a": 1}) == [1, 3]
        index.remove([3])
    other.refresh()
    assert other.match({"a": 1}) == [1]


def test_what_cannot_be_written_is_not_made(root, monkeypatch):
    index = Index.open(root)
    index.add([(9, "a = 9")])
    before = list(index)

    def fail(descriptor):
        raise OSError("no space")

    def change_two(index):
        with changes_together(index):
            index.add([(3, "a > 0")])
            index.remove([1])

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", fail)
        with pytest.raises(ArtifactError, match="no space"):
            change_two(index)
    with pytest.raises(RuledexError):
        index.match({"a": 1})  # it is closed
    opened = Index.open(root)
    assert list(opened) == before
    opened.add([(5, "a = 5")])
    assert list(Index.open(root)) == sorted([*before, (5, "a = 5")])


def test_another_version_meanwhile_is_an_error_before_the_first_change(root):
    index = Index.open(root)
    Index.build([(7, "a = 7")]).save(root)
    with pytest.raises(ArtifactError, match="refresh"), changes_together(index):
        pytest.fail("the group has begun")
    index.refresh()
    with changes_together(index):
        index.add([(8, "a = 8")])
    assert Index.open(root).match({"a": 8}) == [8]


def test_ids_of_the_other_type_can_follow_in_one_group(tmp_path):
    Index.build([(1, "a = 1")]).save(tmp_path / "index")
    index = Index.open(tmp_path / "index")
    index.remove([1])
    index.compact()
    with changes_together(index):
        index.add([(5, "a = 1")])
        index.remove([5])
        index.add([("five", "a = 1")])
    for seen in (index, Index.open(tmp_path / "index")):
        assert seen.match({"a": 1}) == ["five"]


def test_definitions_and_the_rules_that_use_them_can_share_a_group(root):
    index = Index.open(root)
    with changes_together(index):
        index.define("small", "a < 2")
        index.add([(5, "@small AND b = 'x'")])
        index.define("small", "a < 3")
        with pytest.raises(RuledexError):
            index.undefine("small")
    for seen in (index, Index.open(root)):
        assert seen.match({"a": 2, "b": "x"}) == [2, 4, 5]


def test_groups_of_random_changes_equal_the_same_changes_alone(root):
    draw, model, number = Random(5), Model(RULES), 100
    index, reader = Index.open(root), Index.open(root)
    for turn in range(40):
        with changes_together(index):
            for _ in range(draw.randint(1, 8)):
                ids = sorted(model.rules)
                rule = (draw.choice(ids), f"a = {draw.randint(1, 4)} OR b = 'x{draw.randint(0, 2)}'", draw.random())
                kind = draw.choice(["add", "update", "remove", "score"])
                if kind == "add":
                    number += 1
                    index.add([(number, *rule[1:])])
                    model.put([(number, *rule[1:])])
                elif kind == "update":
                    index.update([rule])
                    model.put([rule])
                elif kind == "score":
                    index.set_score(rule[0], rule[2])
                    model.set_score(rule[0], rule[2])
                elif len(ids) > 2:
                    index.remove([rule[0]])
                    model.remove([rule[0]])
        if turn % 8 == 7:
            index.compact()
        reader.refresh()
        assert_same(index, model, EVENTS)
        assert_same(reader, model, EVENTS)
    assert_same(Index.open(root), model, EVENTS)


def test_other_threads_wait_with_their_changes(root):
    index = Index.open(root)
    began = threading.Event()

    def change():
        began.set()
        index.add([(50, "a = 1")])

    thread = threading.Thread(target=change)
    with changes_together(index):
        thread.start()
        assert began.wait(10)
        index.add([(51, "a = 1")])
        assert index.match({"a": 1}) == [1, 51]  # reading waits for nobody
    thread.join()
    assert Index.open(root).match({"a": 1}) == [1, 50, 51]
