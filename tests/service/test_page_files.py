"""The files of the page: how they are served, and that they name no other host."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from importlib.resources import files
from pathlib import Path

import pytest

STATIC = Path(str(files("ruledex.service.page"))) / "static"
FILES = sorted(path.name for path in STATIC.iterdir())
REPOSITORY = Path(__file__).parents[2]


def path_of(name):
    return "/" if name == "index.html" else f"/page/{name}"


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_served_as_it_is_with_safe_headers(client, name):
    answer = client.ask("GET", path_of(name))
    assert answer.status == 200
    assert answer.data == (STATIC / name).read_bytes()
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "no-referrer"
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'self';")
    assert "unsafe" not in policy
    kinds = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
    assert answer.headers["content-type"].startswith(kinds[name.rpartition(".")[2]])


def test_a_file_that_the_browser_has_is_not_sent_again(client):
    etag = client.ask("GET", "/").headers["etag"]
    again = client.ask("GET", "/", if_none_match=etag)
    assert (again.status, again.data, again.headers["etag"]) == (304, b"", etag)
    assert again.headers["cache-control"] == "no-cache"
    assert client.ask("GET", "/", if_none_match='"other"').status == 200
    head = client.ask("HEAD", "/page/app.js")
    assert (head.status, head.data) == (200, b"")


@pytest.mark.parametrize("path", ["/page", "/page/", "/page/none.js", "/page/..%2Ffiles.py", "/page/../files.py", "//"])
def test_nothing_else_is_served(client, path):
    assert client.ask("GET", path).status == 404


def test_the_files_need_no_token_and_the_api_does(fragile):
    asked = fragile.client()
    assert asked.ask("GET", "/").status == 200
    assert asked.ask("GET", "/page/app.js").status == 200
    assert asked.ask("GET", "/v1/indexes").status == 401
    asked.close()


def test_the_address_of_the_page_is_told_at_the_start(service):
    assert service.logged("serving")[0]["page"] == f"http://127.0.0.1:{service.port}/"


def test_the_page_names_no_other_host_and_has_nothing_inline():
    for name in FILES:
        text = (STATIC / name).read_text()
        others = set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+[\w./-]*", text))
        assert others <= {"http://www.w3.org/2000/svg"}, name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text), (
            name
        )
    start = (STATIC / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=", start)


def test_every_file_that_the_page_asks_for_is_there():
    text = "".join((STATIC / name).read_text() for name in FILES if name != "style.css")
    asked = set(re.findall(r'from "\./([\w.-]+)"', text)) | set(re.findall(r'(?:src|href)="page/([\w.-]+)"', text))
    assert asked | {"index.html"} == set(FILES)


@pytest.mark.slow
def test_a_wheel_has_the_files(tmp_path):
    # In this environment and not in one of its own, for which packages would be fetched.
    build = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    pytest.importorskip("setuptools", reason="setuptools is needed to build a wheel")
    copy = tmp_path / "source"
    for part in ("src/ruledex", "pyproject.toml", "README.md", "LICENSE"):
        target = copy / part
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(REPOSITORY / part)
    subprocess.run([sys.executable, "-c", build, str(tmp_path)], cwd=copy, check=True, capture_output=True)
    names = zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist()
    for name in FILES:
        assert f"ruledex/service/page/static/{name}" in names
