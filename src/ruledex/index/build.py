"""Texts of rules to a Program: the one place where an index is compiled from its rules.

Rules to a state: when an index is built, and when its changes are folded into a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.dictionary.dictionary import Dictionary
from ruledex.errors import BudgetError, RuleError, RuleFault, RulesError, RuleSyntaxError
from ruledex.events.mappings import EventEncoder
from ruledex.index.identities import identities_of
from ruledex.index.inputs import Stats, cell_statistics
from ruledex.index.live.state import LiveState
from ruledex.index.rules import RuleColumns
from ruledex.index.state import Shard, State, matcher_of
from ruledex.index.storage import build_engine
from ruledex.index.texts import TextsInMemory
from ruledex.language.schema import Schema
from ruledex.program.builder import ProgramBuilder
from ruledex.program.program import Program

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


def state_of_rules(
    read: RuleColumns,
    built: BuiltRules,
    engine: str,
    stats: Stats | None,
    options: Mapping[str, Any] | None,
) -> State:
    """An index of rules that were compiled, ready to answer; `read` has the same rules, and no others."""
    encoder = EventEncoder(built.dictionary)
    try:
        made = build_engine(engine, built.program, cell_statistics(encoder, stats), options)
    except BudgetError as error:
        raise error if error.position is None else error.of_rule(read.ids[error.position].as_py()) from None
    shards = (Shard(built.program, made),)
    return State(
        shards,
        built.dictionary,
        encoder,
        matcher_of(shards),
        identities_of(read.ids),
        TextsInMemory(read.texts),
        None,
    )


def folded(live: LiveState, stats: Stats | None, options: Mapping[str, Any] | None) -> State:
    """A version and the changes since as one state, built anew by the engine that the version has."""
    read = folded_rules(live)
    built = build_program(read.texts, read.scores, live.dictionary.schema)
    if built.faults:
        faults = [RuleFault(read.ids[at].as_py(), error) for at, error in built.faults]
        raise RulesError(faults, len(read.ids))
    return state_of_rules(read, built, live.engine.name, stats, options)


def folded_rules(live: LiveState) -> RuleColumns:
    """All rules in the order of ids."""
    base, delta = live.base, live.delta
    living = np.setdiff1d(np.arange(len(base.identities)), live.dead, assume_unique=True).astype(np.int32)
    places = live.places
    order = np.empty(places.n_rules, np.int64)
    order[places.of_base(living)] = np.arange(len(living))
    order[places.of_delta] = np.arange(len(living), places.n_rules)
    texts = pa.concat_arrays([base.texts.to_arrow().take(pa.array(living)).cast(pa.large_string()), delta.texts()])
    base_scores = base.static_scores() if live.scores is None else live.scores.array
    scores = np.concatenate([base_scores[living], delta.static_scores()])[order]
    return RuleColumns(
        live.identities.to_arrow(), texts.take(pa.array(order)), scores, np.zeros(places.n_rules, np.int64), []
    )
