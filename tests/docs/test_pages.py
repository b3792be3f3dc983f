"""What the pages in docs/ and the README show is what happens, and what they link to is there."""

from __future__ import annotations

import re
import sys
from itertools import takewhile

import pytest

from ruledex.language.functions import custom
from ruledex.language.functions.registry import CUSTOM
from tests.docs.pages import DOCS, LANGUAGES, ROOT, blocks_of, name_of, written_pages
from tests.docs.running import PageRun

PAGES = written_pages()
WITH_CODE = [page for page in PAGES if any(block.language in {"python", "shell", "text"} for block in blocks_of(page))]
WITH_SPARK = [page for page in WITH_CODE if any(block.needs_spark for block in blocks_of(page))]


@pytest.fixture(autouse=True)
def functions_of_the_page():
    """Forget the functions that a page adds: tasks of Spark in later tests could not import its modules."""
    before = CUSTOM.copy()
    yield
    for name in CUSTOM.keys() - before:
        del CUSTOM[name]
        sys.modules.pop(custom._ORIGINS.pop(name).module, None)


@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_blocks_do_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # as a script in that folder has it
    run = PageRun(page)
    for block in takewhile(lambda block: not block.needs_spark, blocks_of(page)):
        run.run(block)


@pytest.mark.parametrize("page", WITH_SPARK, ids=name_of)
def test_blocks_with_spark_do_what_the_page_says(page, tmp_path, monkeypatch, spark):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # as a script in that folder has it
    run = PageRun(page, spark=spark)
    for block in blocks_of(page):
        run.run(block)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_is_of_a_kind_that_is_checked(page):
    text = page.read_text("utf-8")
    blocks = blocks_of(page)
    assert {block.language for block in blocks} <= LANGUAGES
    assert len(re.findall(r"^\s*(?:```|~~~)", text, re.MULTILINE)) == 2 * sum(
        not text.splitlines()[block.line - 2].startswith("<!--") for block in blocks
    ), "a fence is indented, or is not closed"
    # A command in an indented block would not be run.
    assert (
        re.findall(r"^    (?:ruledex|\$) .*", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE), re.M)
        == []
    )


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=name_of)
def test_links_of_the_site_lead_to_files_of_the_site(page):
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text("utf-8"))
    targets = {link: (page.parent / link).resolve() for link in links}
    assert [link for link, target in targets.items() if not (target.exists() and target.is_relative_to(DOCS))] == []


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_the_repository_lead_to_its_files(name):
    text = (ROOT / name).read_text("utf-8")
    links = re.findall(r"(?:\]\(|src=\"|srcset=\"|href=\")(?!https?:)([^)#\s\"]+)", text)
    assert [link for link in links if not (ROOT / link).exists()] == []
