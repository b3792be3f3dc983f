"""Copies of an index: by pickle, by deepcopy, in pools of processes, and what is left after it is closed."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from ruledex import Index
from ruledex.errors import ArtifactError, RuledexError
from ruledex.index import copies

RULES = [(1, "a = 1"), (2, "a > 0 AND b = 'x'", 2.5), (3, "lower(b) = 'x'")]
EVENTS = [{"a": 1}, {"a": 1, "b": "x"}, {"b": "X"}, {}, '{"a": 2, "b": "x"}']
EXPECTED = [[1], [1, 2, 3], [3], [], [2, 3]]


def answers(index):
    return [index.match(event) for event in EVENTS]


def test_an_index_that_was_not_saved_travels_as_its_bytes():
    index = Index.build(RULES)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        copied = pickle.loads(pickle.dumps(index, protocol))
        assert answers(copied) == EXPECTED
        assert list(copied.rules()) == list(index.rules())
        assert copied.version is None
        assert copied.engine == index.engine
        copied.add([(4, "a = 1")])
        assert copied.match({"a": 1}) == [1, 4]
        copied.compact()
        assert copied.match({"a": 1}) == [1, 4]
    assert answers(index) == EXPECTED


def test_changes_travel_with_it():
    index = Index.build(RULES)
    index.add([(4, "a = 1")])
    index.remove([1])
    index.set_score(2, 9.0)
    copied = pickle.loads(pickle.dumps(index))
    assert copied.match({"a": 1}) == [4]
    assert copied.rule(2).static_score == 9.0
    index.add([(5, "a = 1")])
    assert pickle.loads(pickle.dumps(index)).match({"a": 1}) == [4, 5]
    assert copied.match({"a": 1}) == [4]


def test_a_saved_index_travels_as_its_path_and_version(tmp_path, monkeypatch):
    index = Index.build([(number, f"a = {number}") for number in range(5_000)])
    monkeypatch.chdir(tmp_path)
    version = index.save("rules.index")
    sent = pickle.dumps(index)
    assert len(sent) < 1_000
    assert str(tmp_path).encode() in sent
    monkeypatch.chdir("/")
    copied = pickle.loads(sent)
    assert copied.version == version
    assert copied.match({"a": 17}) == [17]
    Index.build(RULES).save(tmp_path / "rules.index")  # another version
    again = pickle.loads(sent)
    assert (again.version, len(again)) == (version, 5_000)
    assert again.refresh()
    assert answers(again) == EXPECTED
    opened = Index.open(tmp_path / "rules.index", engine="scan")
    assert pickle.loads(pickle.dumps(opened)).engine == "scan"


def test_a_saved_index_with_changes_is_opened_with_them(tmp_path):
    index = Index.build(RULES)
    index.save(tmp_path)
    index.add([(4, "a = 1")])
    copied = pickle.loads(pickle.dumps(index))
    assert copied.match({"a": 1}) == [1, 4]
    copied.add([(5, "a = 1")])
    assert index.refresh()
    assert index.match({"a": 1}) == [1, 4, 5]


def test_a_saved_index_whose_files_are_gone_says_so(tmp_path):
    index = Index.build(RULES)
    index.save(tmp_path / "one")
    sent = pickle.dumps(index)
    os.rename(tmp_path / "one", tmp_path / "two")  # noqa: PTH104
    copies._received._states.clear()
    with pytest.raises(ArtifactError):
        pickle.loads(sent)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_is_independent(copied, tmp_path):
    index = Index.build(RULES, on_error="skip")
    other = copied(index)
    other.remove([1])
    assert index.match({"a": 1}) == [1]
    assert other.match({"a": 1}) == []
    index.save(tmp_path)
    saved = copied(index)
    assert answers(saved) == EXPECTED
    with pytest.raises(RuledexError, match="cannot be changed"):
        saved.add([(9, "a = 1")])


def test_faults_travel_too():
    index = Index.build([*RULES, (4, "a =")], on_error="skip")
    assert [str(fault) for fault in pickle.loads(pickle.dumps(index)).faults] == [str(fault) for fault in index.faults]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_pool_of_processes_maps_match_over_events(method, saved, tmp_path):
    index = Index.build(RULES)
    if saved:
        index.save(tmp_path)
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(index.match, EVENTS * 3, chunksize=2) == EXPECTED * 3


def test_a_process_keeps_what_it_received(monkeypatch):
    index = Index.build(RULES)
    sent = pickle.dumps(index)
    first, second = pickle.loads(sent), pickle.loads(sent)
    assert first._state is second._state
    folder = first._folder.path
    assert folder.is_dir()
    for number in range(6):
        pickle.loads(pickle.dumps(Index.build([(number, "a = 1")])))
    assert len(copies._received._states) == copies._MOST_KEPT
    assert answers(first) == EXPECTED
    del first, second
    assert not folder.exists()


def test_threads_of_a_pool_share_an_index():
    index = Index.build(RULES)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(index.match, EVENTS * 20)) == EXPECTED * 20


def test_a_closed_index_answers_with_an_error(tmp_path):
    Index.build(RULES).save(tmp_path)
    with Index.open(tmp_path) as index:
        assert answers(index) == EXPECTED
    assert repr(index) == "Index(closed)"
    assert "closed" in index._repr_html_()
    for ask in (
        *(lambda: index.match({}), lambda: index.match_batch([{}]), lambda: index.top({}, 1), lambda: len(index)),
        *(lambda: list(index), lambda: index.rule(1), lambda: index.describe(), lambda: index.save(tmp_path)),
        *(lambda: index.add([(9, "a = 1")]), index.refresh, lambda: index.paths, lambda: pickle.dumps(index)),
    ):
        with pytest.raises(RuledexError, match="closed"):
            ask()
    index.close()
