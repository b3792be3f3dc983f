"""Texts of rules to a Program: the one place where an index is compiled from its rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.encode.builder import ProgramBuilder
from ruledex.encode.dictionary import Dictionary
from ruledex.encode.program import Program
from ruledex.errors import RuleError, RuleSyntaxError
from ruledex.language.parser import parse
from ruledex.language.schema import Schema

Progress = Callable[[int, int], None]  # so many of so many rules are done

_CHUNK = 4096


class BuiltRules(NamedTuple):
    """A Program of the rules that can be used, in their order, and what is wrong with the others.

    `faults` are (place in `texts`, error), ascending by place; those rules are left out of the Program.
    """

    program: Program
    dictionary: Dictionary
    faults: list[tuple[int, RuleError]]


def build_program(
    texts: pa.Array | pa.ChunkedArray | Sequence[str],
    static_scores: NDArray[np.float64],
    schema: Schema,
    progress: Progress | None = None,
) -> BuiltRules:
    """Parse, hold to the schema, rewrite and encode all rules."""
    builder = ProgramBuilder(schema)
    faults: list[tuple[int, RuleError]] = []
    n_rules = len(texts)
    for place, text in enumerate(_each(texts)):
        if progress is not None and place % _CHUNK == 0:
            progress(place, n_rules)
        try:
            if text is None:
                raise RuleSyntaxError("there is no text")
            tree = parse(text)
            tree = schema.bind(tree, text if isinstance(text, str) else text.decode("utf-8"))
        except RuleError as error:
            faults.append((place, error))
        else:
            builder.add(tree, float(static_scores[place]))
    if progress is not None:
        progress(n_rules, n_rules)
    program, dictionary = builder.finish()
    return BuiltRules(program, dictionary, faults)


def _each(texts: pa.Array | pa.ChunkedArray | Sequence[str]) -> Iterator[str | bytes | None]:
    """Texts a chunk at a time, so that a million rules are never a million Python objects at once."""
    for start in range(0, len(texts), _CHUNK):
        chunk = texts[start : start + _CHUNK]
        if isinstance(chunk, pa.Array | pa.ChunkedArray):
            try:
                chunk = chunk.to_pylist()
            except UnicodeDecodeError:  # the parser says where
                chunk = chunk.cast(pa.large_binary()).to_pylist()
        yield from chunk
