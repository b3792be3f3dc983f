"""docs/format.md names everything that an index has on disk, and the numbers of the present format."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ruledex.artifact import FORMAT
from ruledex.index.storage import LAYOUT

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"`([^`]+)`", PAGE))
LATEST = max((ROOT / "tests" / "data" / "formats").iterdir(), key=lambda path: int(path.name.partition("-")[0]))
MANIFESTS = sorted(LATEST.glob("*/versions/*/manifest.json"))


def test_it_has_the_numbers_of_the_format():
    assert f"| format of the artifact | {FORMAT} |" in PAGE
    assert f"| layout of the index | {LAYOUT} |" in PAGE


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.relative_to(LATEST).parts[0])
def test_it_names_every_array_table_document_and_field_of_an_index(path):
    manifest = json.loads(path.read_bytes())
    names = {*manifest, *manifest["metadata"], *manifest["metadata"]["counts"], *manifest["metadata"]["schema"]}
    for array in manifest["arrays"]:
        names.add(array if array.startswith("rules/") else array.rpartition("/")[2])
    for name in (*manifest["tables"], *manifest["documents"]):
        names.add(re.sub(r"\d+", "<n>", name))
    assert names - {"rules"} <= NAMED
