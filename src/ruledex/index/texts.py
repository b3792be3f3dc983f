"""The texts of an index's rules: in memory after a build, in the artifact after an open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.artifact import Artifact
from ruledex.artifact.layout import ROW_GROUP


def table_name(shard: int, is_whole: bool) -> str:
    """Return the name of the table with a shard's texts; `is_whole` if the shard is the whole index."""
    return "rules" if is_whole else f"rules-{shard}"


class RuleTexts(Protocol):
    """Texts by position."""

    def text(self, position: int) -> str:
        """Return the text of one rule."""

    def each(self) -> Iterator[str]:
        """Give all texts in the order of positions."""

    def to_arrow(self) -> pa.Array:
        """Return all texts."""


class TextsInMemory:
    """Texts as an Arrow array."""

    def __init__(self, texts: pa.Array) -> None:
        self._texts = texts

    def text(self, position: int) -> str:
        """Return the text of one rule."""
        return str(self._texts[position].as_py())

    def each(self) -> Iterator[str]:
        """Give all texts in the order of positions, read in chunks."""
        for start in range(0, len(self._texts), ROW_GROUP):
            yield from self._texts[start : start + ROW_GROUP].to_pylist()

    def to_arrow(self) -> pa.Array:
        """Return all texts."""
        return self._texts


class StoredRuleTexts:
    """Texts in an artifact's tables, one per shard. Only the part that is asked for is decoded.

    `shards` has the positions of each shard's rules, ascending, or None if the one shard has all.
    """

    def __init__(self, artifact: Artifact, shards: Sequence[NDArray[np.int32] | None], n_rules: int) -> None:
        self._artifact = artifact
        self._shards = shards
        self._n_rules = n_rules

    def text(self, position: int) -> str:
        """Return the text of one rule."""
        for shard, rules in enumerate(self._shards):
            at = position if rules is None else int(np.searchsorted(rules, position))
            if rules is None or (at < len(rules) and rules[at] == position):
                return str(self._rows(shard, at, at + 1)[0].as_py())
        raise IndexError(position)

    def each(self) -> Iterator[str]:
        """Give all texts in the order of positions, read in chunks."""
        for _, text in merge(*(self._each_of(shard) for shard in range(len(self._shards)))):
            yield text

    def to_arrow(self) -> pa.Array:
        """Return all texts."""
        columns = [
            self._artifact.table(table_name(shard, rules is None), ["expr"]).column("expr")
            for shard, rules in enumerate(self._shards)
        ]
        texts = pa.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)
        if self._shards[0] is not None:
            positions = np.concatenate([rules for rules in self._shards if rules is not None])
            texts = texts.take(pa.array(np.argsort(positions)))
        found = texts.combine_chunks()
        return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found

    def _each_of(self, shard: int) -> Iterator[tuple[int, str]]:
        """Give a shard's texts with their positions."""
        rules = self._shards[shard]
        n_rules = self._n_rules if rules is None else len(rules)
        for start in range(0, n_rules, ROW_GROUP):
            texts = self._rows(shard, start, start + ROW_GROUP).to_pylist()
            positions = range(start, n_rules) if rules is None else rules[start : start + ROW_GROUP].tolist()
            yield from zip(positions, texts, strict=False)

    def _rows(self, shard: int, start: int, stop: int) -> pa.ChunkedArray:
        name = table_name(shard, self._shards[shard] is None)
        return self._artifact.table_rows(name, start, stop, ["expr"]).column("expr")
