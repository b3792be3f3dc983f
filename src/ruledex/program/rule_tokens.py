"""Read the tokens of a rule from its bytes: the compiled twin of language/scanner.py.

A token begins and ends exactly where it does there, or is `UNREADABLE`. Kinds of tokens are told apart only as far as
the structure of a rule needs it: names, attributes in backticks, `@names` and keywords such as IN are all `NAME`.

Numba counts the references to each array argument of a call with atomic instructions, unless it can see that this is
not needed. With one call per token this took most of the time, so one loop reads a rule's tokens, and only rare tokens
cost a call.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.decorator import jit

# Kinds of tokens. The first five are also the operators of a rule's structure.
AND, OR, XOR, XNOR, NOT, BETWEEN, NAME, CONSTANT, OPEN, CLOSE, DOT, SIGN, OPERATOR_SIGN, BANG, END = range(15)
_COMMENT, UNREADABLE = -1, -2

# Kinds of bytes, by what a token that begins with one can be; `_HIGH` is not of ASCII. The order counts: a plain name
# may go on in another way with what comes from `_QUOTE` on, a plain integer with what comes from `_LETTER` on.
_BAD, _BLANK, _BANG, _COMPARING, _OPEN, _CLOSE, _SIGN, _ARITHMETIC, _BACKTICK, _LETTER, _DIGIT, _DOT, _QUOTE, _HIGH = (
    range(14)
)

_NEWLINE, _STAR, _PLUS, _MINUS, _SLASH, _POINT = 10, 42, 43, 45, 47, 46
_LESS, _EQUAL, _GREATER, _BACKSLASH, _TICK, _LARGE_R, _SMALL_R, _AT = 60, 61, 62, 92, 96, 82, 114, 64


def _byte_kinds() -> NDArray[np.uint8]:
    kinds = np.full(256, _BAD, np.uint8)
    kinds[128:] = _HIGH
    # fmt: off
    for characters, kind in (
        (b" \t\n\r\f\v\x1c\x1d\x1e\x1f", _BLANK), (b"0123456789", _DIGIT), (b"'\"", _QUOTE), (b"`", _BACKTICK),
        (b"_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", _LETTER), (b"<=>", _COMPARING), (b".", _DOT),
        (b"!", _BANG), (b"(", _OPEN), (b")", _CLOSE), (b",^", _SIGN), (b"+-*/%", _ARITHMETIC),
    ):
        kinds[list(characters)] = kind
    # fmt: on
    return kinds


def _word_characters() -> NDArray[np.uint8]:
    """Return for each character of Unicode's first plane: 2 for a digit, 1 for other word characters, else 0."""
    kinds = np.zeros(0x10000, np.uint8)
    plane = "".join(map(chr, range(0x10000)))
    for kind, pattern in ((1, r"\w+"), (2, r"\d+")):
        for match in re.finditer(pattern, plane):
            kinds[match.start() : match.end()] = kind
    return kinds


BYTE_KIND = _byte_kinds()
WORD_CHARACTER = _word_characters()


@jit
def read_tokens(
    text: NDArray[np.uint8],
    position: int,
    end: int,
    kinds: NDArray[np.int8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
) -> int:
    """Write the tokens of `text[position:end]`, the last of them END; return how many, or `UNREADABLE`.

    There may be one more token than there are bytes.
    """
    n_tokens = 0
    while position < end:
        start, stop = position, position + 1
        byte = text[start]
        byte_kind = BYTE_KIND[byte]
        if byte_kind == _BLANK:
            position = stop
            continue
        kind = UNREADABLE
        is_plain = True
        if byte_kind == _LETTER:
            letters = int(byte) | 32  # those of a short word as one number, in lower case
            while stop < end and (BYTE_KIND[text[stop]] == _LETTER or BYTE_KIND[text[stop]] == _DIGIT):
                letters = letters << 8 | int(text[stop]) | 32
                stop += 1
            is_plain = stop == end or BYTE_KIND[text[stop]] < _QUOTE
            if stop - start <= 7:
                kind = _keyword(letters)
            else:
                kind = NAME
        elif byte_kind == _DIGIT:
            while stop < end and BYTE_KIND[text[stop]] == _DIGIT:
                stop += 1
            is_plain = stop == end or BYTE_KIND[text[stop]] < _LETTER
            kind = CONSTANT
        elif byte_kind == _COMPARING:
            kind = OPERATOR_SIGN
            # <=> <= >= <> == < > =
            if stop < end and text[stop] == _EQUAL:
                stop += 1
                if byte == _LESS and stop < end and text[stop] == _GREATER:
                    stop += 1
            elif byte == _LESS and stop < end and text[stop] == _GREATER:
                stop += 1
        elif byte_kind == _OPEN:
            kind = OPEN
        elif byte_kind == _CLOSE:
            kind = CLOSE
        elif byte_kind == _SIGN:
            kind = SIGN
        else:
            is_plain = False
        if not is_plain:
            kind, stop = _odd_token(text, start, end, stop, kind)
            if kind == UNREADABLE:
                return UNREADABLE
        position = stop
        if kind != _COMMENT:
            kinds[n_tokens], starts[n_tokens], stops[n_tokens] = kind, start, stop
            n_tokens += 1
    kinds[n_tokens], starts[n_tokens], stops[n_tokens] = END, end, end
    return n_tokens + 1


@jit
def _keyword(letters: int) -> int:
    """Return the keyword of a rule's structure that a word is, or NAME."""
    if letters == 0x616E64:
        return AND
    if letters == 0x6F72:
        return OR
    if letters == 0x6E6F74:
        return NOT
    if letters == 0x786F72:
        return XOR
    if letters == 0x786E6F72:
        return XNOR
    if letters == 0x6265747765656E:
        return BETWEEN
    return NAME


@jit
def _odd_token(text: NDArray[np.uint8], start: int, end: int, plain_stop: int, plain_kind: int) -> tuple[int, int]:
    """Return the kind and the end of a token or comment that is not of the plainest form.

    `plain_stop` and `plain_kind` are for a word of ASCII that a quote follows: r'…' is one token, or'…' two.
    """
    byte_kind = BYTE_KIND[text[start]]
    following = text[start + 1] if start + 1 < end else np.uint8(0)
    kind, stop = UNREADABLE, start + 1
    if byte_kind == _LETTER and BYTE_KIND[text[plain_stop]] == _QUOTE:
        kind, stop = plain_kind, plain_stop
        if plain_stop == start + 1 and (text[start] == _SMALL_R or text[start] == _LARGE_R):
            kind, stop = CONSTANT, _raw_string_end(text, plain_stop, end)
    elif byte_kind in (_LETTER, _HIGH):
        kind, stop = NAME, _word_end(text, start, end)
    elif byte_kind == _DIGIT or (byte_kind == _DOT and BYTE_KIND[following] == _DIGIT):
        kind, stop = CONSTANT, _number_end(text, start, end)
    elif byte_kind == _QUOTE:
        kind, stop = CONSTANT, _string_end(text, start, end)
    elif byte_kind == _BACKTICK:
        kind, stop = NAME, _quoted_name_end(text, start, end)
    elif text[start] == _AT and following == _TICK:
        kind, stop = NAME, _quoted_name_end(text, start + 1, end)
    elif text[start] == _AT and start + 1 < end:
        kind, stop = NAME, _word_end(text, start + 1, end)
    elif byte_kind == _BANG:
        kind = BANG
        if following == _EQUAL:
            kind, stop = OPERATOR_SIGN, start + 2
    elif byte_kind == _DOT:
        kind = DOT
    elif text[start] == _MINUS and following == _MINUS:
        kind, stop = _COMMENT, _line_comment_end(text, start, end)
    elif text[start] == _SLASH and following == _STAR:
        kind, stop = _COMMENT, _block_comment_end(text, start, end)
    elif byte_kind == _ARITHMETIC:
        kind = OPERATOR_SIGN
    return (kind if stop > 0 else UNREADABLE), stop


@jit
def _line_comment_end(text: NDArray[np.uint8], position: int, end: int) -> int:
    """Return where the line ends; negative if not all is ASCII, since nobody else checks whether it is UTF-8."""
    is_ascii = True
    while position < end and text[position] != _NEWLINE:
        is_ascii = is_ascii and text[position] < 128
        position += 1
    return position if is_ascii else -1


@jit
def _block_comment_end(text: NDArray[np.uint8], start: int, end: int) -> int:
    """Return the offset behind a comment; negative if it has no end, or if not all is ASCII."""
    is_ascii = True
    position = start + 2
    while position + 1 < end and not (text[position] == _STAR and text[position + 1] == _SLASH):
        is_ascii = is_ascii and text[position] < 128
        position += 1
    return position + 2 if is_ascii and position + 1 < end else -1


@jit
def _word_end(text: NDArray[np.uint8], start: int, end: int) -> int:
    """Return where the letters and digits from `start` on end; negative if no word can begin there."""
    position = start
    in_word = True
    while in_word and position < end:
        byte_kind = BYTE_KIND[text[position]]
        length, word_character = 1, 0
        if byte_kind == _HIGH:
            length, character = _wide_character(text, position, end)
            word_character = int(WORD_CHARACTER[character])
        elif byte_kind in (_LETTER, _DIGIT):
            word_character = 1 if byte_kind == _LETTER else 2
        in_word = word_character == 1 or (word_character == 2 and position > start)
        position += length if in_word else 0
    return position if position > start else -1


@jit
def _wide_character(text: NDArray[np.uint8], position: int, end: int) -> tuple[int, int]:
    """Return the length and number of a character of two or three bytes; the number is 0 if it is no character."""
    first = int(text[position])
    n_more = 1 if 0xC2 <= first < 0xE0 else 2 if 0xE0 <= first < 0xF0 else 0
    is_whole = n_more > 0 and position + n_more < end
    character = first & (0x1F if n_more == 1 else 0x0F)
    if is_whole:
        for place in range(position + 1, position + 1 + n_more):
            byte = int(text[place])
            is_whole = is_whole and byte & 0xC0 == 0x80
            character = (character << 6) | (byte & 0x3F)
    is_shortest = n_more == 1 or character >= 0x800
    return n_more + 1, character if is_whole and is_shortest else 0


@jit
def _number_end(text: NDArray[np.uint8], start: int, end: int) -> int:
    """Return where a number ends; negative if a letter touches it."""
    position = _digits_end(text, start, end)
    if position < end and text[position] == _POINT:
        position = _digits_end(text, position + 1, end)
    if position < end and text[position] | 32 == 101:  # e
        digits = position + 1
        if digits < end and (text[digits] == _PLUS or text[digits] == _MINUS):
            digits += 1
        if digits < end and BYTE_KIND[text[digits]] == _DIGIT:
            position = _digits_end(text, digits, end)
    first = int(text[position]) if position < end else 0
    second = int(text[position + 1]) if position + 1 < end else 0
    if (first == 66 and second == 68) or (first == 98 and second == 100):  # BD, bd
        position += 2
    elif first | 32 == 108 or first | 32 == 100:  # L, D
        position += 1
    following = BYTE_KIND[text[position]] if position < end else _BLANK
    return -1 if following in (_LETTER, _DIGIT, _HIGH) else position


@jit
def _digits_end(text: NDArray[np.uint8], position: int, end: int) -> int:
    while position < end and BYTE_KIND[text[position]] == _DIGIT:
        position += 1
    return position


@jit
def _string_end(text: NDArray[np.uint8], start: int, end: int) -> int:
    """Return the offset behind the quote that closes a string, past \\x and doubled quotes; negative if none does."""
    quote = text[start]
    position = start + 1
    is_open = True
    while is_open and position < end:
        if text[position] == _BACKSLASH or (
            text[position] == quote and position + 1 < end and text[position + 1] == quote
        ):
            position += 2
        else:
            is_open = text[position] != quote
            position += 1
    return -1 if is_open else position


@jit
def _raw_string_end(text: NDArray[np.uint8], start: int, end: int) -> int:
    """Return the offset behind the next quote like the one at `start`; negative if there is none."""
    position = start + 1
    while position < end and text[position] != text[start]:
        position += 1
    return position + 1 if position < end else -1


@jit
def _quoted_name_end(text: NDArray[np.uint8], start: int, end: int) -> int:
    """Return the offset behind the backtick that closes a name, past doubled ones; negative if none does."""
    position = start + 1
    is_open = True
    while is_open and position < end:
        if text[position] == _TICK and position + 1 < end and text[position + 1] == _TICK:
            position += 2
        else:
            is_open = text[position] != _TICK
            position += 1
    return -1 if is_open else position
