"""Tokens read from bytes, against the Python scanner's regular expression."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruledex import RuleError
from ruledex.language.scanner import scan, token_of
from ruledex.program.rule_tokens import (
    AND,
    BANG,
    BETWEEN,
    CLOSE,
    CONSTANT,
    DOT,
    END,
    NAME,
    NOT,
    OPEN,
    OPERATOR_SIGN,
    OR,
    SIGN,
    UNREADABLE,
    XNOR,
    XOR,
    read_tokens,
)
from tests.strategies import examples

KEYWORDS = {"AND": AND, "OR": OR, "XOR": XOR, "XNOR": XNOR, "NOT": NOT, "BETWEEN": BETWEEN}
SIGNS = {"(": OPEN, ")": CLOSE, ".": DOT, ",": SIGN, "^": SIGN, "!": BANG}
PIECES = [
    *"aZ_ 059.'\"`\\()^,%*/+-!=<>@rRdDlLeE\n\té ßあ¹",
    *(
        "and",
        "Or",
        "XOR",
        "xnor",
        "not",
        "Between",
        "betweens",
        "BD",
        "Bd",
        "--",
        "/*",
        "*/",
        "''",
        "r'",
        "\x1c",
        "\u00a0",
    ),
    *("1.5", "5e", "e5", "<=>", "<>", "!=", "a.b", "𝔞", "\u0301", "٣"),
]


def tokens(text: str | bytes) -> list[tuple[int, int, int]] | None:
    """Kind, start and stop, in bytes, of each token; None where the text is not readable."""
    encoded = text.encode() if isinstance(text, str) else text
    kinds, starts, stops = (np.zeros(len(encoded) + 1, kind) for kind in (np.int8, np.int64, np.int64))
    n_tokens = read_tokens(np.frombuffer(encoded, np.uint8), 0, len(encoded), kinds, starts, stops)
    if n_tokens == UNREADABLE:
        return None
    return list(zip(kinds[:n_tokens].tolist(), starts[:n_tokens].tolist(), stops[:n_tokens].tolist(), strict=True))


def expected(text: str) -> list[tuple[int, int, int]]:
    """The same by the Python scanner, which raises where the text is not readable."""
    found, position = [], 0
    while True:
        match = scan(text, position)
        token, start = token_of(match)
        position = match.end()
        kinds = {"end": END, "quoted": NAME, "named": NAME, "number": CONSTANT, "string": CONSTANT, "raw": CONSTANT}
        kind = kinds.get(match.lastgroup or "")
        if kind is None:
            kind = KEYWORDS.get(token.upper(), NAME) if match.lastgroup == "word" else SIGNS.get(token, OPERATOR_SIGN)
        found.append((kind, len(text[:start].encode()), len(text[:position].encode())))
        if kind == END:
            return found


@given(text=st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
@settings(max_examples=examples(1500))
def test_what_is_readable_has_the_tokens_of_the_python_scanner(text: str) -> None:
    found = tokens(text)
    if found is not None:
        if found[-1][1] != (before := len(text.encode())):
            pytest.fail(f"the end stands at {found[-1][1]}, not {before}")
        assert found == expected(text)


@pytest.mark.parametrize(
    "text",
    [
        "age >= 18 AND b",
        "a='it''s' or b=\"\\\"\"",
        "r'\\' = `x``y`.z",
        "x <=> -1.5e+3D^2",
        "a--c\nAND/* d */b",
        "straße = 1L",
        "@a AND NOT @`b c` OR(@and)",
    ],
)
def test_the_language_is_readable(text: str) -> None:
    assert tokens(text) == expected(text)


@pytest.mark.parametrize(
    "text",
    [
        "'a",
        "r'a",
        "`a",
        "/* a",
        "5x",
        "a & b",
        "a\u00a0= 1",
        "-- é",
        "@ a",
        "@5",
        "@`a",
        "a @",
        "\ud7ff".encode() + b"\x80",
    ],
)
def test_what_is_broken_or_doubtful_is_not_readable(text: str | bytes) -> None:
    assert tokens(text) is None


@pytest.mark.parametrize("text", [b"\xc3", b"a\xe3\x81", b"\xc0\xaf", b"\xe0\x80\xaf", b"\xff", b"\xed\xa0\x80"])
def test_bytes_that_are_no_text_are_not_readable(text: bytes) -> None:
    assert tokens(text) is None


def test_what_the_python_scanner_refuses_is_not_readable() -> None:
    for text in ("a = 'x", "a ~ b", "1abc", "a = 1e", "a; b"):
        with pytest.raises(RuleError):
            expected(text)
        assert tokens(text) is None
