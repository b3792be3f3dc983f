"""The texts of an index's rules: in memory after a build, in the artifact after an open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import pyarrow as pa

from ruledex.artifact import Artifact
from ruledex.artifact.layout import ROW_GROUP

TABLE = "rules"


class RuleTexts(Protocol):
    """Texts by position."""

    def text(self, position: int) -> str:
        """The text of one rule."""

    def each(self) -> Iterator[str]:
        """All texts in the order of positions."""

    def to_arrow(self) -> pa.Array:
        """All texts at once."""


class TextsInMemory:
    """Texts as an Arrow array."""

    def __init__(self, texts: pa.Array) -> None:
        self._texts = texts

    def text(self, position: int) -> str:
        """The text of one rule."""
        return str(self._texts[position].as_py())

    def each(self) -> Iterator[str]:
        """All texts in the order of positions, some at a time."""
        for start in range(0, len(self._texts), ROW_GROUP):
            yield from self._texts[start : start + ROW_GROUP].to_pylist()

    def to_arrow(self) -> pa.Array:
        """All texts at once."""
        return self._texts


class StoredRuleTexts:
    """Texts in an artifact's table, of which the part that is asked for is decoded."""

    def __init__(self, artifact: Artifact, n_rules: int) -> None:
        self._artifact = artifact
        self._n_rules = n_rules

    def text(self, position: int) -> str:
        """The text of one rule."""
        return str(self._artifact.table_rows(TABLE, position, position + 1, ["expr"]).column("expr")[0].as_py())

    def each(self) -> Iterator[str]:
        """All texts in the order of positions, some at a time."""
        for start in range(0, self._n_rules, ROW_GROUP):
            yield from self._artifact.table_rows(TABLE, start, start + ROW_GROUP, ["expr"]).column("expr").to_pylist()

    def to_arrow(self) -> pa.Array:
        """All texts at once."""
        found = self._artifact.table(TABLE, ["expr"]).column("expr").combine_chunks()
        return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
