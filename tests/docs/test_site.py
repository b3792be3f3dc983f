"""The site builds without a warning, has every page and every public name, and fetches nothing from another host."""

from __future__ import annotations

import importlib
import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ruledex import Index
from tests.docs.pages import DOCS, ROOT

FACES = ["ruledex", "ruledex.spark"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built strictly: a link to a page, a heading or a name that does not exist is an error."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, folder / "docs")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    for name in ("src", "tools"):
        (folder / name).symlink_to(ROOT / name)
    command = [Path(sys.executable).with_name("zensical"), "build", "--strict", "--config-file", folder / "mkdocs.yml"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder / "build" / "site"


def _pages_of(navigation):
    for entry in navigation:
        for target in entry.values() if isinstance(entry, dict) else [entry]:
            yield from _pages_of(target) if isinstance(target, list) else [target]


def test_the_navigation_has_every_page_once():
    navigation = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
    pages = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))
    assert sorted(_pages_of(navigation)) == pages


def test_every_page_is_on_the_site(site):
    pages = {page.relative_to(DOCS).with_suffix(".html").as_posix() for page in DOCS.rglob("*.md")}
    assert {page.replace("README.html", "index.html") for page in pages} <= {
        page.relative_to(site).as_posix() for page in site.rglob("*.html")
    }


@pytest.mark.parametrize("face", FACES)
def test_every_public_name_is_in_the_reference_with_a_docstring(site, face):
    module = importlib.import_module(face)
    page = (site / "api" / f"{face.rpartition('.')[2]}.html").read_text("utf-8")
    assert [name for name in module.__all__ if f'id="{face}.{name}"' not in page] == []
    assert [name for name in module.__all__ if not inspect.getdoc(getattr(module, name))] == []


@pytest.mark.parametrize("face", FACES)
def test_every_public_member_of_a_class_has_a_docstring(face):
    module = importlib.import_module(face)
    missing = []
    for name in module.__all__:
        if inspect.isclass(found := getattr(module, name)):
            own = [part for part in dir(found) if not part.startswith("_") and not hasattr(Exception, part)]
            fields = getattr(found, "__annotations__", {})
            missing += [
                f"{name}.{part}" for part in own if part not in fields and not inspect.getdoc(getattr(found, part))
            ]
    assert missing == []


def test_nothing_is_fetched_from_another_host(site):
    fetched = re.compile(
        r"<(?:script|img|iframe|source|link)\b[^>]*?(?:src|srcset|href)=\"(?:https?:)?//[^\"]*\"[^>]*>"
    )
    found = [tag for page in site.rglob("*.html") for tag in fetched.findall(page.read_text("utf-8"))]
    assert [tag for tag in found if "canonical" not in tag] == []
    styles = "".join(style.read_text("utf-8") for style in site.rglob("*.css"))
    assert re.findall(r"(?:url\(|@import)[\s\"']*(?:https?:)?//", styles) == []


def test_all_methods_of_an_index_are_in_the_reference(site):
    page = (site / "api" / "ruledex.html").read_text("utf-8")
    public = [name for name, _ in inspect.getmembers(Index) if not name.startswith("_")]
    assert [name for name in public if f'id="ruledex.Index.{name}"' not in page] == []


def test_examples_of_docstrings_are_shown_as_code(site):
    page = (site / "api" / "ruledex.html").read_text("utf-8")
    assert page.count("language-pycon") > 20
    assert "&gt;&gt;&gt;" not in re.sub(r"<pre.*?</pre>", "", page, flags=re.DOTALL)
