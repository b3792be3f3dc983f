"""Whatever is done in a folder, nothing is changed there, or where its links lead, that ruledex did not write."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ruledex import Index
from ruledex.artifact import ArtifactWriter, collect_cache, collect_garbage, list_versions, publish_existing
from ruledex.artifact.pins import Pin, put_pin
from ruledex.cli.main import app
from ruledex.errors import ArtifactError, RuledexError
from ruledex.index import parts

pytestmark = pytest.mark.slow  # uncompiled; `make test` runs all of it compiled

RULES = [(1, "a = 1"), (2, "a = 2 AND b > 3")]
VERSION = "0123456789abcdef" * 4
STAGED = "17-0123456789abcdef"
BUILD = "build-0123456789abcdef"


# What may lie in a folder: each of these writes below it, or puts links to what is outside.


def text(*parts: str) -> Callable[[Path, Path], None]:
    """A file that is somebody else's."""

    def prepare(folder: Path, outside: Path) -> None:
        path = folder.joinpath(*parts)
        if path.parent.is_file():
            path.parent.unlink()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"precious: {'/'.join(parts)}")

    return prepare


def link_to_folder(*parts: str) -> Callable[[Path, Path], None]:
    """A link to a folder outside, in place of what is there."""

    def prepare(folder: Path, outside: Path) -> None:
        path = folder.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            path.rename(outside / "moved")
        path.symlink_to(outside, target_is_directory=True)

    return prepare


def link_to_file(*parts: str) -> Callable[[Path, Path], None]:
    """A link to a file outside."""

    def prepare(folder: Path, outside: Path) -> None:
        path = folder.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(outside / "canary")

    return prepare


FOREIGN = {
    "nothing but a note": text("note.txt"),
    "staging": text("staging", "work", "thesis.txt"),
    "a file in staging": text("staging", "thesis.txt"),
    "staging of our name": text("staging", STAGED, "thesis.txt"),
    "staging of a build's name": text("staging", BUILD, "thesis.txt"),
    "journal": text("journal", "diary.txt"),
    "a journal of our name": text("journal", VERSION),
    "a journal that is being written": text("journal", f"{VERSION}.next"),
    "versions": text("versions", "v1", "notes.txt"),
    "a version of our name": text("versions", VERSION, "notes.txt"),
    "pins": text("pins", "board", "pin.txt"),
    "a stream of a strange name": text("pins", "the board", "00000000000000000001.json"),
    "a folder CURRENT": text("CURRENT", "notes.txt"),
    "copies": text("copies", "versions", "v1", "notes.txt"),
    "staging among copies": text("copies", "staging", "work", "thesis.txt"),
    "receipts": text("receipts", "shop.txt"),
    "staging elsewhere": link_to_folder("staging"),
    "a staging folder elsewhere": link_to_folder("staging", STAGED),
    "files of a staging folder elsewhere": link_to_folder("staging", STAGED, "files"),
    "journal elsewhere": link_to_folder("journal"),
    "versions elsewhere": link_to_folder("versions"),
    "a version elsewhere": link_to_folder("versions", VERSION),
    "pins elsewhere": link_to_folder("pins"),
    "a stream's pins elsewhere": link_to_folder("pins", "stream"),
    "copies elsewhere": link_to_folder("copies"),
    "receipts elsewhere": link_to_folder("receipts"),
    "the pointer elsewhere": link_to_file("CURRENT"),
    "the next pointer elsewhere": link_to_file("CURRENT.next"),
    "the lock elsewhere": link_to_file("LOCK"),
    "the marker elsewhere": link_to_file("RULEDEX"),
    "the journal's lock elsewhere": link_to_file("journal", "LOCK"),
    "a journal elsewhere": link_to_file("journal", VERSION),
    "the next pin elsewhere": link_to_file("pins", "stream", "next"),
}


# What is done in it.


def command(*arguments: str) -> Callable[[Path, Path], object]:
    def run(folder: Path, scratch: Path) -> object:
        rules = scratch / "rules.jsonl"
        rules.write_text('{"id": 7, "expr": "c = 1"}\n{"id": 8, "expr": "c > 4"}\n')
        given = [str(folder) if part == "DIR" else str(rules) if part == "RULES" else part for part in arguments]
        found = CliRunner().invoke(app, given)
        assert found.exception is None or isinstance(found.exception, SystemExit), found.output
        return found.exit_code

    return run


def publish(folder: Path, _: Path) -> None:
    with ArtifactWriter(folder) as writer:
        writer.array("a", np.arange(3))
        writer.publish({})


def publish_again(folder: Path, _: Path) -> None:
    for version in list_versions(folder) or [VERSION]:
        publish_existing(folder, version)


def pin(folder: Path, _: Path) -> None:
    for time, version in enumerate(list_versions(folder) or [VERSION]):
        put_pin(folder, "stream", time, Pin(version))


def change(folder: Path, _: Path) -> None:
    index = Index.open(folder)
    index.add([(100, "z = 1")])
    index.remove([100])
    index.compact()


def build_by_many(folder: Path, _: Path) -> None:
    parts.begin_build(str(folder), BUILD)
    with parts.write_part(str(folder), BUILD, "part") as writer:
        writer.array("a", np.arange(3))
        writer.publish({})
    parts.end_build(str(folder), BUILD)


def clear_cache(folder: Path, _: Path) -> None:
    before = os.environ.get("RULEDEX_CACHE")
    os.environ["RULEDEX_CACHE"] = str(folder)
    try:
        collect_cache()
    finally:
        os.environ.pop("RULEDEX_CACHE")
        if before is not None:
            os.environ["RULEDEX_CACHE"] = before


ACTIONS = {
    "ruledex gc": command("gc", "DIR"),
    "ruledex gc --alone": command("gc", "DIR", "--alone"),
    "ruledex build": command("build", "RULES", "-q", "-o", "DIR", "--engine", "scan"),
    "ruledex add": command("add", "DIR", "RULES"),
    "ruledex remove": command("remove", "DIR", "1"),
    "ruledex compact": command("compact", "-q", "DIR"),
    "save": lambda folder, _: Index.build(RULES, "scan").save(folder),
    "change": change,
    "publish": publish,
    "publish again": publish_again,
    "collect": lambda folder, _: collect_garbage(folder, alone=True),
    "pin": pin,
    "a build by many": build_by_many,
    "clear the cache": clear_cache,
}


SLOW = ("ruledex add", "ruledex remove", "ruledex compact")  # which `change` does too, in one go
FULL = os.environ.get("RULEDEX_FOREIGN_FULL") == "1"


def seen(folder: Path) -> dict[str, object]:
    """All files, folders and links below a folder, by path, and what they hold."""
    found: dict[str, object] = {}
    for parent, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            path = Path(parent, name)
            found[str(path)] = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None
    return found


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """An index in a folder, to be copied."""
    folder = tmp_path_factory.mktemp("saved") / "index"
    Index.build(RULES, "scan").save(folder)
    return folder


@pytest.mark.parametrize("is_index", [False, True], ids=["in a folder", "in an index"])
@pytest.mark.parametrize("prepare", FOREIGN.values(), ids=FOREIGN)
def test_what_is_not_ours_stays_as_it_is(tmp_path, monkeypatch, saved, prepare, is_index):
    monkeypatch.setattr(os, "fsync", lambda _: None)  # most of the time is spent there otherwise
    monkeypatch.setenv("RULEDEX_CACHE", str(tmp_path / "cache"))
    folder, outside, scratch = tmp_path / "folder", tmp_path / "outside", tmp_path / "scratch"
    scratch.mkdir()
    shutil.copytree(saved, folder) if is_index else folder.mkdir()
    for path in (outside / "canary", outside / STAGED / "thesis.txt", outside / VERSION / "canary"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("precious")
    ours = seen(folder)
    prepare(folder, outside)
    outside_before = seen(outside)
    foreign = {path: what for path, what in seen(folder).items() if ours.get(path, 0) != what}
    for name, act in ACTIONS.items():
        if is_index and name in SLOW and not (FULL or "journal" in str([*foreign])):
            continue
        refused = ""
        try:
            act(folder, scratch)
        except RuledexError as error:
            refused = str(error)
        after = seen(folder)
        assert {path: after.get(path, "gone") for path in foreign} == foreign, name
        assert seen(outside) == outside_before, name
        if not is_index:
            # Nothing was written to it either: it was not empty, and no index.
            assert after == foreign, (name, refused)


@pytest.mark.parametrize("name", ["ruledex gc", "ruledex build", "ruledex gc --alone"])
def test_a_folder_that_is_no_index_is_refused_with_what_to_do(tmp_path, name):
    (tmp_path / "folder" / "staging" / "work").mkdir(parents=True)
    (tmp_path / "rules.jsonl").write_text('{"id": 7, "expr": "c = 1"}\n')
    arguments = ["gc", str(tmp_path / "folder")]
    if "build" in name:
        arguments = ["build", str(tmp_path / "rules.jsonl"), "-o", str(tmp_path / "folder")]
    found = CliRunner().invoke(app, arguments)
    assert found.exit_code == 2
    assert "is no index of ruledex" in found.output
    assert "give the folder of an index, or for a new one a folder that is empty" in found.output


def test_an_index_without_a_marker_opens_changes_and_collects_and_then_has_one(tmp_path):
    """As versions wrote it that knew no marker."""
    index = Index.build(RULES, "scan")
    index.save(tmp_path / "index")
    (tmp_path / "index" / "RULEDEX").unlink()
    opened = Index.open(tmp_path / "index")
    assert not (tmp_path / "index" / "RULEDEX").exists()  # readers write nothing
    opened.add([(3, "a = 3")])
    assert (tmp_path / "index" / "RULEDEX").exists()
    (tmp_path / "index" / "RULEDEX").unlink()
    opened.compact()
    (tmp_path / "index" / "RULEDEX").unlink(missing_ok=True)
    assert len(collect_garbage(tmp_path / "index").versions) == 1
    (tmp_path / "index" / "RULEDEX").unlink(missing_ok=True)
    index.save(tmp_path / "index")
    assert Index.open(tmp_path / "index").match({"a": 1}) == [1]


def test_a_damaged_pointer_without_a_marker_is_put_right_by_publishing_what_is_there(tmp_path):
    version = Index.build(RULES, "scan").save(tmp_path / "index")
    (tmp_path / "index" / "RULEDEX").unlink()
    (tmp_path / "index" / "CURRENT").write_text("{}")
    with pytest.raises(ArtifactError, match="CURRENT is damaged"):
        Index.build(RULES, "scan").save(tmp_path / "index")
    publish_existing(tmp_path / "index", version)
    assert Index.open(tmp_path / "index").version == version


def test_a_text_in_place_of_the_pointer_is_somebody_elses_where_there_is_no_marker(tmp_path):
    text("CURRENT")(tmp_path, tmp_path)
    for act in ACTIONS.values():
        with suppress(RuledexError):
            act(tmp_path, tmp_path)
    assert (tmp_path / "CURRENT").read_text() == "precious: CURRENT"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["CURRENT", "rules.jsonl"]


def test_a_root_may_itself_be_a_link(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "index").symlink_to(tmp_path / "disk", target_is_directory=True)
    Index.build(RULES, "scan").save(tmp_path / "index")
    change(tmp_path / "index", tmp_path)
    collect_garbage(tmp_path / "index")
    assert Index.open(tmp_path / "disk").match({"a": 1}) == [1]
