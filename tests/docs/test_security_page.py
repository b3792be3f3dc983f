"""docs/security.md names every limit with its default."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from ruledex.limits import Limits

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")


def test_the_table_of_limits_has_each_field_and_its_default():
    rows = re.findall(r"^\| `(\w+)` \| ([\d,]+) \| ", PAGE, re.MULTILINE)
    documented = {name: int(default.replace(",", "")) for name, default in rows}
    assert len(documented) == len(rows)
    assert documented == {field.name: field.default for field in fields(Limits)}


def test_the_page_is_linked_from_the_page_on_using_an_index():
    assert "(security.md)" in (ROOT / "docs" / "using.md").read_text("utf-8")
