"""Check a stored Program for what engines trust: no id leads out of its array, and children come before parents.

Hashes find damage. These checks find what was written wrong, and what is wrong in an artifact whose hashes were not
checked. Nodes and score programs are most of an index, so a kernel checks each of them in one pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import freeze_all
from ruledex.compiled.constants import (
    AND,
    CELL,
    CONSTANT,
    EVERY,
    FALSE_BY,
    LEAF,
    NEVER,
    NODE,
    OP,
    OPERATION,
    OR,
    PLACE,
    RULE,
    SCORES_ONE,
    STEP_BITS,
    WEIGH,
    WEIGHT,
)
from ruledex.compiled.decorator import jit
from ruledex.errors import ArtifactError
from ruledex.program.program import Program

SOUND = -1  # no fault was found
_DTYPES: Final[dict[str, type]] = {
    "interval_offsets": PLACE,
    "interval_low": CELL,
    "interval_high": CELL,
    "negative_presence": CELL,
    "negative_of": NODE,
    "node_op": OP,
    "child_offsets": PLACE,
    "children": NODE,
    "level_offsets": NODE,
    "root": NODE,
    "static_score": WEIGHT,
    "score_offsets": PLACE,
    "score_code": np.int32,
    "score_weight": WEIGHT,
    "domain_offsets": CELL,
}


def program_of(arrays: dict[str, NDArray[Any]], n_cells: int) -> Program:
    """Return the Program of stored arrays. Raises ArtifactError where a check fails."""
    for name, dtype in _DTYPES.items():
        if name not in arrays:
            raise ArtifactError(f"the stored program has no array {name!r}")
        _require(arrays[name].ndim == 1 and arrays[name].dtype == dtype, f"{name} is not a list of {np.dtype(dtype)}")
    found = freeze_all([(arrays[name], dtype) for name, dtype in _DTYPES.items()])
    program = Program(**dict(zip(_DTYPES, found, strict=True)), n_cells=n_cells)
    _require(n_cells > EVERY, f"it has {n_cells} cells")
    _require(program.n_nodes <= np.iinfo(NODE).max, "it has more nodes than a node id can number")
    _check_literals(program)
    _check_nodes(program)
    _check_rules(program)
    _check_scores(program)
    _within(program.domain_offsets, 0, n_cells, "domain_offsets")
    _require(bool(np.all(np.diff(program.domain_offsets) > 0)), "domain_offsets do not ascend")
    return program


def check_shards(shards: Sequence[tuple[Program, NDArray[Any] | None]], n_rules: int) -> None:
    """Raise ArtifactError unless the shards hold every rule of the index once, over the same cells."""
    _require(len(shards) > 0, "it has no shard")
    programs = [program for program, _ in shards]
    n_found = sum(program.n_rules for program in programs)
    _require(n_found == n_rules, f"its shards have {n_found:,} rules, but its metadata says {n_rules!r}")
    if len(shards) == 1 and shards[0][1] is None:
        return
    is_there = np.zeros(n_rules, np.bool_)
    for program, rules in shards:
        _require(
            rules is not None and rules.dtype == RULE and rules.shape == (program.n_rules,),
            "the positions of a shard's rules do not fit it",
        )
        assert rules is not None
        _within(rules, 0, n_rules - 1, "a shard's rules")
        _require(bool(np.all(rules[1:] > rules[:-1])), "a shard's rules do not ascend")
        is_there[rules] = True
        _require(np.array_equal(program.domain_offsets, programs[0].domain_offsets), "its shards differ in their cells")
    _require(bool(np.all(is_there)), "a rule is in two shards")


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
    n_inner = len(program.node_op)
    _within(program.node_op, AND, OR, "node_op")
    _require(len(program.child_offsets) == n_inner + 1, "child_offsets has the wrong length")
    _check_offsets(program.child_offsets, len(program.children), "child_offsets")
    _within(program.children, 0, program.n_nodes - 1, "children")
    levels = program.level_offsets
    _require(
        len(levels) > 0
        and levels[0] == program.n_literals
        and levels[-1] == program.n_nodes
        and bool(np.all(np.diff(levels) >= 0)),
        "the levels do not cover the nodes",
    )
    node = first_faulty_node(program.child_offsets, program.children, levels)
    _require(node == SOUND, f"node {node:,} does not have two or more children in order and below it")


def _check_rules(program: Program) -> None:
    root = program.root
    _within(root, NEVER, program.n_nodes - 1, "root")
    _require(len(program.static_score) in (0, len(root)), "static_score has the wrong length")
    _require(bool(np.all(np.isfinite(program.static_score))), "a static score is not finite")


def _check_scores(program: Program) -> None:
    offsets = program.score_offsets
    weight = program.score_weight
    _require(len(offsets) == program.n_rules + 1, "score_offsets has the wrong length")
    _check_offsets(offsets, len(program.score_code), "score_offsets")
    _require(bool(np.all((weight >= 0.0) & (weight < np.inf))), "a weight is negative or not finite")
    rule = first_faulty_score(offsets, program.score_code, len(weight), program.n_literals)
    _require(rule == SOUND, f"the score program of rule {rule:,} cannot be run")


def _within(values: NDArray[Any], low: int, high: int, name: str) -> None:
    if len(values):
        _require(low <= int(values.min()) and int(values.max()) <= high, f"{name} leads out of its bounds")


def _check_offsets(offsets: NDArray[np.int32], end: int, name: str) -> None:
    ascending = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == end and bool(np.all(np.diff(offsets) >= 0))
    _require(ascending, f"{name} does not ascend from 0 to {end:,}")


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ArtifactError(f"the stored program is damaged: {message}")


@jit
def first_faulty_node(
    child_offsets: NDArray[np.int32],
    children: NDArray[np.int32],
    level_offsets: NDArray[np.int32],
) -> int:
    """Return the first inner node that lacks two children, ascending and below its level; `SOUND` if there is none.

    The offsets must ascend and end where their arrays do.
    """
    first_inner = level_offsets[0]
    for level in range(level_offsets.size - 1):
        for node in range(level_offsets[level] - first_inner, level_offsets[level + 1] - first_inner):
            if child_offsets[node + 1] - child_offsets[node] < 2:
                return node
            before = -1
            for at in range(child_offsets[node], child_offsets[node + 1]):
                if children[at] <= before:
                    return node
                before = children[at]
            if before >= level_offsets[level]:
                return node
    return SOUND


@jit
def first_faulty_score(
    offsets: NDArray[np.int32],
    code: NDArray[np.int32],
    n_weights: int,
    n_literals: int,
) -> int:
    """Return the first rule whose score program cannot be run or does not leave one value; `SOUND` if there is none.

    The offsets must ascend and end where their arrays do.
    """
    for rule in range(offsets.size - 1):
        height = 0
        for place in range(offsets[rule], offsets[rule + 1]):
            operation, argument = code[place] & OPERATION, code[place] >> STEP_BITS
            if operation == LEAF:
                height += 1
                if not 0 <= argument < n_literals:
                    return rule
            elif operation == FALSE_BY:
                if height < 1 or not 0 <= argument < n_literals:
                    return rule
            elif operation == WEIGH:
                if height < 1 or not 0 <= argument < n_weights:
                    return rule
            elif operation == CONSTANT:
                height += 1
                if not 0 <= argument <= SCORES_ONE:
                    return rule
            else:
                if not 1 <= argument <= height:
                    return rule
                height += 1 - argument
        if height != (offsets[rule] < offsets[rule + 1]):
            return rule
    return SOUND
