"""`ruledex describe`, `verify` and `gc`."""

from __future__ import annotations

import json

import pytest

from ruledex.artifact import ArtifactWriter, list_versions
from ruledex.index import Index
from tests.cli.samples import run


def test_an_index_is_described(indexed):
    result = run("describe", indexed / "index")
    assert result.exit_code == 0
    shown = dict(line.split(None, 1) for line in result.stdout.splitlines())
    assert shown["rules"].strip() == "6"
    assert "country string" in shown["schema.attributes"]


def test_as_json(indexed):
    assert json.loads(run("describe", indexed / "index", "--json").stdout) == Index.open(indexed / "index").describe()


def test_what_is_no_index_is_one_line(tmp_path):
    result = run("describe", tmp_path)
    assert (result.exit_code, result.stderr.startswith("error: ")) == (2, True)


@pytest.fixture
def root(tmp_path):
    Index.build([(1, "a = 1")], "scan").save(tmp_path)
    return tmp_path


def test_a_sound_index_is_said_to_be_so(root):
    result = run("verify", root)
    assert (result.exit_code, "sound" in result.stdout) == (0, True)


def test_a_flipped_byte_is_found(root):
    file = next(root.glob("versions/*/arrays-*.bin"))
    data = bytearray(file.read_bytes())
    data[0] ^= 1
    file.chmod(0o600)
    file.write_bytes(bytes(data))
    result = run("verify", root, "--json")
    assert result.exit_code == 1
    assert file.name in json.loads(result.stdout)["faults"][0]
    assert file.name in run("verify", root).stderr


def test_an_artifact_that_is_no_index_is_found(tmp_path):
    with ArtifactWriter(tmp_path) as writer:
        writer.document("dictionary", {})
        writer.publish({"kind": "other"})
    result = run("verify", tmp_path)
    assert (result.exit_code, "not an index" in result.stderr) == (1, True)


def test_the_changes_in_a_journal_are_counted(root):
    Index.open(root).add([(2, "a = 2"), (3, "a = 3")])
    Index.open(root).remove([1])
    told = json.loads(run("verify", root, "--json").stdout)
    assert (told["journals"], told["journal_records"], told["faults"]) == (1, 2, [])
    assert "2 changes in 1 journals: sound" in run("verify", root).stdout


def test_a_flipped_byte_of_a_journal_is_found(root):
    for number in (2, 3):
        Index.open(root).add([(number, "a = 2")])
    (file,) = (path for path in (root / "journal").iterdir() if path.name != "LOCK")
    data = bytearray(file.read_bytes())
    data[len(data) // 2 - 40] ^= 1
    file.write_bytes(bytes(data))
    result = run("verify", root)
    assert (result.exit_code, "damaged" in result.stderr) == (1, True)


def test_what_a_crash_left_at_the_end_of_a_journal_is_no_fault(root):
    Index.open(root).add([(2, "a = 2")])
    (file,) = (path for path in (root / "journal").iterdir() if path.name != "LOCK")
    file.write_bytes(file.read_bytes() + b"RDXR half")
    assert run("verify", root).exit_code == 0


def test_old_versions_are_removed_but_for_those_that_are_kept(root):
    first = Index.open(root).version
    second = Index.build([(2, "a = 1")], "scan").save(root)
    third = Index.build([(3, "a = 1")], "scan").save(root)
    result = run("gc", root, "--keep", first)
    assert (result.exit_code, result.stdout) == (0, f"removed version {second}\n")
    assert sorted(list_versions(root)) == sorted([first, third])
    run("gc", root)
    assert run("gc", root).stdout == "nothing to remove\n"
    assert Index.open(root).match({"a": 1}) == [3]
