"""An index that is not trusted is compiled from its rules, once per host and content."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from ruledex import Schema
from ruledex.artifact import collect_cache
from ruledex.errors import ArtifactError, RuledexError
from ruledex.index import Index, opening
from ruledex.index.live.journal import Journal
from ruledex.limits import limited
from tests.index.mutations import Mutation, Sound
from tests.index.samples import EVENTS, PLAIN
from tests.index.test_build_join import sharded


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("RULEDEX_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def compiled(monkeypatch):
    """The versions whose rules have been compiled, one entry each time."""
    made, original = [], opening._compile

    def compile_rules(artifact, about, engine):
        made.append((artifact.version, engine))
        return original(artifact, about, engine)

    monkeypatch.setattr(opening, "_compile", compile_rules)
    return made


def test_a_folder_of_ones_own_is_trusted_and_one_of_others_is_not(tmp_path, compiled, monkeypatch):
    version = Index.build(PLAIN, "scan").save(tmp_path / "index")
    Index.open(tmp_path / "index")
    assert compiled == []
    Index.open(tmp_path / "index", trust=False)
    assert compiled == [(version, "scan")]
    (tmp_path / "index").chmod(0o777)
    found = Index.open(tmp_path / "index", engine="sparse")
    assert compiled[1:] == [(version, "sparse")]
    assert (found.version, found.engine) == (version, "sparse")
    Index.open(tmp_path / "index", trust=True)
    (tmp_path / "index").chmod(0o755)
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    Index.open(tmp_path / "index")
    assert len(compiled) == 3


def test_a_url_is_not_trusted_unless_it_is_said(compiled):
    url = f"memory://foreign-{os.getpid()}"
    version = Index.build(PLAIN, "scan").save(url)
    for trust in (True, None, False):
        index = Index.open(url, trust=trust)
        assert [index.match(event) for event in EVENTS] == [Index.build(PLAIN).match(event) for event in EVENTS]
    assert compiled == [(version, "scan")]


def test_what_was_compiled_is_kept_for_all_processes_until_the_cache_is_cleared(tmp_path, compiled, cache):
    Index.build(PLAIN, "scan").save(tmp_path / "index")
    for _ in range(3):
        index = Index.open(tmp_path / "index", trust=False)
        assert index.rule(7).text == PLAIN[0][1]
    assert len(compiled) == 1
    collect_cache()
    assert list((cache / "rebuilt").iterdir()) == []
    assert index.match(EVENTS[0]) == Index.open(tmp_path / "index", trust=False).match(EVENTS[0])
    assert len(compiled) == 2


def test_what_is_damaged_in_the_cache_is_compiled_again(tmp_path, compiled, cache):
    Index.build(PLAIN, "scan").save(tmp_path / "index")
    Index.open(tmp_path / "index", trust=False)
    for path in (cache / "rebuilt").rglob("*.bin"):
        path.chmod(0o644)
        path.write_bytes(bytes(path.stat().st_size))
    assert Index.open(tmp_path / "index", trust=False).match(EVENTS[0]) == Index.build(PLAIN).match(EVENTS[0])
    assert len(compiled) == 2


def test_without_a_cache_each_process_compiles(tmp_path, compiled, monkeypatch):
    monkeypatch.setenv("RULEDEX_CACHE", "/dev/null/none")
    monkeypatch.setattr("tempfile.tempdir", "/dev/null/none")
    Index.build(PLAIN, "scan").save(tmp_path / "index")
    for n_compiled in (1, 2):
        assert Index.open(tmp_path / "index", trust=False).match(EVENTS[0]) == Index.build(PLAIN).match(EVENTS[0])
        assert len(compiled) == n_compiled


def test_it_is_refreshed_changed_and_compacted_as_any_other(tmp_path):
    Index.build(PLAIN, "scan").save(tmp_path / "index")
    index = Index.open(tmp_path / "index", trust=False)
    index.add([(100, "age = 20")])
    assert 100 in index.match(EVENTS[0])
    assert 100 in Index.open(tmp_path / "index", trust=False).match(EVENTS[0])
    version = index.compact()
    again = Index.open(tmp_path / "index", trust=False)
    assert again.version == version
    Index.build([(1, "age = 20")], "scan").save(tmp_path / "index")
    assert again.refresh()
    assert again.match(EVENTS[0]) == [1]


def test_schema_ids_and_shards_are_those_that_were_saved(tmp_path):
    rules = [(f"r{number}", f"t > timestamp '2024-01-0{number} 00:00:00' AND x = {number}") for number in range(1, 9)]
    schema = Schema.of_mapping({"time_zone": "Asia/Tokyo", "attributes": {"x": {"type": "integer", "single": True}}})
    Index.build(rules, "scan", schema=schema).save(tmp_path / "index")
    event = {"t": "2024-01-02T23:00:00", "x": [2, 3]}
    found, trusted = (Index.open(tmp_path / "index", trust=trust) for trust in (False, True))
    assert found.match(event) == trusted.match(event)
    assert found.schema == trusted.schema
    assert found.ids.equals(trusted.ids)
    sharded(PLAIN, 3).save(tmp_path / "shards")
    parts: Any = Index.open(tmp_path / "shards", trust=False)._state
    assert [shard.rules.tolist() for shard in parts.shards] == [[0, 3], [1, 4], [2, 5]]


def test_a_rule_past_the_budget_of_its_engine_is_left_to_another(tmp_path):
    rules = [(1, " AND ".join(f"(a{n} = 1 OR b{n} = 1)" for n in range(16)))]
    index = Index.build(rules, "dnf", engine_options={"overflow": "sparse"})
    index.save(tmp_path / "index")
    event = {f"a{n}": 1 for n in range(16)}
    assert Index.open(tmp_path / "index", trust=False).match(event) == [1]


@pytest.mark.parametrize("trust", ["yes", 1, 0])
def test_trust_is_a_truth_value(tmp_path, trust):
    Index.build(PLAIN, "scan").save(tmp_path / "index")
    with pytest.raises(RuledexError, match="trust is True, False or None"):
        Index.open(tmp_path / "index", trust=trust)


def test_ids_that_are_in_two_shards_are_an_error(tmp_path):
    sharded(PLAIN, 2, "scan").save(tmp_path / "index")
    sound = Sound(tmp_path / "index")
    for seed in range(20):
        root = tmp_path / f"changed-{seed}"
        root.mkdir()
        sound.write(root, Mutation("table", "rules-0/id", "same", seed))
        with suppress(ArtifactError):
            assert len(set(Index.open(root, trust=False).ids.to_pylist())) == len(PLAIN)


def test_no_array_of_it_is_ever_read(tmp_path):
    """Files of arrays may be missing, or anything else."""
    Index.build(PLAIN, "auto").save(tmp_path / "index")
    shutil.rmtree(next((tmp_path / "index" / "versions").iterdir()) / "documents")
    for path in (tmp_path / "index").rglob("*.bin"):
        path.unlink()
        os.mkfifo(path)
    assert Index.open(tmp_path / "index", trust=False).match(EVENTS[0]) == Index.build(PLAIN).match(EVENTS[0])


def test_a_journal_of_a_stranger_is_a_file_within_limits(tmp_path):
    version = Index.build(PLAIN, "scan").save(tmp_path / "index")
    index = Index.open(tmp_path / "index")
    index.add([(100, "age = 20")])
    with limited(journal_bytes=200), pytest.raises(RuledexError, match="compact the index first"):
        index.add([(101, "age = 20")])
    assert 101 not in index
    path = tmp_path / "index" / "journal" / version
    with limited(journal_bytes=100), pytest.raises(ArtifactError, match="over the limit journal_bytes of 100"):
        Journal(tmp_path / "index", version).read()
    path.rename(tmp_path / "aside")
    for replace in (os.mkfifo, lambda place: place.symlink_to(tmp_path / "aside")):
        replace(path)
        with pytest.raises(ArtifactError, match=version):
            Index.open(tmp_path / "index")
        path.unlink()


def test_a_limit_that_was_lowered_since_is_named(tmp_path, compiled):
    Index.build([(1, "a = 1"), (2, "b RLIKE 'x{3}y'")]).save(tmp_path / "index")
    for trust in (False, False, True):
        assert Index.open(tmp_path / "index", trust=trust).match({"b": "xxxy"}) == [2]
    assert len(compiled) == 1
    for lower in ({"pattern_characters": 4}, {"pattern_instructions": 2}):
        message = f"over the limit {next(iter(lower))}"
        with limited(**lower):
            with pytest.raises(ArtifactError, match=message) as refused:
                Index.open(tmp_path / "index", trust=False)
            assert "damaged" not in str(refused.value)
            # What is trusted is read when it is needed.
            with pytest.raises(ArtifactError, match=message) as refused:
                Index.open(tmp_path / "index", trust=True).match({"b": "xxxy"})
            assert "damaged" not in str(refused.value)
    assert Index.open(tmp_path / "index", trust=False).match({"b": "xxxy"}) == [2]


def test_marks_behind_the_end_of_a_journal_do_not_keep_a_reader_busy(tmp_path):
    version = Index.build(PLAIN, "scan").save(tmp_path / "index")
    Index.open(tmp_path / "index").add([(100, "age = 20")])
    path = tmp_path / "index" / "journal" / version
    n_bytes = 4 << 20
    marks = np.frombuffer(b"RDXR" + bytes(8) + (n_bytes // 2).to_bytes(8, "little"), np.uint8)
    path.write_bytes(path.read_bytes() + np.tile(marks, n_bytes // len(marks)).tobytes())
    with pytest.raises(ArtifactError, match="cannot be read"):
        Index.open(tmp_path / "index")


def test_ids_of_the_other_type_are_refused_also_where_no_rule_is_left(tmp_path):
    index = Index.build([(1, "a = 1")], "scan")
    index.save(tmp_path / "index")
    index.remove([1])
    with pytest.raises(RuledexError, match="those of this index are integers"):
        index.add([("x", "a = 2")])
    empty = Index.build([], "scan")
    empty.save(tmp_path / "empty")
    empty.add([(1, "a = 1")])
    empty.remove([1])
    empty.add([("x", "a = 2")])
    assert empty.match({"a": 2}) == Index.open(tmp_path / "empty").match({"a": 2}) == ["x"]
