"""tools/walk.py measures the code as it is, and counts what it says that it counts."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools" / "walk.py"


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def walk():
    return runpy.run_path(str(SCRIPT))


def test_it_follows_the_four_calls_and_counts_the_source():
    done = subprocess.run([sys.executable, SCRIPT, "--json"], capture_output=True, text=True, check=True)
    shown = json.loads(done.stdout)
    assert list(shown["walks"]) == ["Index.build", "Index.match", "Index.open", "Index.add, journalled"]
    for walked in shown["walks"].values():
        assert walked["functions"] >= walked["files"] > 1
        assert walked["file_hops"] >= walked["folder_hops"] > 0
        assert walked["depth"] > 1
    assert shown["counts"]["files"] == len(list((ROOT / "src" / "ruledex").rglob("*.py")))
    assert shown["counts"]["long_files"] == []


def test_it_refuses_a_folder_that_is_no_checkout(tmp_path):
    done = subprocess.run([sys.executable, SCRIPT, "--source", tmp_path], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert "is no checkout of ruledex" in done.stderr


def test_a_hop_is_a_call_into_another_file_whoever_stands_between(walk, tmp_path, monkeypatch):
    package = write(
        tmp_path / "strolled",
        {
            "__init__.py": "",
            "a/__init__.py": "",
            "a/one.py": "from strolled.a.two import two\ndef one():\n    two()\n    list(map(lambda x: two(), 'ab'))\n",
            "a/two.py": "from strolled.b.three import three\ndef two():\n    return sorted('ab', key=three)\n",
            "b/__init__.py": "",
            "b/three.py": "def three(x):\n    return x\n",
        },
    )
    monkeypatch.syspath_prepend(tmp_path)
    from strolled.a.one import one  # type: ignore[import-not-found]

    # Three calls of `two`, each of which calls `three` twice; one, lambda, two and three lie on the stack at the most.
    assert walk["Recorder"](package).run(one) == walk["Walk"](4, 3, 9, 6, 4)


def test_names_that_stand_for_two_things_are_found(walk, tmp_path):
    package = write(
        tmp_path,
        {
            "__init__.py": "from ruledex.match import match\nfrom ruledex import plain\n",
            "match.py": "from ruledex.plain import Rows\ndef match(): ...\ndef _own(): ...\n",
            "plain.py": "class Rows: ...\n" + "\n" * 600,
            "other.py": "class Rows: ...\ndef match(): ...\ndef _own(): ...\n",
        },
    )
    counts = walk["count"](package)
    assert (counts.files, counts.long_files) == (4, ["plain.py"])
    assert counts.duplicate_classes == {"Rows": ["other.py", "plain.py"]}
    assert counts.duplicate_functions == {"match": ["match.py", "other.py"]}
    assert counts.shadowed_modules == ["ruledex.match"]
    assert counts.one_importer == 1  # `match`, by the package; `plain` has two importers and `other` none
