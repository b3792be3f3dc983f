"""Texts are cut into pieces and come back as they were, whatever they are."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruledex.errors import ArtifactError
from ruledex.index import text_pieces
from ruledex.index.text_pieces import check_pieces, cut_texts, join_text, join_texts, joined_size

WORDS = [
    *(" AND ", " OR ", " XOR ", " XNOR ", " and ", " or ", " xor ", " xnor ", " And ", "AND ", " AND", "XNOR", "OR "),
    *("NOT ", "not ", "BETWEEN ", "between ", " BETWEEN 1 AND 2", "(", ")", "()", "((", "))", " ", "  ", "\t", "\n"),
    *("a = 1", "b IN (1, 2)", "s = 'x AND y'", "s = ')'", "\0", "'", "é", "größe", "😀", "a", "1", "", "x" * 300),
]
TEXTS = st.lists(
    st.one_of(st.lists(st.sampled_from(WORDS), max_size=12).map("".join), st.text(max_size=20)), max_size=25
)


def assert_comes_back(texts: pa.Array) -> text_pieces.CutTexts:
    cut = cut_texts(texts)
    for array in (cut.shapes, cut.distinct):
        array.validate(full=True)
    lists = cut.lists()
    check_pieces(cut.shapes, lists, cut.distinct)
    found = join_texts(cut.shapes, lists, cut.distinct)
    found.validate(full=True)
    assert found.equals(texts)
    assert joined_size(cut.shapes, lists, cut.distinct) == sum(len(text.encode()) for text in texts.to_pylist())
    pieces = cut.distinct.to_pylist()
    assert len(set(pieces)) == len(pieces)
    for shape, numbers, text in zip(cut.shapes.to_pylist(), lists.to_pylist(), texts.to_pylist(), strict=True):
        assert join_text(shape, [pieces[number] for number in numbers]) == text
    return cut


@given(TEXTS, st.integers(0, 3))
def test_texts_come_back(texts, offset):
    array = pa.array(texts, pa.large_string())
    assert_comes_back(array)
    assert_comes_back(array[offset:])


def test_texts_come_back_wherever_they_are_cut_into_chunks(monkeypatch):
    monkeypatch.setattr(text_pieces, "_ENCODED_AT_ONCE", 7)
    monkeypatch.setattr(text_pieces, "_CUT_AT_ONCE", 3)
    draw = Random(0)
    for n in range(60):
        texts = ["".join(draw.choices(WORDS, k=draw.randrange(10))) for _ in range(n)]
        chunked = cut_texts(pa.array(texts, pa.large_string()))
        assert_comes_back(pa.array(texts, pa.large_string()))
        with monkeypatch.context() as other:
            other.setattr(text_pieces, "_ENCODED_AT_ONCE", 1000)
            whole = cut_texts(pa.array(texts, pa.large_string()))
        assert chunked.distinct.equals(whole.distinct)
        assert chunked.piece.tolist() == whole.piece.tolist()


def test_predicates_are_pieces_and_all_else_is_shape():
    texts = [
        "(a = 1 OR b > 2) AND c IN (3, 4)",
        "NOT (c IN (3, 4) XOR NOT a BETWEEN 1 AND 5) xnor b > 2",
        "f(g(x)) = 1 AND (((a = 1)))",
        "TRUE",
    ]
    cut = assert_comes_back(pa.array(texts, pa.large_string()))
    assert cut.shapes.to_pylist() == [
        "(\0 OR \0) AND \0",
        "NOT (\0 XOR NOT \0) xnor \0",
        "\0 AND (((\0)))",
        "\0",
    ]
    # The frequent ones come first.
    assert cut.distinct.to_pylist() == ["a = 1", "b > 2", "c IN (3, 4)", "TRUE", "a BETWEEN 1 AND 5", "f(g(x)) = 1"]


def test_large_texts_come_back():
    texts = ["x" * 1_000_000, " AND ".join(f"a = {n}" for n in range(100_000)), "(" * 50_000 + "a" + ")" * 50_000, ""]
    assert_comes_back(pa.array(texts, pa.large_string()))


def test_pieces_that_do_not_fit_are_damage():
    distinct = pa.array(["a", "b"], pa.large_string())
    sound = pa.array([[0, 1]], pa.large_list(pa.int32()))
    check_pieces(pa.array(["\0 OR \0"], pa.large_string()), sound, distinct)
    for shape, numbers, among in (
        ("\0", [0, 1], distinct),
        ("\0 OR \0 OR \0", [0, 1], distinct),
        ("\0 OR \0", [0, 2], distinct),
        ("\0 OR \0", [-1, 0], distinct),
        ("\0 OR \0", [0, None], distinct),
        ("\0 OR \0", None, distinct),
        (None, [0, 1], distinct),
        ("\0 OR \0", [0, 1], pa.array(["a", None], pa.large_string())),
    ):
        lists = pa.array([numbers], pa.large_list(pa.int32()))
        with pytest.raises(ArtifactError, match="are damaged"):
            check_pieces(pa.array([shape], pa.large_string()), lists, among)
    with pytest.raises(ArtifactError, match="are damaged"):
        join_text("\0", ["a", "b"])
