"""What the README shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_first_example_answers_as_its_comments_say(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]
    names = {}
    exec(code, names)
    answers = re.findall(r"^(index\..*?)\s+# (.*)$", code, re.MULTILINE)
    assert len(answers) == 2
    for expression, shown in answers:
        assert repr(eval(expression, names)) == shown


def test_every_file_that_it_links_to_is_there():
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert links
    assert [link for link in links if not (Path(__file__).parent.parent / link).exists()] == []
