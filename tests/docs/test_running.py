"""A page that shows what does not happen fails."""

from __future__ import annotations

import pytest

from tests.docs.pages import Block, blocks_of
from tests.docs.running import PageRun, check_synopsis


@pytest.fixture
def run_text(tmp_path, monkeypatch):
    """Run a page that is given as text."""
    monkeypatch.chdir(tmp_path)

    def run(text):
        page = tmp_path / "page.md"
        page.write_text(text, "utf-8")
        running = PageRun(page)
        for block in blocks_of(page):
            running.run(block)
        return running.n_compared

    return run


def test_values_and_outputs_are_compared(run_text):
    page = "```python\nx = 2\nx + 1  # 3\nprint(x, 'apples')\n```\n\n```output\n2 …s\n```\n"
    assert run_text(page) == 2


def test_a_line_of_dots_stands_for_any_lines(run_text):
    assert run_text("```python\nfor n in range(5):\n    print(n)\n```\n\n```output\n0\n…\n4\n```\n") == 1


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("```python\n1 + 1  # 3\n```\n", "line 2: the value is 2"),
        ("```python\nprint(1)\n```\n\n```output\n2\n```\n", "what was printed is\n1"),
        ("```python\nprint(1)\n```\n\n```output\n1\n2\n```\n", "what was printed is\n1"),
        ("```shell\nruledex check missing.jsonl\n```\n", "missing.jsonl"),
        ("```shell\nruledex gc --wrong index\n```\n", "--wrong"),
        ("```shell\nruledex match index events | head\n```\n", "cannot run"),
        ("```text\nruledex build RULES --nonsense\n```\n", "no such options"),
        ("```text\nruledex brew RULES\n```\n", "no command"),
    ],
)
def test_what_does_not_happen_is_an_error_at_its_line(run_text, page, message):
    with pytest.raises(AssertionError, match=message.replace("\n", r"\n")):
        run_text(page)


def test_a_file_with_a_title_is_there_for_later_blocks(run_text):
    code = "from pathlib import Path\n\nPath('x.json').read_text()  # '[1]\\n'\n"
    page = f'```json title="x.json"\n[1]\n```\n\n```python\n{code}```\n'
    assert run_text(page) == 1


def test_a_block_that_is_not_run_needs_a_reason(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- not run: it needs a cluster -->\n\n```python\n1 / 0\n```\n\n```python\n1 / 1\n```\n", "utf-8")
    assert [block.not_run for block in blocks_of(page)] == ["it needs a cluster", None]


def test_code_in_a_comment_is_run_at_its_place(run_text):
    assert run_text("<!-- run\nx = 5\n-->\n\n```python\nx  # 5\n```\n") == 1


def test_only_python_for_spark_needs_spark():
    codes = ["spark.range(5)", "import pyspark", "from ruledex.spark import match", "x = 'spark'"]
    assert [Block("python", code, 1).needs_spark for code in codes] == [True, True, True, False]


def test_commands_for_spark_exist():
    check_synopsis("ruledex spark match INDEX EVENTS OUT --top 10 --keep NAME")
