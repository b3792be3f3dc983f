"""The folder of a build: whose it is, and when it is garbage."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

from ruledex.artifact import LocalStore, assemble, collect_garbage, locate, open_version
from ruledex.artifact.layout import LEASE_SECONDS
from ruledex.errors import ArtifactError
from ruledex.index.parts import begin_build, end_build, part_of, read_part, take_over_build, write_part
from tests.artifact.samples import publish_sample

BUILD, NEXT, DEAD = (f"build-{digit * 16}" for digit in "123")


@pytest.fixture(params=["local", "remote"])
def root(request, tmp_path, monkeypatch):
    monkeypatch.setenv("RULEDEX_CACHE", str(tmp_path / "cache"))
    return str(tmp_path / "root") if request.param == "local" else f"dir::file://{tmp_path}/root"


def write(root, name, values):
    with write_part(root, BUILD, name) as writer:
        writer.array(name, np.array(values))
        return writer.publish({})


def test_parts_are_written_read_and_assembled(root):
    begin_build(root, BUILD)
    versions = {name: write(root, name, values) for name, values in (("a", [1, 2]), ("b", [3]))}
    assert write(root, "a", [1, 2]) == versions["a"]
    with read_part(root, BUILD, "b", versions["b"]) as part:
        assert part.array("b").tolist() == [3]
    parts = [part_of(BUILD, name, version) for name, version in versions.items()]
    version, n_bytes = assemble(root, parts, {"kind": "test"})
    end_build(root, BUILD)
    assert locate(root).folders("staging") == []
    found = open_version(root)
    assert (found.version, found.metadata) == (version, {"kind": "test"})
    assert (found.array("a").tolist(), found.array("b").tolist()) == ([1, 2], [3])
    assert n_bytes == 24


def test_no_copy_of_a_remote_part_stays_on_the_host(tmp_path, monkeypatch):
    monkeypatch.setenv("RULEDEX_CACHE", str(tmp_path / "cache"))
    root = f"dir::file://{tmp_path}/root"
    version = write(root, "a", [1])
    with read_part(root, BUILD, "a", version) as part:
        assert LocalStore(tmp_path / "cache" / "copies").folders("versions") == [version]
        values = part.array("a")
    assert LocalStore(tmp_path / "cache" / "copies").folders("versions") == []
    assert values.tolist() == [1]


def test_a_part_that_is_damaged_is_an_error(tmp_path):
    version = write(str(tmp_path), "a", [1])
    (segment,) = tmp_path.rglob("arrays-0000.bin")
    segment.chmod(0o644)
    segment.write_bytes(b"\1" * 8)
    with pytest.raises(ArtifactError, match="sha256"), read_part(str(tmp_path), BUILD, "a", version):
        pass


def test_a_build_that_is_held_lives_until_its_process_lets_go(tmp_path):
    publish_sample(tmp_path)
    begin_build(str(tmp_path), BUILD)
    area = take_over_build(str(tmp_path), BUILD)
    assert area is not None
    write(str(tmp_path), "a", [1])
    assert collect_garbage(tmp_path).living == (BUILD,)
    area.close()
    assert not (tmp_path / "staging" / BUILD).exists()


def test_a_build_that_is_seen_from_nowhere_lives_by_its_lease(tmp_path):
    publish_sample(tmp_path)
    begin_build(str(tmp_path), BUILD)
    lease = tmp_path / "staging" / BUILD / "lease"
    old = time.time() - LEASE_SECONDS - 60
    assert collect_garbage(tmp_path).living == (BUILD,)
    os.utime(lease, (old, old))
    write(str(tmp_path), "a", [1])  # which renews it
    assert collect_garbage(tmp_path).living == (BUILD,)
    begin_build(str(tmp_path), NEXT)
    os.utime(lease, (old, old))
    assert collect_garbage(tmp_path).staging == (BUILD,)
    assert collect_garbage(tmp_path, alone=True).staging == (NEXT,)


def test_the_next_build_removes_what_a_dead_one_left(tmp_path):
    begin_build(str(tmp_path), DEAD)
    old = time.time() - LEASE_SECONDS - 60
    os.utime(tmp_path / "staging" / DEAD / "lease", (old, old))
    begin_build(str(tmp_path), NEXT)
    assert [path.name for path in (tmp_path / "staging").iterdir()] == [NEXT]


def test_what_is_not_seen_from_here_is_not_taken_over(tmp_path):
    assert take_over_build(str(tmp_path / "elsewhere"), BUILD) is None
    assert take_over_build("nosuchprotocol://bucket/index", BUILD) is None
    assert not (tmp_path / "elsewhere").exists()


def test_staging_of_a_remote_root_is_collected_when_nobody_is_at_work(tmp_path, monkeypatch):
    monkeypatch.setenv("RULEDEX_CACHE", str(tmp_path / "cache"))
    root = f"dir::file://{tmp_path}/root"
    version = publish_sample(root)
    write(root, "a", [1])
    assert collect_garbage(root, alone=True).staging == (BUILD,)
    assert locate(root).folders("staging") == []
    assert open_version(root).version == version
