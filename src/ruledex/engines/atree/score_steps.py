"""Score programs of rules that come and go: each lies in a block of a heap, and those to be ranked are put together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import FALSE_BY, LEAF, OPERATION, STEP_BITS
from ruledex.compiled.decorator import jit
from ruledex.engines.atree.layout import BLOCK, N_DOWN, ROW


@jit
def root_steps(
    n_literals: int,
    node_op: NDArray[np.uint8],
    child_offsets: NDArray[np.int32],
    children: NDArray[np.int32],
    root: int,
    stack: NDArray[np.int32],
    next_child: NDArray[np.int32],
    first: int,
    out: NDArray[np.int32],
) -> int:
    """Write the program that scores what a root without one does; return its number of steps. They may be only counted.

    The stack is as high as there are levels above the literals, and one more.
    """
    n_steps = 0
    height = 0
    stack[0] = root
    next_child[0] = -1
    while height >= 0:
        node = stack[height]
        inner = node - n_literals
        if node < n_literals:
            if out.size != 0:
                out[first + n_steps] = node << STEP_BITS | LEAF
            n_steps += 1
            height -= 1
        else:
            if next_child[height] < 0:
                next_child[height] = child_offsets[inner]
            if next_child[height] < child_offsets[inner + 1]:
                stack[height + 1] = children[next_child[height]]
                next_child[height] += 1
                height += 1
                next_child[height] = -1
            else:
                if out.size != 0:
                    n_children = child_offsets[inner + 1] - child_offsets[inner]
                    out[first + n_steps] = n_children << STEP_BITS | node_op[inner]
                n_steps += 1
                height -= 1
    return n_steps


@jit
def count_root_steps(
    n_literals: int,
    node_op: NDArray[np.uint8],
    child_offsets: NDArray[np.int32],
    children: NDArray[np.int32],
    root: NDArray[np.int32],
    stacks: NDArray[np.int32],
    lengths: NDArray[np.int64],
) -> None:
    """Replace the length of each empty score program by that of its root's; a constant scores nothing."""
    nothing = np.empty(0, np.int32)
    for rule in range(root.size):
        if lengths[rule] == 0 and root[rule] >= 0:
            lengths[rule] = root_steps(
                n_literals, node_op, child_offsets, children, root[rule], stacks[0], stacks[1], 0, nothing
            )


@jit
def write_steps(
    n_literals: int,
    node_op: NDArray[np.uint8],
    child_offsets: NDArray[np.int32],
    children: NDArray[np.int32],
    root: NDArray[np.int32],
    stacks: NDArray[np.int32],
    given_offsets: NDArray[np.int32],
    given: NDArray[np.int32],
    offsets: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Write the score programs of all rules, those of empty ones by their roots."""
    for rule in range(root.size):
        first, last = given_offsets[rule], given_offsets[rule + 1]
        if first == last and offsets[rule] < offsets[rule + 1]:
            root_steps(
                n_literals,
                node_op,
                child_offsets,
                children,
                root[rule],
                stacks[0],
                stacks[1],
                offsets[rule],
                out,
            )
        for step in range(last - first):
            out[offsets[rule] + step] = given[first + step]


@jit
def rename_literals(code: NDArray[np.int32], names: NDArray[np.int32], out: NDArray[np.int32]) -> None:
    """Write the steps with `names[literal]` for each literal."""
    for place in range(code.size):
        operation = code[place] & OPERATION
        step = code[place]
        if operation in (LEAF, FALSE_BY):
            step = names[step >> STEP_BITS] << STEP_BITS | operation
        out[place] = step


@jit
def copy_steps(
    heap: NDArray[np.int32],
    starts: NDArray[np.int32],
    rules: NDArray[np.int32],
    offsets: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Write the programs of some rules one behind the other."""
    for place in range(rules.size):
        start = starts[rules[place]]
        for step in range(offsets[place + 1] - offsets[place]):
            out[offsets[place] + step] = heap[start + step]


@jit
def copy_intervals(
    nodes: NDArray[np.int32],
    heap: NDArray[np.int32],
    literals: NDArray[np.int32],
    offsets: NDArray[np.int32],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
) -> None:
    """Write the intervals of some literals of a tree one behind the other."""
    for place in range(literals.size):
        start = nodes[literals[place], BLOCK]
        for interval in range(nodes[literals[place], N_DOWN]):
            low[offsets[place] + interval] = heap[start + ROW * interval]
            high[offsets[place] + interval] = heap[start + ROW * interval + 1]
