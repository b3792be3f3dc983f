"""The first example of docs/index.md does what its comments say."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs" / "index.md"


def test_the_example_gives_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)[1]
    names = {}
    told = [line.split("  # ") for line in code.splitlines() if "  # " in line]
    exec(code, names)
    assert len(told) == 3
    for expression, wanted in told:
        assert repr(eval(expression, names)) == wanted
    assert (tmp_path / "rules.index" / "CURRENT").exists()
