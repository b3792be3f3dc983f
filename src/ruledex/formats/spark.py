"""Writes rules as conditions of Spark SQL."""

from __future__ import annotations

from ruledex.formats.rules import Note
from ruledex.language.spark_text import to_spark
from ruledex.language.tree import Expression


def write_rule(tree: Expression, notes: list[Note]) -> str:  # noqa: ARG001  # as all formats
    """Return the text that Spark's `where()` takes. It means the same of columns with single values."""
    return to_spark(tree)
