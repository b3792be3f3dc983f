"""The bytes that `marshal` writes of values: what begins each type, where texts lie, and what comes after a value."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.decorator import inlined, jit
from ruledex.events.arrow.straight_kernels import SIZE_BITS

MOST_DEEP: Final = 2_100  # marshal refuses to go deeper than 2,000
FLAG: Final = 0x80  # of what may be referred to later
TYPE: Final = 0x7F
NULL, NONE, FALSE, TRUE, _STOP, _DOTS = ord("0"), ord("N"), ord("F"), ord("T"), ord("S"), ord(".")
INT, LONG, FLOAT, _COMPLEX, REFERENCE = ord("i"), ord("l"), ord("g"), ord("y"), ord("r")
_SHORT, _SHORT_INTERNED = ord("z"), ord("Z")  # texts with one byte for their size
_ASCII, _ASCII_INTERNED, _UNICODE, _INTERNED, _BYTES = ord("a"), ord("A"), ord("u"), ord("t"), ord("s")
_SMALL_TUPLE, _TUPLE, _LIST, _SET, _FROZEN, DICT = ord(")"), ord("("), ord("["), ord("<"), ord(">"), ord("{")
UNRESOLVED: Final = -2  # a reference whose name nobody has looked up; below it are events: -3 is the first
# What the kernels report of their work.
REPORT: Final = 5
N_REFERENCES, N_CELLS, N_ODD, N_WANTED, IS_FULL = range(REPORT)


@inlined
def unsigned(data: NDArray[np.uint8], at: int) -> Any:
    """Return the unsigned number of four bytes."""
    low = np.int64(data[np.uint64(at)]) | np.int64(data[np.uint64(at + 1)]) << np.int64(8)
    high = np.int64(data[np.uint64(at + 2)]) | np.int64(data[np.uint64(at + 3)]) << np.int64(8)
    return low | high << np.int64(16)


@inlined
def signed(data: NDArray[np.uint8], at: int) -> Any:
    """Return the signed number of four bytes."""
    return (unsigned(data, at) ^ np.int64(0x80000000)) - np.int64(0x80000000)


@inlined
def is_text_type(kind: Any) -> bool:
    """Return whether a value of this type is a text."""
    return kind in (_SHORT, _SHORT_INTERNED, _UNICODE, _INTERNED, _ASCII, _ASCII_INTERNED)


@inlined
def text_begin(kind: Any, at: int) -> int:
    """Return where the bytes of the text at a place begin."""
    return at + 2 if kind in (_SHORT, _SHORT_INTERNED) else at + 5


@inlined
def text_size(data: NDArray[np.uint8], kind: Any, at: int) -> Any:
    """Return how many bytes the text at a place has."""
    if kind in (_SHORT, _SHORT_INTERNED):
        return np.int64(data[np.uint64(at + 1)])
    return unsigned(data, at + 1)


@jit
def after_value(
    data: NDArray[np.uint8],
    at: int,
    stack: NDArray[np.int64],
    references: NDArray[np.int64],
    codes: NDArray[np.int64],
    report: NDArray[np.int64],
) -> int:
    """Return the place after a value, or -1 if it has something that is not known here; notes what may be referred to.

    `stack` is scratch: how many values are still to come of each container around.
    """
    depth, n_references = 0, report[N_REFERENCES]
    stack[0] = 1
    while depth >= 0:
        if stack[depth] == 0:
            depth -= 1
            continue
        tag = np.int64(data[at])
        kind = tag & TYPE
        if kind == NULL:  # the end of a dict
            at += 1
            depth -= 1
            continue
        stack[depth] -= 1
        if tag & FLAG:
            references[n_references], codes[n_references] = at, UNRESOLVED
            n_references += 1
        n_items = np.int64(-1)
        if kind in (NONE, FALSE, TRUE, _STOP, _DOTS):
            at += 1
        elif kind in (INT, REFERENCE):
            at += 5
        elif is_text_type(kind):
            at = text_begin(kind, at) + text_size(data, kind, at)
        elif kind == FLOAT:
            at += 9
        elif kind == LONG:
            at += 5 + 2 * abs(signed(data, at + 1))
        elif kind == _COMPLEX:
            at += 17
        elif kind == _BYTES:
            at += 5 + unsigned(data, at + 1)
        elif kind == _SMALL_TUPLE:
            n_items = np.int64(data[at + 1])
            at += 2
        elif kind in (_TUPLE, _LIST, _SET, _FROZEN):
            n_items = unsigned(data, at + 1)
            at += 5
        elif kind == DICT:
            n_items = np.int64(SIZE_BITS)  # until its end
            at += 1
        else:
            return -1
        if n_items >= 0:
            depth += 1
            stack[depth] = n_items
    report[N_REFERENCES] = n_references
    return at
