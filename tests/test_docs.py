"""What the pages in docs/ show is what happens, and what they link to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
SHOWN = ["intervals.md", "ranking.md", "index.md"]  # pages whose examples stand by themselves


@pytest.mark.parametrize("page", SHOWN)
def test_examples_answer_as_their_comments_say(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, n_answers = {}, 0
    for code in re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)[:3]:
        lines = code.splitlines(keepends=True)
        done = 0
        for at, line in enumerate(lines):
            answer = re.match(r"(\S.*?)  # ([\[('{0-9].*)$", line)
            if answer and "=" not in answer[1].split("(")[0]:
                exec("".join(lines[done:at]), names)
                assert repr(eval(answer[1], names)) == answer[2]
                done, n_answers = at + 1, n_answers + 1
        exec("".join(lines[done:]), names)
    assert n_answers


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_every_file_that_a_page_links_to_is_there(page):
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
