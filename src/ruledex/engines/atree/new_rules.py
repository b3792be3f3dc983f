"""Rules that come later, encoded by themselves: a small Program of their own, and what its literals mean."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import read_only
from ruledex.dictionary.meanings import Meanings, meanings_of
from ruledex.engines.atree.score_steps import count_root_steps, write_steps
from ruledex.errors import RuleError, RuleFault, RulesError
from ruledex.language.schema import Schema
from ruledex.language.tree import Expression
from ruledex.program.builder import ProgramBuilder
from ruledex.program.program import Program

NewRule: TypeAlias = tuple[str | Expression, float]
Fault: TypeAlias = tuple[int, RuleError]


class EncodedRules(NamedTuple):
    """Rules in the order given. Every rule has its score program; literals are those of the Program, which has no
    cells."""

    program: Program
    meanings: Meanings
    static_score: NDArray[np.float64]
    score_offsets: NDArray[np.int64]  # [n_rules + 1]
    score_code: NDArray[np.int32]


def encode_rules(schema: Schema, rules: Sequence[NewRule]) -> EncodedRules:
    """Encode texts, and trees as the parser makes them. What is no rule is reported, all of it at once."""
    encoded, faults = encode_good_rules(schema, rules)
    if faults:
        raise RulesError([RuleFault(None, error, place + 1) for place, error in faults], len(rules))
    return encoded


def encode_good_rules(schema: Schema, rules: Sequence[NewRule]) -> tuple[EncodedRules, list[Fault]]:
    """Encode those that are rules; and what is wrong with the others, by their places."""
    builder = ProgramBuilder(schema)
    faults: list[Fault] = []
    first = 0
    for is_text, group in groupby(rules, lambda rule: isinstance(rule[0], str)):
        run = list(group)
        found = _add_texts(builder, run) if is_text else _add_trees(builder, schema, run)
        faults += [(first + place, error) for place, error in found]
        first += len(run)
    meanings, program = meanings_of(builder.literals), builder.finish_without_cells()
    offsets, code = _score_programs(program)
    static_score = read_only(program.static_scores())
    return EncodedRules(program, meanings, static_score, read_only(offsets), read_only(code)), faults


def _add_texts(builder: ProgramBuilder, rules: Sequence[NewRule]) -> list[Fault]:
    texts = [str(text).encode("utf-8", "surrogatepass") for text, _ in rules]
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    scores = np.array([score for _, score in rules], np.float64)
    return builder.add_texts(np.frombuffer(b"".join(texts), np.uint8), offsets, scores)


def _add_trees(builder: ProgramBuilder, schema: Schema, rules: Sequence[NewRule]) -> list[Fault]:
    faults = []
    for place, (tree, score) in enumerate(rules):
        assert not isinstance(tree, str)
        try:
            builder.add(schema.bind(tree, ""), score)
        except RuleError as error:
            faults.append((place, error))
    return faults


def _score_programs(program: Program) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the score program of each rule, also where a Program leaves it to the root."""
    lengths = np.diff(program.score_offsets).astype(np.int64)
    stacks = np.empty((2, len(program.level_offsets) + 1), np.int32)
    node_op, child_offsets, root = read_only(program.node_op), read_only(program.child_offsets), read_only(program.root)
    children, n_literals = read_only(program.children), program.n_literals
    count_root_steps(n_literals, node_op, child_offsets, children, root, stacks, lengths)
    offsets = np.zeros(program.n_rules + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    code = np.empty(offsets[-1], np.int32)
    given_offsets, given = read_only(program.score_offsets), read_only(program.score_code)
    write_steps(n_literals, node_op, child_offsets, children, root, stacks, given_offsets, given, offsets, code)
    return offsets, code
