"""Read the structure of rules from their bytes: AND, OR, XOR, XNOR, NOT and parentheses, and the predicates between.

The grammar is that of language/parser.py, with each predicate left as a slice of bytes. Rules are one buffer and
offsets, as in an Arrow column. The structure of a rule is postfix code, in which

    a number n >= 0        is the predicate whose bytes are `text[slice_start[n]:slice_end[n]]`
    a negative number      is an operator on the topmost operands, see `operator_code`

A slice has no blanks or comments around it. It may not be a predicate at all, which its parser finds out. If all slices
of a rule can be parsed, the rule is valid, and its tree is the one that the code describes. Rules that this scan is not
sure of have the status `FALLBACK` and no code; the Python parser reads them, or says what is wrong with them.

    (a + 1) * 2 > 3        a parenthesis opens a group of conditions until what follows its end says that it did not;
    (age > 30)^2           then the operand, or the predicate with its weight, began with the parenthesis
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import lengthen
from ruledex.compiled.decorator import jit
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
    XNOR,
    read_tokens,
)

OK, FALLBACK = 0, 1

# The states of a scan.
_OPERAND, _PREDICATE, _GROUP_CLOSED = 0, 1, 2

# The columns of the stack: an operator or an open group; how tightly it binds; its number of operands; and for a group
# the code and slices written before it, where it opened, and the nesting before it.
_KIND, _TIGHTNESS, _N_OPERANDS, _CODE, _SLICES, _START, _NESTING = range(7)
_TIGHTNESS_OF = (3, 1, 2, 2, 4)  # AND, OR, XOR, XNOR, NOT

_STAR, _PLUS, _MINUS = 42, 43, 45
_FAILED = -1
_LEVELS_PER_GROUP = 4  # OR, XOR, AND and NOT can stand between two parentheses
_LEVELS_PER_PREDICATE = 3  # NOT, a comparison and an attribute, before any function or sign


class _Tokens(NamedTuple):
    """The tokens of one rule."""

    kinds: NDArray[np.int8]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]


class Scan(NamedTuple):
    """The structure of scanned rules."""

    status: NDArray[np.uint8]  # [n_rules] OK or FALLBACK
    code_offsets: NDArray[np.int64]  # [n_rules + 1]
    code: NDArray[np.int32]
    slice_start: NDArray[np.int64]  # [n_slices] in the order of the text
    slice_end: NDArray[np.int64]


@jit
def operator_code(operator: int, n_operands: int) -> int:
    """Return the code of an operator on the `n_operands` topmost operands; NOT has one."""
    return -1 - (operator + 8 * n_operands)


def scan_texts(text: NDArray[np.uint8], offsets: NDArray[np.integer], max_depth: int, max_length: int = 2**24) -> Scan:
    """Return the structure of the rules `text[offsets[i]:offsets[i + 1]]`, which are UTF-8. The text is read-only.

    A tree that could be deeper than `max_depth`, and a rule of more than `max_length` bytes, fall back.
    """
    bounds = np.ascontiguousarray(offsets, np.int64)
    n_rules = len(bounds) - 1
    n_bytes = int(bounds[-1] - bounds[0])
    status = np.zeros(n_rules, np.uint8)
    code_offsets = np.zeros(n_rules + 1, np.int64)
    n_room = n_bytes // 8 + 64
    code, starts, ends = np.empty(n_room, np.int32), np.empty(n_room, np.int64), np.empty(n_room, np.int64)
    stack = np.zeros((max_depth, 7), np.int64)
    longest = min(n_bytes if n_rules == 1 else int(np.diff(bounds).max(initial=0)), max_length)
    n_tokens = longest + 1
    tokens = _Tokens(np.empty(n_tokens, np.int8), np.empty(n_tokens, np.int64), np.empty(n_tokens, np.int64))
    n_done, n_slices = 0, 0
    while True:
        n_done, n_slices = _scan_from(
            text, bounds, n_done, n_slices, max_length, tokens, stack, status, code_offsets, code, starts, ends
        )
        if n_done == n_rules:
            break
        n_room = 2 * n_room + int(bounds[n_done + 1] - bounds[n_done])
        code, starts, ends = lengthen(code, n_room), lengthen(starts, n_room), lengthen(ends, n_room)
    return Scan(status, code_offsets, code[: code_offsets[-1]], starts[:n_slices], ends[:n_slices])


@jit
def _scan_from(
    text: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    first_rule: int,
    n_slices: int,
    max_length: int,
    tokens: _Tokens,
    stack: NDArray[np.int64],
    status: NDArray[np.uint8],
    code_offsets: NDArray[np.int64],
    code: NDArray[np.int32],
    slice_start: NDArray[np.int64],
    slice_end: NDArray[np.int64],
) -> tuple[int, int]:
    """Scan rules while there is room for any next rule; return the next rule and `n_slices`."""
    rule = first_rule
    while rule < offsets.size - 1:
        begin, end = offsets[rule], offsets[rule + 1]
        n_code = code_offsets[rule]
        # Each entry of the code has at least a byte of the text to itself.
        if max(n_code, n_slices) + (end - begin) > code.size:
            break
        made, n_made = _FAILED, 0
        if end - begin <= max_length and read_tokens(text, begin, end, tokens.kinds, tokens.starts, tokens.stops) > 0:
            made, n_made = _scan_rule(text, tokens, stack, code, n_code, slice_start, slice_end, n_slices)
        if made == _FAILED:
            status[rule] = FALLBACK
        else:
            n_code, n_slices = made, n_made
        code_offsets[rule + 1] = n_code
        rule += 1
    return rule, n_slices


@jit
def _scan_rule(
    text: NDArray[np.uint8],
    tokens: _Tokens,
    stack: NDArray[np.int64],
    code: NDArray[np.int32],
    n_code: int,
    slice_start: NDArray[np.int64],
    slice_end: NDArray[np.int64],
    n_slices: int,
) -> tuple[int, int]:
    """Append one rule's code and slices; return their new numbers, or a pair of `_FAILED`."""
    failed = (_FAILED, _FAILED)
    kinds, starts, stops = tokens.kinds, tokens.starts, tokens.stops
    max_depth = stack.shape[0]
    height = 0  # of the stack
    deepest = 0  # an upper bound of the tree's depth
    n_nesting = 0  # tokens of predicates that can add a level to the tree
    n_turns = 0  # changes between XOR and XNOR: each adds a level
    state = _OPERAND
    n_open = 0  # parentheses within the predicate
    between_waits = False  # for its AND
    previous = END
    predicate, predicate_nesting = 0, 0
    group_code, group_slices = 0, 0
    token = -1
    while True:
        token += 1
        kind, start = kinds[token], starts[token]
        if state == _OPERAND:
            if kind in (NOT, BANG, OPEN):
                if height == max_depth:
                    return failed
                _push(stack, height, NOT if kind != OPEN else OPEN, 1)
                if kind == OPEN:
                    _remember(stack, height, n_code, n_slices, start, n_nesting)
                height += 1
            elif kind in (NAME, CONSTANT) or (kind == OPERATOR_SIGN and _may_lead(text, start)):
                state, predicate, predicate_nesting = _PREDICATE, start, n_nesting
                n_open, between_waits, previous = 0, False, kind
                n_nesting += 1 if kind == OPERATOR_SIGN else 0
            else:
                return failed
            continue

        ends = kind <= XNOR or kind in (CLOSE, END)
        if state == _GROUP_CLOSED and not ends:
            # This was not a group: a predicate began with the parenthesis.
            n_code, n_slices = group_code, group_slices
            state, n_open, between_waits = _PREDICATE, 0, False
        if state == _PREDICATE:
            if n_open > 0:
                ends = kind == END
            elif previous == DOT:
                ends = ends and kind > XNOR  # a.and = 1
            elif kind == AND and between_waits:
                ends, between_waits = False, False
            if not ends:
                if kind == OPEN:
                    n_open += 1
                elif kind == CLOSE:
                    n_open -= 1
                elif kind == BETWEEN and n_open == 0 and previous != DOT:
                    between_waits = True
                n_nesting += 1 if kind <= NOT or kind in (OPEN, OPERATOR_SIGN, BANG) else 0
                previous = kind
                continue
            if n_open > 0:
                return failed
            slice_start[n_slices], slice_end[n_slices] = predicate, stops[token - 1]
            code[n_code] = n_slices
            n_code, n_slices = n_code + 1, n_slices + 1
            deepest = max(deepest, _LEVELS_PER_GROUP * (height + 1) + n_nesting - predicate_nesting)

        # The operand is complete.
        if kind <= XNOR:
            tightness = _TIGHTNESS_OF[kind]
            height, n_code = _reduce(stack, height, tightness + 1, code, n_code)
            if height > 0 and stack[height - 1, _KIND] == kind:
                stack[height - 1, _N_OPERANDS] += 1
            else:
                before = height
                height, n_code = _reduce(stack, height, tightness, code, n_code)
                n_turns += before - height
                if height == max_depth:
                    return failed
                _push(stack, height, kind, 2)
                height += 1
            state = _OPERAND
            continue
        height, n_code = _reduce(stack, height, 1, code, n_code)
        if kind == END:
            if height > 0 or deepest + n_turns + _LEVELS_PER_PREDICATE > max_depth:
                return failed
            return n_code, n_slices
        if height == 0:
            return failed
        height -= 1
        group_code, group_slices = stack[height, _CODE], stack[height, _SLICES]
        predicate, predicate_nesting = stack[height, _START], stack[height, _NESTING]
        n_nesting += 1
        state, previous = _GROUP_CLOSED, CLOSE


@jit
def _may_lead(text: NDArray[np.uint8], start: int) -> bool:
    """Return whether an operand can begin with a sign: + and - are unary, and * alone is any field."""
    return bool(text[start] in (_STAR, _PLUS, _MINUS))


@jit
def _push(stack: NDArray[np.int64], height: int, kind: int, n_operands: int) -> None:
    stack[height, _KIND] = kind
    stack[height, _TIGHTNESS] = 0 if kind == OPEN else _TIGHTNESS_OF[kind]
    stack[height, _N_OPERANDS] = n_operands


@jit
def _remember(stack: NDArray[np.int64], height: int, n_code: int, n_slices: int, start: int, n_nesting: int) -> None:
    """Store with an open group the state to go back to if it turns out not to be a group."""
    stack[height, _CODE] = n_code
    stack[height, _SLICES] = n_slices
    stack[height, _START] = start
    stack[height, _NESTING] = n_nesting


@jit
def _reduce(
    stack: NDArray[np.int64], height: int, tightness: int, code: NDArray[np.int32], n_code: int
) -> tuple[int, int]:
    """Write the operators on the stack that bind at least as tightly; return its new height and `n_code`."""
    while height > 0 and stack[height - 1, _TIGHTNESS] >= tightness:
        height -= 1
        code[n_code] = operator_code(stack[height, _KIND], stack[height, _N_OPERANDS])
        n_code += 1
    return height, n_code
