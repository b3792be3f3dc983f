"""Hold a stored Program to what engines trust: no id leads out of its array, children come before parents.

Hashes find damage; this finds what was written wrong, and an artifact whose hashes were not checked. Arrays are looked
at in blocks, so that little memory is needed beside the file's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ruledex.encode.program import (
    ALWAYS,
    AND,
    CELL,
    EVERY,
    FALSE_BY,
    LEAF,
    NEVER,
    NODE,
    OFFSET,
    OP,
    OR,
    PUSH_TRUE,
    WEIGHT,
    Program,
)
from ruledex.errors import ArtifactError

_DTYPES: Final[dict[str, type]] = {
    "interval_offsets": OFFSET,
    "interval_low": CELL,
    "interval_high": CELL,
    "negative_presence": CELL,
    "negative_of": NODE,
    "node_op": OP,
    "child_offsets": OFFSET,
    "children": NODE,
    "level_offsets": NODE,
    "root": NODE,
    "static_score": WEIGHT,
    "score_offsets": OFFSET,
    "score_code": np.int32,
    "score_weight": WEIGHT,
    "domain_offsets": CELL,
}
_BLOCK: Final = 1 << 18


def program_of(arrays: dict[str, NDArray[Any]], n_cells: int) -> Program:
    """The Program of stored arrays, after all checks."""
    for name, dtype in _DTYPES.items():
        if name not in arrays:
            raise ArtifactError(f"the stored program has no array {name!r}")
        _require(arrays[name].ndim == 1 and arrays[name].dtype == dtype, f"{name} is no list of {np.dtype(dtype)}")
    program = Program(**{name: arrays[name] for name in _DTYPES}, n_cells=n_cells)
    _require(n_cells > EVERY, f"it has {n_cells} cells")
    _require(program.n_nodes <= np.iinfo(NODE).max, "it has more nodes than can be counted")
    _check_literals(program)
    _check_nodes(program)
    _check_rules(program)
    _check_scores(program)
    _within(program.domain_offsets, 0, n_cells, "domain_offsets")
    _require(bool(np.all(np.diff(program.domain_offsets) > 0)), "domain_offsets do not ascend")
    return program


def _check_literals(program: Program) -> None:
    low, high = program.interval_low, program.interval_high
    _check_offsets(program.interval_offsets, len(low), "interval_offsets")
    _require(len(low) == len(high), "interval_low and interval_high differ in length")
    _within(low, 0, program.n_cells - 1, "interval_low")
    _within(high, 0, program.n_cells - 1, "interval_high")
    _require(bool(np.all(low <= high)), "an interval ends before it begins")
    begins = np.zeros(len(low) + 1, np.bool_)
    begins[program.interval_offsets] = True
    _require(bool(np.all((low[1:] > high[:-1]) | begins[1:-1])), "the intervals of a literal are not in order")
    _require(len(program.negative_presence) == len(program.negative_of), "negative literals differ in length")
    _within(program.negative_presence, 0, program.n_cells - 1, "negative_presence")
    _within(program.negative_of, 0, program.n_positive - 1, "negative_of")


def _check_nodes(program: Program) -> None:
    n_literals, n_inner = program.n_literals, len(program.node_op)
    _within(program.node_op, AND, OR, "node_op")
    _require(len(program.child_offsets) == n_inner + 1, "child_offsets has the wrong length")
    _check_offsets(program.child_offsets, len(program.children), "child_offsets")
    _require(bool(np.all(np.diff(program.child_offsets) >= 2)), "a node has fewer than two children")
    _within(program.children, 0, program.n_nodes - 1, "children")
    levels = program.level_offsets
    _require(
        len(levels) > 0
        and levels[0] == n_literals
        and levels[-1] == program.n_nodes
        and bool(np.all(np.diff(levels) >= 0)),
        "the levels do not cover the nodes",
    )
    for start, stop in _blocks(n_inner):
        offsets = program.child_offsets[start : stop + 1]
        children = program.children[offsets[0] : offsets[-1]]
        starts = offsets[:-1] - offsets[0]
        begins = np.zeros(len(children) + 1, np.bool_)
        begins[starts] = True
        begins[-1] = True
        _require(bool(np.all((children[1:] > children[:-1]) | begins[1:-1])), "a node's children are not in order")
        # Children ascend, so the last is the highest: it has to lie below the level that its parent is in.
        level_of = np.searchsorted(levels, np.arange(n_literals + start, n_literals + stop), side="right") - 1
        last = children[offsets[1:] - offsets[0] - 1]
        _require(bool(np.all(last < levels[level_of])), "a node stands before one of its children")


def _check_rules(program: Program) -> None:
    root = program.root
    _within(root, NEVER, program.n_nodes - 1, "root")
    _require(NEVER < ALWAYS < 0, "roots are numbered otherwise")
    _require(len(program.static_score) == len(root), "static_score has the wrong length")
    _require(bool(np.all(np.isfinite(program.static_score))), "a static score is not finite")


def _check_scores(program: Program) -> None:
    """Every score program leaves exactly one value, and never takes what is not there."""
    offsets = program.score_offsets
    n_pairs = len(program.score_weight)
    _require(len(offsets) == program.n_rules + 1, "score_offsets has the wrong length")
    _check_offsets(offsets, n_pairs, "score_offsets")
    _require(len(program.score_code) == 2 * n_pairs, "score_code has the wrong length")
    for start, stop in _blocks(program.n_rules):
        begin, end = int(offsets[start]), int(offsets[stop])
        code = program.score_code[2 * begin : 2 * end].reshape(-1, 2)
        operation, argument = code[:, 0], code[:, 1]
        _within(operation, AND, FALSE_BY, "the operations of score_code")
        names_literal = (operation == LEAF) | (operation == FALSE_BY)
        _within(argument[names_literal], 0, program.n_literals - 1, "the literals of score_code")
        _within(argument[operation == PUSH_TRUE], -1, 1, "the constants of score_code")
        joins = operation < LEAF
        _require(bool(np.all(argument[joins] >= 1)), "an operation of score_code joins nothing")
        change = np.where(joins, 1 - argument.astype(np.int64), operation != FALSE_BY)
        height = np.cumsum(change)
        before = np.concatenate([[0], height])
        firsts = offsets[start : stop + 1] - begin
        lengths = np.diff(firsts)
        base = before[firsts[:-1]]
        _require(bool(np.all(height - np.repeat(base, lengths) >= 1)), "a score program takes more than there is")
        left = before[firsts[1:]] - base
        _require(bool(np.all(left == (lengths > 0))), "a score program leaves several values")
        weights = program.score_weight[begin:end]
        _require(bool(np.all(np.isfinite(weights) & (weights >= 0))), "a weight is negative or not finite")


def _blocks(n: int) -> Iterator[tuple[int, int]]:
    for start in range(0, n, _BLOCK):
        yield start, min(n, start + _BLOCK)


def _within(values: NDArray[Any], low: int, high: int, name: str) -> None:
    if len(values):
        _require(low <= int(values.min()) and int(values.max()) <= high, f"{name} leads out of its bounds")


def _check_offsets(offsets: NDArray[np.int64], end: int, name: str) -> None:
    ascending = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == end and bool(np.all(np.diff(offsets) >= 0))
    _require(ascending, f"{name} does not ascend from 0 to {end:,}")


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ArtifactError(f"the stored program is damaged: {message}")
