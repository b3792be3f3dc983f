"""Lets the API reference show the examples of docstrings as code: mkdocstrings loads it (mkdocs.yml)."""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"(?:^|(?<=\n\n))(>>> .*?)(?=\n\n|\Z)", re.DOTALL)


def fence_examples(text: str) -> str:
    """Return a docstring with each paragraph that is an example as a block of code."""
    return _EXAMPLE.sub(r"```pycon\n\1\n```", text)


class FencedExamples(griffe.Extension):
    """Fences the examples of each docstring that is loaded."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object that was just loaded."""
        if obj.docstring is not None:
            obj.docstring.value = fence_examples(obj.docstring.value)
