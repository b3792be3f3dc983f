"""Rules that come later, encoded by themselves: a small Program of their own, and what its literals mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import read_only
from ruledex.dictionary.meanings import Meanings, meanings_of
from ruledex.engines.ranking import score_steps
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
    return _encoded(builder), faults


def encode_bodies(schema: Schema, bodies: Iterable[Expression]) -> EncodedRules:
    """Encode the bodies of lambdas, which are bound and have no scores."""
    builder = ProgramBuilder(schema)
    for body in bodies:
        builder.add_unscored(body)
    return _encoded(builder)


def _encoded(builder: ProgramBuilder) -> EncodedRules:
    meanings, program = meanings_of(builder.literals), builder.finish_without_cells()
    offsets, code = score_steps(program)
    static_score = read_only(program.static_scores())
    return EncodedRules(program, meanings, static_score, read_only(offsets), read_only(code))


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
