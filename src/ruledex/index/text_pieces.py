"""Cut the texts of rules into pieces that are stored once, and join them again.

Rules repeat each other's predicates. A text is cut at ` AND `, ` OR `, ` XOR ` and ` XNOR `, the latter mostly between
predicates. What is between two pieces is glue: such a word, the parentheses around it, and `NOT `. The glue of a text
with a NUL in place of each piece is its *shape*; many rules have the same one.

    (a = 1 OR b > 2) AND c IN (3, 4)      the text
    (␀ OR ␀) AND ␀                        its shape
    a = 1, b > 2, c IN (3, 4)             its pieces

Where a text is cut only decides how small it gets. A cut in the middle of a quoted string, say, is joined again as any
other. Glue is never anything but these words and parentheses, so a NUL in a text is always part of a piece.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.artifact.tables import is_list_of_integers
from ruledex.errors import ArtifactError

PLACE: Final = "\0"  # of a piece in a shape
_OPEN, _CLOSE, _BLANK = b"() "
_LOWER: Final = np.uint8(32)  # the bit that letters in lower case have, and those in upper case lack
_CUT_AT_ONCE: Final = 1 << 10  # texts: so many usually fit in a processor's cache
_ENCODED_AT_ONCE: Final = 1 << 18  # texts: the more, the less often a piece is found again; so many take some 70 MB
_DEEPEST: Final = 16  # parentheses before a piece that are glue; more of them are part of the piece
_MORE: Final = 8  # bytes after the last text, so that words can be read beyond its end


class CutTexts(NamedTuple):
    """Texts in pieces. Text `i` has the pieces `piece[offsets[i]:offsets[i + 1]]`, and one place for each in its shape.

    Pieces are numbered by their places in `distinct`: in classes by how often they occur, sorted within a class. So
    small numbers are frequent and neighbours resemble each other, which both make files smaller.
    """

    shapes: pa.LargeStringArray
    offsets: NDArray[np.int64]
    piece: NDArray[np.int32]
    distinct: pa.LargeStringArray

    def lists(self) -> pa.LargeListArray:
        """Return the pieces of each text as a list."""
        return pa.LargeListArray.from_arrays(pa.array(self.offsets), pa.array(self.piece))


def cut_texts(texts: pa.LargeStringArray) -> CutTexts:
    """Cut texts into pieces, and number the distinct ones."""
    shapes, counts, encoded = list[pa.Array](), list[NDArray[np.int64]](), list[pa.Array]()
    for start in range(0, len(texts), _ENCODED_AT_ONCE):
        end = min(start + _ENCODED_AT_ONCE, len(texts))
        cut = [_cut(texts[at : min(at + _CUT_AT_ONCE, end)]) for at in range(start, end, _CUT_AT_ONCE)]
        shapes += [shape for shape, _, _ in cut]
        counts += [n_pieces for _, n_pieces, _ in cut]
        encoded.append(pa.concat_arrays([pieces for _, _, pieces in cut]).dictionary_encode())
    offsets = np.zeros(len(texts) + 1, np.int64)
    if not encoded:
        empty = pa.array([], pa.large_string())
        return CutTexts(empty, offsets, np.zeros(0, np.int32), empty)
    np.cumsum(np.concatenate(counts), out=offsets[1:])
    unified = pa.chunked_array(encoded).unify_dictionaries()
    distinct, number = _numbered(
        unified.chunk(0).dictionary, np.concatenate([_integers(chunk.indices) for chunk in unified.chunks])
    )
    return CutTexts(pa.concat_arrays(shapes), offsets, number, distinct)


def _numbered(distinct: pa.Array, first: NDArray[np.int32]) -> tuple[pa.Array, NDArray[np.int32]]:
    """Return distinct pieces in their final order, and the numbers in it of those that have the numbers `first`."""
    import pyarrow.compute as pc

    by_text = np.array(pc.array_sort_indices(distinct), np.int64)
    often = np.log2(np.bincount(first, minlength=len(distinct))[by_text]).astype(np.int8)
    order = by_text[np.argsort(-often, kind="stable")]
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    return distinct.take(pa.array(order)), number[first]


def _cut(texts: pa.LargeStringArray) -> tuple[pa.Array, NDArray[np.int64], pa.Array]:
    """Return the shape of each text, the number of its pieces, and all pieces."""
    import pyarrow.compute as pc

    offsets, data = _bytes_of(texts)
    begin, end, n_pieces = _pieces(offsets, data)
    n_texts, total = len(texts), len(begin)
    # Glue and pieces take turns, with glue at both ends of a text. They lie one after the other, so their beginnings
    # are the offsets of an array of strings over the bytes of the texts.
    place = 2 * np.arange(total) + np.repeat(np.arange(n_texts), n_pieces) + 1
    borders = np.empty(2 * total + n_texts + 1, np.int64)
    glue_offsets = np.zeros(n_texts + 1, np.int64)
    np.cumsum(n_pieces + 1, out=glue_offsets[1:])
    borders[place], borders[place + 1], borders[-1] = begin, end, offsets[-1]
    borders[2 * glue_offsets[:-1] - np.arange(n_texts)] = offsets[:-1]
    parts = pa.LargeStringArray.from_buffers(len(borders) - 1, pa.py_buffer(borders), pa.py_buffer(data))
    is_glue = np.ones(len(parts), np.bool_)
    is_glue[place] = False
    glue = pa.LargeListArray.from_arrays(pa.array(glue_offsets), parts.take(pa.array(np.flatnonzero(is_glue))))
    shapes = pc.binary_join(glue, pa.scalar(PLACE, pa.large_string()))
    return shapes, n_pieces, parts.take(pa.array(place))


def _bytes_of(texts: pa.LargeStringArray) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the offsets of texts, from 0, and a copy of their bytes with zeros behind them."""
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    size = int(offsets[-1] - offsets[0])
    data = np.zeros(size + _MORE, np.uint8)
    if size:
        data[:size] = np.frombuffer(texts.buffers()[2], np.uint8)[int(offsets[0]) : int(offsets[-1])]
    return offsets - offsets[0], data


def _pieces(
    offsets: NDArray[np.int64], data: NDArray[np.uint8]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return where pieces begin and end, and how many each text has."""
    start, stop = _cuts(offsets, data)
    n_pieces = np.diff(np.searchsorted(start, offsets)) + 1
    first = np.cumsum(n_pieces) - n_pieces
    inner = np.ones(int(n_pieces.sum()), np.bool_)
    inner[first] = False
    begin = np.empty(len(inner), np.int64)
    begin[first], begin[inner] = offsets[:-1], stop
    end = np.empty(len(inner), np.int64)
    last = first + n_pieces - 1
    inner[first], inner[last] = True, False
    end[last], end[inner] = offsets[1:], start
    _leave_opening_glue(data, begin, end)
    _leave_closing_glue(data, begin, end)
    return begin, end, n_pieces


def _cuts(offsets: NDArray[np.int64], data: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the words between pieces start and stop, blanks included."""
    size = len(data) - _MORE
    four = np.ndarray((size + 1,), "<u4", data, strides=(1,))
    eight = np.ndarray((size + 1,), "<u8", data, strides=(1,))
    # Most blanks are before something else, and are sorted out where it costs least.
    one, two = data[1 : size + 1] | _LOWER, data[2 : size + 2] | _LOWER
    may_be = ((one == ord("o")) & (two == ord("r"))) | ((one == ord("b")) & (two == ord("e")))
    may_be |= ((one == ord("a")) | (one == ord("x"))) & ((two == ord("n")) | (two == ord("o")))
    blanks = np.flatnonzero(may_be & (data[:size] == _BLANK))
    word = four[blanks + 1]
    length = np.zeros(len(blanks), np.int64)
    length[_is(word & 0xFFFFFF, b"OR ")] = len(" OR ")
    length[_is(word, b"XOR ")] = len(" XOR ")
    longer = np.flatnonzero(_is(word, b"XNOR"))
    length[longer[data[blanks[longer] + 5] == _BLANK]] = len(" XNOR ")
    at_and = np.flatnonzero(_is(word, b"AND "))
    length[at_and] = len(" AND ")
    between = blanks[_is(word, b"BETW")]
    between = between[_is(eight[between + 1], b"BETWEEN ")]
    after_between = np.searchsorted(blanks[at_and], between)
    between, after_between = between[after_between < len(at_and)], at_and[after_between[after_between < len(at_and)]]
    is_theirs = np.searchsorted(offsets, between, "right") == np.searchsorted(offsets, blanks[after_between], "right")
    length[after_between[is_theirs]] = 0
    found = np.flatnonzero(length)
    start = blanks[found]
    stop = start + length[found]
    keep = np.ones(len(start), np.bool_)
    last = np.searchsorted(start, offsets[1:]) - 1  # that starts before the end of each text
    ends, last = offsets[1:][last >= 0], last[last >= 0]
    keep[last[stop[last] > ends]] = False
    start, stop = start[keep], stop[keep]
    apart = np.ones(len(start), np.bool_)
    apart[1:] = start[1:] >= stop[:-1]  # ` AND AND ` has one word between pieces
    return start[apart], stop[apart]


def _is(numbers: NDArray[Any], word: bytes) -> NDArray[np.bool_]:
    """Return which numbers are the bytes of a word, in upper or in lower case."""
    found: NDArray[np.bool_] = (numbers == int.from_bytes(word, "little")) | (
        numbers == int.from_bytes(word.lower(), "little")
    )
    return found


def _leave_opening_glue(data: NDArray[np.uint8], begin: NDArray[np.int64], end: NDArray[np.int64]) -> None:
    """Move the beginnings of pieces behind parentheses and NOT."""
    four = np.ndarray((len(data) - 3,), "<u4", data, strides=(1,))
    first = data[begin]
    where = np.flatnonzero((first == _OPEN) | (first | _LOWER == ord("n")))
    for _ in range(_DEEPEST):
        at = begin[where]
        is_not = _is(four[at], b"NOT ") & (at + 4 <= end[where])
        step = np.where(is_not, 4, (data[at] == _OPEN) & (at < end[where]))
        where = where[step > 0]
        if not len(where):
            return
        begin[where] += step[step > 0]


def _leave_closing_glue(data: NDArray[np.uint8], begin: NDArray[np.int64], end: NDArray[np.int64]) -> None:
    """Move the ends of pieces before parentheses that close none of the piece's own."""
    where = np.flatnonzero((end > begin) & (data[end - 1] == _CLOSE))
    marks = np.flatnonzero((data == _OPEN) | (data == _CLOSE))
    depth = np.zeros(len(marks) + 1, np.int64)
    np.cumsum(1 - 2 * (data[marks] == _CLOSE), out=depth[1:])
    too_many = depth[np.searchsorted(marks, begin[where])] - depth[np.searchsorted(marks, end[where])]
    while len(where := where[keep := too_many > 0]):
        end[where] -= 1
        too_many = np.where((end[where] > begin[where]) & (data[end[where] - 1] == _CLOSE), too_many[keep] - 1, 0)


# Join.


def join_text(shape: str, pieces: list[str]) -> str:
    """Return the text of a shape and its pieces."""
    glue = shape.split(PLACE)
    if len(glue) != len(pieces) + 1:
        raise _damaged()
    return glue[0] + "".join(part for pair in zip(pieces, glue[1:], strict=True) for part in pair)


def check_pieces(shapes: pa.Array, lists: pa.Array, distinct: pa.Array) -> None:
    """Raise an ArtifactError unless each text has as many pieces as places, and all of them exist."""
    import pyarrow.compute as pc

    is_text = shapes.type == distinct.type == pa.large_string()
    if not (is_text and is_list_of_integers(lists.type)):
        raise _damaged()
    values = lists.flatten()
    if shapes.null_count or lists.null_count or values.null_count or distinct.null_count:
        raise _damaged()
    numbers = _integers(values)
    if len(numbers) and not (numbers.min() >= 0 and numbers.max() < len(distinct)):
        raise _damaged()
    if not np.array_equal(_integers(pc.count_substring(shapes, PLACE)), _integers(pc.list_value_length(lists))):
        raise _damaged()


def joined_size(shapes: pa.Array, lists: pa.Array, distinct: pa.Array) -> int:
    """Return how many bytes the texts have together."""
    import pyarrow.compute as pc

    lengths = _integers(pc.binary_length(distinct))
    used = np.bincount(_integers(lists.flatten()), minlength=len(distinct))
    glue = int(pc.sum(pc.binary_length(shapes)).as_py() or 0) - int(used.sum())
    return glue + sum(map(int.__mul__, used.tolist(), lengths.tolist()))


def join_texts(shapes: pa.Array, lists: pa.Array, distinct: pa.Array) -> pa.LargeStringArray:
    """Return the texts of some shapes and lists of pieces, all of them checked."""
    import pyarrow.compute as pc

    if not len(shapes):
        return pa.array([], pa.large_string())
    glue = pc.split_pattern(shapes, PLACE).flatten()
    piece = _integers(lists.flatten())
    n_pieces = _integers(pc.list_value_length(lists)).astype(np.int64)
    place = 2 * np.arange(len(piece)) + np.repeat(np.arange(len(shapes)), n_pieces) + 1
    part = np.empty(len(glue) + len(piece), np.int64)
    is_glue = np.ones(len(part), np.bool_)
    is_glue[place] = False
    part[is_glue], part[place] = np.arange(len(glue)), piece + np.int64(len(glue))
    parts = pa.concat_arrays([glue, distinct]).take(pa.array(part))
    first = np.zeros(len(shapes) + 1, np.int64)
    np.cumsum(2 * n_pieces + 1, out=first[1:])
    offsets = np.frombuffer(parts.buffers()[1], np.int64)[parts.offset + first]
    return pa.LargeStringArray.from_buffers(len(shapes), pa.py_buffer(offsets), parts.buffers()[2])


def _integers(values: pa.Array) -> NDArray[np.int32]:
    return np.array(values, np.int32)


def _damaged() -> ArtifactError:
    return ArtifactError("the stored texts of the rules are damaged: their pieces do not fit their shapes")
