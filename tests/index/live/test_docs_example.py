"""The example of docs/updates.md does what its comments say."""

from __future__ import annotations

from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs" / "updates.md"


def test_the_example_gives_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = DOCS.read_text("utf-8").split("```python\n")[1].split("```")[0]
    names = {}
    n_told = 0
    for line in code.splitlines():
        expression, _, told = line.partition("  # ")
        if told:
            assert repr(eval(expression, names)) == told
            n_told += 1
        else:
            exec(line, names)
    assert n_told == 4
    assert (tmp_path / "rules.index" / "versions" / names["version"]).is_dir()
