"""Every public name has an example in its docstring, and each example gives what it shows."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import ruledex
from ruledex import Index

API = Path(__file__).parents[2] / "docs" / "api"
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def listed() -> list[str]:
    """Return the names that the API reference lists, without Spark's, whose examples the pages on Spark have."""
    pages = [page.read_text(encoding="utf-8") for page in sorted(API.glob("*.md")) if page.stem != "spark"]
    return [name for page in pages for name in re.findall(r"^::: (\S+)$", page, re.MULTILINE)]


def found(name: str) -> Any:
    module, _, rest = name.rpartition(".")
    return getattr(importlib.import_module(module), rest)


def members(kind: type) -> dict[str, Any]:
    """Return the public methods and properties of a class that are written in ruledex, inherited ones included."""
    own = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("ruledex"):
            own |= {name: value for name, value in vars(base).items() if not name.startswith("_")}
    return {name: value for name, value in own.items() if inspect.isroutine(value) or isinstance(value, property)}


def test_the_reference_lists_all_that_ruledex_exports():
    exported = {f"ruledex.{name}" for name in ruledex.__all__}
    assert exported - set(listed()) == set()


@pytest.mark.parametrize("name", listed())
def test_a_public_name_has_an_example(name):
    assert ">>>" in (inspect.getdoc(found(name)) or "")


@pytest.mark.parametrize("name", sorted(members(Index)))
def test_each_method_of_an_index_has_an_example(name):
    assert ">>>" in (inspect.getdoc(members(Index)[name]) or "")


@pytest.mark.parametrize("name", listed())
def test_examples_give_what_they_show(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # examples save an index
    thing = found(name)
    parts = [thing, *members(thing).values()] if inspect.isclass(thing) else [thing]
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    finder = doctest.DocTestFinder(recurse=False)
    told: list[str] = []
    for part in parts:
        function = part.fget if isinstance(part, property) else getattr(part, "__func__", part)
        for test in finder.find(function, name, globs={"Index": Index, "ruledex": ruledex}):
            runner.run(test, out=told.append)
    assert runner.failures == 0, "".join(told)
