"""The rules of an index on disk: their texts, tags and originals, one table per shard, and a table of pieces beside it.

text_pieces.py says what shapes and pieces are. Tables of layout 2 have the texts themselves instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.artifact import Artifact, ArtifactWriter
from ruledex.artifact.layout import ROW_GROUP
from ruledex.index.text_pieces import check_pieces, cut_texts, join_text, join_texts, joined_size

TEXT: Final = "expr"  # the column of texts, which tables on disk had until layout 2
SHAPE: Final = "shape"
PIECES: Final = "pieces"  # the column of numbers of pieces, and the table of pieces
PIECE: Final = "text"  # the column of that table
TAGS: Final = "tags"  # the column of tags, which an index without tags lacks
ORIGINAL: Final = "original"  # the column of rules as written for other systems, which others lack
_MOST_KEPT_BYTES: Final = 16 << 20  # of rules that were read last, and of the pieces of a shard


def table_name(shard: int, is_whole: bool) -> str:
    """Return the name of the table with a shard's rules; `is_whole` if the shard is the whole index."""
    return "rules" if is_whole else f"rules-{shard}"


def pieces_name(shard: int, is_whole: bool) -> str:
    """Return the name of the table with the pieces of a shard's texts."""
    return PIECES if is_whole else f"{PIECES}-{shard}"


def write_rules(writer: ArtifactWriter, shard: int, is_whole: bool, rules: pa.Table) -> None:
    """Write a shard's rules: a table with `id`, `expr` and `score`, and `tags` and `original` if a rule has any."""
    at = rules.schema.get_field_index(TEXT)
    cut = cut_texts(_one_array(rules.column(at).cast(pa.large_string())))  # texts in memory may have short offsets
    rules = rules.set_column(at, SHAPE, cut.shapes).add_column(at + 1, PIECES, cut.lists())
    writer.table(table_name(shard, is_whole), rules)
    writer.table(pieces_name(shard, is_whole), pa.table({PIECE: cut.distinct}), distinct=(PIECE,))


def with_texts(rules: pa.Table, pieces: pa.ChunkedArray, check_size: Callable[[int], None]) -> pa.Table:
    """Return a table of rules with their texts; `check_size` is called with their bytes before they are joined."""
    shapes, lists, distinct = map(_one_array, (rules.column(SHAPE), rules.column(PIECES), pieces))
    check_pieces(shapes, lists, distinct)
    check_size(joined_size(shapes, lists, distinct))
    return rules.append_column(TEXT, join_texts(shapes, lists, distinct))


class _Rows(NamedTuple):
    """The rules of a row group: their texts, or their shapes and lists of pieces, checked."""

    shard: int
    group: int
    texts: pa.Array
    lists: pa.Array | None


class StoredRuleTexts:
    """Texts in an artifact's tables, one per shard. Only the part that is asked for is decoded.

    `shards` has the positions of each shard's rules, ascending, or None if the one shard has all.
    """

    def __init__(self, artifact: Artifact, shards: Sequence[NDArray[np.int32] | None], n_rules: int) -> None:
        self._artifact = artifact
        self._shards = shards
        self._n_rules = n_rules
        self._last: _Rows | None = None  # the row group that was read last
        self._pieces: dict[int, pa.Array] = {}  # of the shards that were read, unless they are large

    def text(self, position: int) -> str:
        """Return the text of one rule."""
        shard, at = self._place(position)
        group, last = at // ROW_GROUP, self._last
        if last is None or (last.shard, last.group) != (shard, group):
            # Whoever reads one rule often reads others beside it, and a group is decoded as a whole.
            last = self._rows(shard, group * ROW_GROUP, (group + 1) * ROW_GROUP)
            if last.texts.nbytes + (0 if last.lists is None else last.lists.nbytes) <= _MOST_KEPT_BYTES:
                self._last = last
        text = str(last.texts[at % ROW_GROUP].as_py())
        if last.lists is None:
            return text
        pieces = self._pieces_of(shard)
        return join_text(text, [pieces[piece].as_py() for piece in last.lists[at % ROW_GROUP].as_py()])

    def original(self, position: int) -> str | None:
        """Return one rule as its owner wrote it for another system, or None."""
        shard, at = self._place(position)
        if not self._has(ORIGINAL):
            return None
        found = self._table(shard, at, at + 1, [ORIGINAL]).column(ORIGINAL)[0].as_py()
        return None if found is None else str(found)

    def _place(self, position: int) -> tuple[int, int]:
        """Return the shard of a rule, and its row there."""
        for shard, rules in enumerate(self._shards):
            at = position if rules is None else int(np.searchsorted(rules, position))
            if rules is None or (at < len(rules) and rules[at] == position):
                return shard, at
        raise IndexError(position)

    def each(self) -> Iterator[str]:
        """Give all texts in the order of positions, read in chunks."""
        for _, text in merge(*(self._each_of(shard) for shard in range(len(self._shards)))):
            yield text

    def to_arrow(self) -> pa.Array:
        """Return all texts."""
        parts = [
            self._texts(shard, start, start + ROW_GROUP)
            for shard in range(len(self._shards))
            for start in range(0, self._n_rules_of(shard), ROW_GROUP)
        ]
        return self._in_order(pa.chunked_array(parts, pa.large_string()))

    def take(self, positions: NDArray[np.int64]) -> pa.Array:
        """Return the texts at ascending positions. Only the row groups that have them are decoded."""
        parts, order = list[pa.Array](), list[NDArray[np.int64]]()
        for shard, rules in enumerate(self._shards):
            mine, rows = np.arange(len(positions)), positions
            if rules is not None:
                at = np.minimum(np.searchsorted(rules, positions), len(rules) - 1)
                mine = np.flatnonzero(rules[at] == positions)
                rows = at[mine]
            for group in np.unique(rows // ROW_GROUP).tolist():
                begin, end = np.searchsorted(rows, [group * ROW_GROUP, (group + 1) * ROW_GROUP]).tolist()
                first, last = int(rows[begin]), int(rows[end - 1])
                parts.append(self._texts(shard, first, last + 1, pa.array(rows[begin:end] - first)))
                order.append(mine[begin:end])
        if not parts:
            return pa.array([], pa.large_string())
        texts = parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
        return texts if len(self._shards) == 1 else texts.take(pa.array(np.argsort(np.concatenate(order))))

    def tags_to_arrow(self) -> pa.Array | None:
        """Return the tags of all rules as canonical JSON, or None if no rule has any."""
        return self._column(TAGS) if self._has(TAGS) else None

    def originals_to_arrow(self) -> pa.Array | None:
        """Return all rules as written for other systems, or None if none was."""
        return self._column(ORIGINAL) if self._has(ORIGINAL) else None

    def _has(self, column: str) -> bool:
        return column in self._artifact.column_names(table_name(0, self._shards[0] is None))

    def _column(self, name: str) -> pa.Array:
        """Return a column in the order of positions."""
        columns = [
            self._artifact.table(table_name(shard, rules is None), [name]).column(name)
            for shard, rules in enumerate(self._shards)
        ]
        return self._in_order(
            pa.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)
        )

    def _in_order(self, texts: pa.ChunkedArray) -> pa.Array:
        """Return what is given shard by shard in the order of positions."""
        if self._shards[0] is not None:
            positions = np.concatenate([rules for rules in self._shards if rules is not None])
            texts = texts.take(pa.array(np.argsort(positions)))
        return _one_array(texts)

    def _each_of(self, shard: int) -> Iterator[tuple[int, str]]:
        """Give a shard's texts with their positions."""
        rules = self._shards[shard]
        n_rules = self._n_rules_of(shard)
        for start in range(0, n_rules, ROW_GROUP):
            texts = self._texts(shard, start, start + ROW_GROUP).to_pylist()
            positions = range(start, n_rules) if rules is None else rules[start : start + ROW_GROUP].tolist()
            yield from zip(positions, texts, strict=False)

    def _n_rules_of(self, shard: int) -> int:
        rules = self._shards[shard]
        return self._n_rules if rules is None else len(rules)

    def _texts(self, shard: int, start: int, stop: int, some: pa.Array | None = None) -> pa.LargeStringArray:
        """Return the texts of some rows of a shard, or of `some` of these rows."""
        rows = self._rows(shard, start, stop)
        texts, lists = rows.texts, rows.lists
        if some is not None:
            texts, lists = texts.take(some), None if lists is None else lists.take(some)
        return texts if lists is None else join_texts(texts, lists, self._pieces_of(shard))

    def _rows(self, shard: int, start: int, stop: int) -> _Rows:
        """Read some rows of a shard."""
        group = start // ROW_GROUP
        if pieces_name(shard, self._shards[shard] is None) not in self._artifact.table_names:
            texts = self._table(shard, start, stop, [TEXT]).column(TEXT)
            return _Rows(shard, group, _one_array(texts.cast(pa.large_string())), None)
        read = self._table(shard, start, stop, [SHAPE, PIECES])
        shapes, lists = _one_array(read.column(SHAPE)), _one_array(read.column(PIECES))
        check_pieces(shapes, lists, self._pieces_of(shard))
        return _Rows(shard, group, shapes, lists)

    def _pieces_of(self, shard: int) -> pa.LargeStringArray:
        pieces = self._pieces.get(shard)
        if pieces is None:
            name = pieces_name(shard, self._shards[shard] is None)
            pieces = _one_array(self._artifact.table(name, [PIECE]).column(PIECE))
            if pieces.nbytes <= _MOST_KEPT_BYTES:
                self._pieces[shard] = pieces
        return pieces

    def _table(self, shard: int, start: int, stop: int, columns: list[str]) -> pa.Table:
        return self._artifact.table_rows(table_name(shard, self._shards[shard] is None), start, stop, columns)


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array. Arrow joins chunks to a column of one chunk if there are several, or none."""
    found = column.combine_chunks()
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
