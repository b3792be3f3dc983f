"""Indexes: named indexes in one folder."""

from __future__ import annotations

import threading

import pytest

from ruledex import Index, Indexes, RuledexError
from ruledex.errors import ArtifactError


@pytest.fixture
def indexes(tmp_path):
    made = Indexes(tmp_path / "all")
    made.build("ads", [(1, "age >= 18"), (2, "country = 'IN'")], engine="scan")
    made.build("alerts", [("hot", "celsius > 30")], engine="scan")
    return made


def test_all_are_asked_and_each_by_its_name(indexes):
    assert indexes.list() == list(indexes) == ["ads", "alerts"]
    assert indexes.match({"age": 20, "celsius": 35}) == {"ads": [1], "alerts": ["hot"]}
    assert indexes.match('{"country": "IN"}') == {"ads": [2], "alerts": []}
    found = indexes.match_batch(iter([{"age": 20}, {"celsius": 40}]))
    assert {name: list(matches) for name, matches in found.items()} == {"ads": [[1], []], "alerts": [[], ["hot"]]}
    assert ("ads" in indexes, "none" in indexes, 3 in indexes, len(indexes)) == (True, False, False, 2)
    assert "2 indexes" in repr(indexes)
    assert "ads" in indexes._repr_html_()


def test_an_index_is_replaced_and_readers_keep_the_old_version(indexes, tmp_path):
    reader = Indexes(tmp_path / "all")
    old = reader.open("ads")
    assert reader.match({"age": 20})["ads"] == [1]
    indexes.build("ads", [(7, "age >= 20")], engine="scan")
    assert indexes.match({"age": 20})["ads"] == [7]
    assert (old.match({"age": 20}), reader.match({"age": 20})["ads"]) == ([1], [1])
    assert (reader.refresh(), reader.refresh()) == (True, False)
    assert reader.match({"age": 20})["ads"] == old.match({"age": 20}) == [7]


def test_a_dropped_index_goes_on_answering_for_those_who_have_it(indexes, tmp_path):
    reader = Indexes(tmp_path / "all")
    old = reader.open("alerts")
    indexes.drop("alerts")
    assert indexes.list() == ["ads"]
    assert list(indexes.match({})) == ["ads"]
    assert old.match({"celsius": 40}) == ["hot"]
    assert reader.refresh()
    assert list(reader.match({})) == ["ads"]
    assert {path.name for path in (tmp_path / "all").iterdir()} == {"ads"}
    with pytest.raises(ArtifactError, match=r"there is no index 'alerts' in .*; it has ads"):
        indexes.drop("alerts")
    indexes.build("alerts", [("cold", "celsius < 0")], engine="scan")
    assert reader.open("alerts").match({"celsius": -5}) == ["cold"]


def test_what_ruledex_did_not_write_is_not_dropped(indexes, tmp_path):
    own = tmp_path / "all" / "ads" / "notes.txt"
    own.write_text("mine")
    with pytest.raises(ArtifactError, match="did not write"):
        indexes.drop("ads")
    assert own.read_text() == "mine"
    assert indexes.match({"age": 20})["ads"] == [1]
    (tmp_path / "all" / "other").mkdir()
    assert indexes.list() == ["ads", "alerts"]
    with pytest.raises(ArtifactError, match="there is no index 'other'"):
        indexes.drop("other")


def test_changes_of_others_are_seen_after_a_refresh(indexes, tmp_path):
    reader = Indexes(tmp_path / "all")
    assert reader.match({"age": 5})["ads"] == []
    indexes.open("ads").add([(3, "age < 10")])
    Index.build([(1, "x = 1")], "scan").save(tmp_path / "all" / "more")
    assert reader.match({"age": 5})["ads"] == []
    assert reader.refresh()
    assert reader.match({"age": 5, "x": 1}) == {"ads": [3], "alerts": [], "more": [1]}


def test_all_have_one_time(tmp_path):
    indexes = Indexes(tmp_path)
    for name in ("a", "b"):
        indexes.build(name, [(1, "seen > now() - INTERVAL 1 DAY")], engine="scan")
    assert indexes.match({"seen": "2024-05-05T12:00:00Z"}, now="2024-05-06T00:00:00Z") == {"a": [1], "b": [1]}


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", ".hidden", "-x", "x" * 129, "a\0b", "é", 3, None])
def test_a_name_is_the_name_of_a_folder(indexes, name):
    for call in (indexes.open, indexes.drop, lambda name: indexes.build(name, [(1, "a = 1")])):
        with pytest.raises(RuledexError, match="the name of an index has letters"):
            call(name)


def test_a_root_is_a_local_folder_of_indexes(indexes, tmp_path):
    with pytest.raises(ArtifactError, match="is an index itself"):
        Indexes(tmp_path / "all" / "ads")
    (tmp_path / "file").write_text("")
    with pytest.raises(ArtifactError, match="is a file"):
        Indexes(tmp_path / "file")
    with pytest.raises(RuledexError, match="local folder"):
        Indexes("memory://indexes")


def test_a_closed_collection_opens_again(indexes):
    with indexes as inside:
        held = inside.open("ads")
    with pytest.raises(RuledexError, match="closed"):
        held.match({})
    assert indexes.match({"age": 20})["ads"] == [1]
    indexes.open("ads").close()
    assert indexes.open("ads").match({"age": 20}) == [1]


def test_threads_may_replace_and_read_at_once(indexes):
    answers, ended = [], threading.Event()

    def read():
        while not ended.is_set():
            answers.append(indexes.match({"age": 50})["ads"])

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(5):
        indexes.build("ads", [(number, "age >= 18")], engine="scan")
    ended.set()
    for reader in readers:
        reader.join()
    assert {tuple(answer) for answer in answers} <= {(n,) for n in range(5)}
    assert indexes.match({"age": 50})["ads"] == [4]
