"""Read plain predicates from their bytes: an attribute compared with constants, which most rules consist of.

    age >= 18    name != 'x'    age NOT IN (1, 2)    age BETWEEN 18 AND 35    vip = TRUE    x <=> 'y'    x IS NOT NULL

Constants are integers of up to 18 digits, strings without escapes, and TRUE and FALSE. Any other predicate, and any
that is not valid, is `UNKNOWN`: the Python parser reads it. What is read here means what the parser's tree would mean.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.decorator import jit
from ruledex.dictionary.plain_literals import (
    ABOVE,
    AT_LEAST,
    AT_MOST,
    BELOW,
    IN_RANGE,
    IS_NULL,
    NO_FAMILY,
    NULL_SAFE,
    NUMBER,
    TEXT,
    TRUTH,
    UNKNOWN,
    VALUES,
)
from ruledex.program.rule_tokens import (
    AND,
    BETWEEN,
    CLOSE,
    CONSTANT,
    DOT,
    END,
    NAME,
    NOT,
    OPEN,
    OPERATOR_SIGN,
    SIGN,
    read_tokens,
)

_COMMA, _MINUS, _BANG, _LESS, _EQUAL, _GREATER = 44, 45, 33, 60, 61, 62
_SINGLE, _DOUBLE, _BACKSLASH, _ZERO, _NINE = 39, 34, 92, 48, 57
_MOST_DIGITS = 18  # of an integer that surely fits 64 bits
# Words as numbers, one byte per letter, in lower case.
_IN, _IS, _NULL, _TRUE, _FALSE = 0x696E, 0x6973, 0x6E756C6C, 0x74727565, 0x66616C7365


class PlainPredicates(NamedTuple):
    """Some predicates; what is not `UNKNOWN` has an attribute, and constants of one family."""

    operation: NDArray[np.uint8]
    is_negated: NDArray[np.uint8]  # !=, NOT IN, NOT BETWEEN, IS NOT NULL
    family: NDArray[np.uint8]
    attribute_start: NDArray[np.int64]
    attribute_end: NDArray[np.int64]
    offsets: NDArray[np.int64]  # [n + 1] the constants of each
    constants: NDArray[np.int64]  # a number, 0 or 1 for a truth, or where a string starts
    ends: NDArray[np.int64]  # of a string


def read_plain(text: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> PlainPredicates:
    """Read the predicates `text[starts[i]:ends[i]]`."""
    n_predicates = len(starts)
    lengths = ends - starts
    # Each constant of a list takes a byte, and a comma or a parenthesis. BETWEEN has two.
    n_room = int(lengths.sum()) // 2 + 2 * n_predicates
    n_tokens = int(lengths.max(initial=0)) + 1
    read = PlainPredicates(
        np.zeros(n_predicates, np.uint8),
        np.zeros(n_predicates, np.uint8),
        np.zeros(n_predicates, np.uint8),
        np.zeros(n_predicates, np.int64),
        np.zeros(n_predicates, np.int64),
        np.zeros(n_predicates + 1, np.int64),
        np.empty(n_room, np.int64),
        np.empty(n_room, np.int64),
    )
    tokens = np.empty(n_tokens, np.int8), np.empty(n_tokens, np.int64), np.empty(n_tokens, np.int64)
    n_constants = _read_all(text, starts, ends, *tokens, read)
    return read._replace(constants=read.constants[:n_constants], ends=read.ends[:n_constants])


@jit
def _read_all(
    text: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    kinds: NDArray[np.int8],
    token_starts: NDArray[np.int64],
    token_stops: NDArray[np.int64],
    read: PlainPredicates,
) -> int:
    """Fill `read`; return the number of constants."""
    operations, is_negated, families = read.operation, read.is_negated, read.family
    attribute_start, attribute_end = read.attribute_start, read.attribute_end
    offsets, constants, constant_ends = read.offsets, read.constants, read.ends
    n_constants = 0
    for place in range(starts.size):
        operation, negated, family, n_made = UNKNOWN, 0, NO_FAMILY, 0
        n_tokens = read_tokens(text, starts[place], ends[place], kinds, token_starts, token_stops)
        at = 0
        if n_tokens > 2 and kinds[0] == NAME:
            at = 1
            while at + 1 < n_tokens and kinds[at] == DOT and kinds[at + 1] == NAME:
                at += 2
            attribute_start[place], attribute_end[place] = token_starts[0], token_stops[at - 1]
            first = 0  # token of the constants
            n_wanted = 1  # 0 for a list of any length
            if kinds[at] == OPERATOR_SIGN:
                operation, negated = _comparison(text, token_starts[at], token_stops[at])
                first = at + 1
            else:
                if kinds[at] == NOT:
                    negated = 1
                    at += 1
                word = 0
                if kinds[at] == NAME:
                    word = _word(text, token_starts[at], token_stops[at])
                if kinds[at] == BETWEEN:
                    operation, first, n_wanted = IN_RANGE, at + 1, 2
                elif word == _IN and kinds[at + 1] == OPEN:
                    operation, first, n_wanted = VALUES, at + 2, 0
                elif word == _IS and negated == 0:
                    at += 1
                    if kinds[at] == NOT:
                        negated = 1
                        at += 1
                    if kinds[at] == NAME and kinds[at + 1] == END:
                        word = _word(text, token_starts[at], token_stops[at])
                        operation = IS_NULL if word == _NULL else UNKNOWN
            if operation != UNKNOWN and operation != IS_NULL:
                # The constants, with what stands between and behind them.
                at = first
                while True:
                    found, value, value_end, at = _constant(text, kinds, token_starts, token_stops, at)
                    if found == NO_FAMILY or (n_made > 0 and found != family):
                        operation = UNKNOWN
                        break
                    family = found
                    constants[n_constants + n_made], constant_ends[n_constants + n_made] = value, value_end
                    n_made += 1
                    kind = kinds[at]
                    if n_wanted == 0:
                        at += 1
                        if kind == SIGN and text[token_starts[at - 1]] == _COMMA:
                            continue
                        if kind != CLOSE or kinds[at] != END:
                            operation = UNKNOWN
                        break
                    if n_made < n_wanted:
                        at += 1
                        if kind == AND:
                            continue
                        operation = UNKNOWN
                    elif kind != END:
                        operation = UNKNOWN
                    break
                if family == TRUTH and operation != NULL_SAFE and (operation != VALUES or n_wanted == 0):
                    operation = UNKNOWN  # truths have an order, which nobody uses
                if operation == IN_RANGE:
                    low, high = constants[n_constants], constants[n_constants + 1]
                    is_range = low < high
                    if family == TEXT:
                        low_end, high_end = constant_ends[n_constants], constant_ends[n_constants + 1]
                        is_range = _is_before(text, low, low_end, high, high_end)
                    if not is_range:
                        operation = UNKNOWN  # one value, or none
        operations[place], is_negated[place], families[place] = operation, negated, family
        n_constants += n_made if operation != UNKNOWN else 0
        offsets[place + 1] = n_constants
    return n_constants


@jit
def _comparison(text: NDArray[np.uint8], start: int, stop: int) -> tuple[int, int]:
    """Return the operation of a sign, and 1 if it is negated."""
    length = stop - start
    first = int(text[start])
    second = int(text[start + 1]) if length > 1 else 0
    operation, negated = UNKNOWN, 0
    if length == 3:
        operation = NULL_SAFE
    elif first == _EQUAL:
        operation = VALUES
    elif first == _BANG or (first == _LESS and second == _GREATER):
        operation, negated = VALUES, 1
    elif first == _LESS:
        operation = AT_MOST if length == 2 else BELOW
    elif first == _GREATER:
        operation = AT_LEAST if length == 2 else ABOVE
    return operation, negated


@jit
def _word(text: NDArray[np.uint8], start: int, stop: int) -> int:
    """Return a word of at most five letters as a number, in lower case; 0 for all others."""
    letters = 0
    if stop - start <= 5:
        for position in range(start, stop):
            byte = int(text[position])
            if 65 <= byte <= 90:
                byte |= 32
            letters = letters << 8 | byte
    return letters


@jit
def _constant(
    text: NDArray[np.uint8], kinds: NDArray[np.int8], starts: NDArray[np.int64], stops: NDArray[np.int64], at: int
) -> tuple[int, int, int, int]:
    """Return the family, the value and the end of the constant at a token, and the token behind it."""
    family, value, end = NO_FAMILY, 0, 0
    is_negative = kinds[at] == OPERATOR_SIGN and stops[at] - starts[at] == 1 and text[starts[at]] == _MINUS
    if is_negative:
        at += 1
    start, stop = starts[at], stops[at]
    if kinds[at] == CONSTANT:
        first = int(text[start])
        if _ZERO <= first <= _NINE and stop - start <= _MOST_DIGITS:
            family = NUMBER
            for position in range(start, stop):
                digit = int(text[position]) - _ZERO
                if digit < 0 or digit > 9:
                    family = NO_FAMILY
                value = 10 * value + digit
            value = -value if is_negative else value
        elif first in (_SINGLE, _DOUBLE) and not is_negative:
            value, end = start + 1, stop - 1
            if _is_plain_text(text, value, end, first):
                family = TEXT
    elif kinds[at] == NAME and not is_negative:
        word = _word(text, start, stop)
        if word in (_TRUE, _FALSE):
            family, value = TRUTH, 1 if word == _TRUE else 0
    return family, value, end, at + 1


@jit
def _is_plain_text(text: NDArray[np.uint8], start: int, end: int, quote: int) -> bool:
    """Return whether a string has neither escapes nor quotes in it, and is UTF-8."""
    position = start
    while position < end:
        byte = int(text[position])
        if byte == quote or byte == _BACKSLASH:  # noqa: SIM109  # Numba knows no tuple of a constant and a variable
            return False
        n_more, lowest, highest = 0, 0x80, 0xBF  # bytes that must follow, and what the first of them may be
        if byte >= 0x80:
            if byte < 0xC2 or byte > 0xF4:
                return False
            n_more = 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3
            if byte == 0xE0:
                lowest = 0xA0
            elif byte == 0xED:
                highest = 0x9F
            elif byte == 0xF0:
                lowest = 0x90
            elif byte == 0xF4:
                highest = 0x8F
            if position + n_more >= end:
                return False
            for following in range(position + 1, position + 1 + n_more):
                if text[following] < lowest or text[following] > highest:
                    return False
                lowest, highest = 0x80, 0xBF
        position += 1 + n_more
    return True


@jit
def _is_before(text: NDArray[np.uint8], start: int, end: int, other_start: int, other_end: int) -> bool:
    """Return whether a string comes before another. The order of UTF-8 is that of its characters."""
    length = min(end - start, other_end - other_start)
    same = 0
    while same < length and text[start + same] == text[other_start + same]:
        same += 1
    if same < length:
        return bool(text[start + same] < text[other_start + same])
    return bool(end - start < other_end - other_start)
