"""Files that the tests of commands on an index share."""

from __future__ import annotations

import json

import pytest

from tests.cli.samples import run
from tests.index.samples import EVENTS, PLAIN


@pytest.fixture(scope="session")
def indexed(tmp_path_factory):
    """A folder with rules.jsonl, events.jsonl, and an index of the rules."""
    folder = tmp_path_factory.mktemp("files")
    rules = [{"id": rule[0], "expr": rule[1], "score": rule[2] if len(rule) > 2 else 0} for rule in PLAIN]
    (folder / "rules.jsonl").write_text("".join(json.dumps(rule) + "\n" for rule in rules))
    (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in EVENTS))
    # Of the engines that answer batches and single events alike, this one has the fewest kernels to compile.
    assert run("build", folder / "rules.jsonl", "-o", folder / "index", "--engine", "sparse").exit_code == 0
    return folder
