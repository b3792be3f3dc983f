"""Texts of rules to a Program: the one place where an index is compiled from its rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.encode.builder import ProgramBuilder
from ruledex.encode.dictionary import Dictionary
from ruledex.encode.program import Program
from ruledex.errors import RuleError, RuleSyntaxError
from ruledex.language.schema import Schema

Progress = Callable[[int, int], None]  # so many of so many rules are done

_CHUNK = 50_000


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
    """Parse, hold to the schema, rewrite and encode all rules, a chunk of texts at a time."""
    builder = ProgramBuilder(schema)
    faults: list[tuple[int, RuleError]] = []
    n_rules = len(texts)
    for start in range(0, n_rules, _CHUNK):
        if progress is not None:
            progress(start, n_rules)
        chunk = _column(texts[start : start + _CHUNK])
        missing = np.flatnonzero(np.array(chunk.is_null())).tolist()
        # An absent text is read as an empty one, which is no rule either; the error is then put right.
        found = builder.add_texts(*_buffers(chunk), static_scores[start : start + _CHUNK])
        faults += [(start + i, RuleSyntaxError("there is no text") if i in missing else error) for i, error in found]
    if progress is not None:
        progress(n_rules, n_rules)
    program, dictionary = builder.finish()
    return BuiltRules(program, dictionary, faults)


def _column(texts: pa.Array | pa.ChunkedArray | Sequence[str]) -> pa.Array:
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    if not isinstance(texts, pa.Array):
        return pa.array(texts, pa.large_string())
    return texts if pa.types.is_large_string(texts.type) else texts.cast(pa.large_string())


def _buffers(texts: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes of all texts, and where each begins and ends."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    if data is None or not len(texts):
        return np.empty(0, np.uint8), np.zeros(len(texts) + 1, np.int64)
    return np.frombuffer(data, np.uint8), bounds
