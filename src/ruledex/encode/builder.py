"""Rules to a Program: rewritten, their literals and nodes each once, everything in arrays.

A node is named while building by its literal's id, or by ~k for the k-th inner node; `finish` gives final ids.
"""

from __future__ import annotations

from array import array
from typing import NamedTuple

import numpy as np

from ruledex.encode.dictionary import Dictionary
from ruledex.encode.literal_table import Form, LiteralTable
from ruledex.encode.program import (
    ALWAYS,
    AND,
    FALSE_BY,
    LEAF,
    NEVER,
    NODE,
    OFFSET,
    OP,
    OR,
    WEIGHT,
    Program,
)
from ruledex.encode.score_code import ScoreCode
from ruledex.language.schema import Schema
from ruledex.language.tree import And, Expression, Or
from ruledex.rewrite.pipeline import match_tree, score_tree


class Built(NamedTuple):
    """A Program, and the dictionary that encodes events for it."""

    program: Program
    dictionary: Dictionary


class ProgramBuilder:
    """Takes rules one by one, in the order of their positions."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._literals = LiteralTable(schema)
        self._nodes: dict[tuple[int, tuple[int, ...]], int] = {}
        self._ops = array("B")
        self._levels = array("i")
        self._child_offsets = array("q", [0])
        self._children = array("i")
        self._roots: list[Form] = []
        self._static = array("d")
        self._score_offsets = array("q", [0])
        self._score_code = array("i")
        self._score_weight = array("d")

    def add(self, tree: Expression, static_score: float = 0.0) -> None:
        """Add a rule: its tree as parsed, bound to the schema."""
        self._roots.append(self._form(match_tree(tree, self._schema), {}))
        self._static.append(static_score)
        score = ScoreCode(self._literals, self._schema)
        score.write(score_tree(tree, self._schema))
        for operation, argument, weight in score.code:
            self._score_code.extend((operation, argument))
            self._score_weight.append(weight)
        self._score_offsets.append(len(self._score_weight))

    def _form(self, tree: Expression, done: dict[int, Form]) -> Form:
        """A literal, a constant, or ~k as an int for an inner node."""
        if not isinstance(tree, And | Or):
            return self._joined(self._literals.form(tree))
        known = done.get(id(tree))
        if known is None:
            op = AND if isinstance(tree, And) else OR
            known = done[id(tree)] = self._node(op, [self._form(child, done) for child in tree.children])
        return known

    def _joined(self, form: Form) -> Form:
        return self._node(form[0], [self._joined(part) for part in form[1]]) if isinstance(form, tuple) else form

    def _node(self, op: int, parts: list[Form]) -> Form:
        decides = op == OR
        children: set[int] = set()
        for part in parts:
            if isinstance(part, bool):
                if part == decides:
                    return part
                continue
            assert isinstance(part, int)
            if part < 0 and self._ops[~part] == op:
                children.update(self._children[self._child_offsets[~part] : self._child_offsets[~part + 1]])
            else:
                children.add(part)
        if len(children) < 2:
            return children.pop() if children else not decides
        key = op, tuple(sorted(children))
        known = self._nodes.get(key)
        if known is None:
            known = self._nodes[key] = ~len(self._ops)
            self._ops.append(op)
            self._levels.append(1 + max(0 if child >= 0 else self._levels[~child] for child in children))
            self._children.extend(key[1])
            self._child_offsets.append(len(self._children))
        return known

    def finish(self) -> Built:
        """The Program of all rules added. Nothing may be added afterwards."""
        literals, dictionary = self._literals.finish()
        n_literals = len(literals.final_id)
        levels = np.array(self._levels, np.int32)
        order = np.argsort(levels, kind="stable")
        inner_id = np.empty(len(order), NODE)
        inner_id[order] = n_literals + np.arange(len(order), dtype=NODE)

        def final(codes: np.ndarray) -> np.ndarray:
            # Each half is looked up for all and then chosen; an index of the other half is turned into 0.
            of_literal = literals.final_id[np.maximum(codes, 0)] if n_literals else codes
            of_inner = inner_id[np.maximum(~codes, 0)] if len(inner_id) else codes
            return np.where(codes >= 0, of_literal, of_inner).astype(NODE)

        all_offsets = np.array(self._child_offsets, OFFSET)
        counts = (all_offsets[1:] - all_offsets[:-1])[order]
        child_offsets = np.concatenate(([0], np.cumsum(counts))).astype(OFFSET)
        starts = all_offsets[:-1][order]
        gathered = np.repeat(starts - child_offsets[:-1], counts) + np.arange(child_offsets[-1])
        children = final(np.array(self._children, np.int32)[gathered])
        owner = np.repeat(np.arange(len(order)), counts)
        children = children[np.lexsort((children, owner))]
        roots = np.array([_root_code(root) for root in self._roots], np.int64)
        is_node = roots != _NEVER_CODE
        is_node &= roots != _ALWAYS_CODE
        root = np.where(roots == _ALWAYS_CODE, ALWAYS, NEVER).astype(NODE)
        root[is_node] = final(roots[is_node].astype(np.int32))
        code = np.array(self._score_code, np.int32).reshape(-1, 2)
        names_literal = (code[:, 0] == LEAF) | (code[:, 0] == FALSE_BY)
        code[names_literal, 1] = final(code[names_literal, 1])
        program = Program(
            *literals[:5],
            np.array(self._ops, OP)[order],
            child_offsets,
            children.astype(NODE),
            (n_literals + np.concatenate(([0], np.cumsum(np.bincount(levels, minlength=1)[1:])))).astype(NODE),
            root,
            np.array(self._static, WEIGHT),
            np.array(self._score_offsets, OFFSET),
            code.ravel(),
            np.array(self._score_weight, WEIGHT),
            dictionary.n_cells,
            dictionary.domain_offsets,
        )
        for array_ in program:
            if isinstance(array_, np.ndarray):
                array_.flags.writeable = False
        return Built(program, dictionary)


_ALWAYS_CODE, _NEVER_CODE = 2**40, 2**41  # beyond every node


def _root_code(root: Form) -> int:
    if isinstance(root, bool):
        return _ALWAYS_CODE if root else _NEVER_CODE
    assert isinstance(root, int)
    return root
