"""Build an index: texts of rules to a Program, Programs to a state, and a changed state to a compacted one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex import free_memory
from ruledex.compiled.scheduler import prepare_build
from ruledex.dictionary.dictionary import Dictionary
from ruledex.dictionary.merging import cell_map, merge_dictionaries
from ruledex.engines.protocol import Statistics
from ruledex.engines.registry import build_engine
from ruledex.errors import BudgetError, RuleError, RulesError
from ruledex.events.elements import make_elements
from ruledex.events.mappings import EventEncoder
from ruledex.index.identities import identities_of
from ruledex.index.inputs import Stats, cell_statistics
from ruledex.index.live.state import LiveState
from ruledex.index.rules import RuleColumns
from ruledex.index.state import NO_ORIGINALS, BuiltState, OriginalsInMemory, Shard, Snapshot, TextsInMemory
from ruledex.index.tags import UNTAGGED, tags_in_memory
from ruledex.language.schema import Schema
from ruledex.program.builder import ProgramBuilder, Progress, translate_program
from ruledex.program.program import Program


class BuiltRules(NamedTuple):
    """A Program of the valid rules, in their order, and what is wrong with the others.

    `faults` are (index into the texts, error), ascending; those rules are left out of the Program.
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
    """Parse all rules, check them against the schema, rewrite and encode them, one chunk of texts at a time."""
    prepare_build(len(texts))
    builder = ProgramBuilder(schema)
    faults = builder.add_column(texts, static_scores, progress)
    program, dictionary = builder.finish()
    if len(texts) >= free_memory.WORTH_IT:
        del builder
        free_memory.give_back()
    return BuiltRules(program, dictionary, faults)


def state_of_rules(
    read: RuleColumns, built: BuiltRules, engine: str, stats: Stats | None, options: Mapping[str, Any] | None
) -> BuiltState:
    """Return the state of compiled rules, ready to match; `read` has the same rules, and no others."""
    encoder = EventEncoder(built.dictionary)
    make_elements(built.dictionary)
    try:
        statistics = None if stats is None else cell_statistics(encoder, stats)
        made = build_engine(engine, built.program, statistics, options)
    except BudgetError as error:
        raise error if error.position is None else error.of_rule(read.ids[error.position].as_py()) from None
    shards = (Shard(built.program, made),)
    texts, ids = TextsInMemory(read.texts), identities_of(read.ids)
    tags = UNTAGGED if read.tags is None else tags_in_memory(read.tags)
    originals = NO_ORIGINALS if read.originals is None else OriginalsInMemory(read.originals)
    return BuiltState(shards, built.dictionary, encoder, made, ids, texts, None, tags, originals)


class CompiledPart(NamedTuple):
    """Some rules over a dictionary of their own, and their positions in the index, ascending."""

    program: Program
    dictionary: Dictionary
    rules: NDArray[np.int32]


def join_parts(
    parts: Sequence[CompiledPart],
    engine: str,
    statistics: Statistics | None = None,
    options: Mapping[str, Any] | None = None,
) -> tuple[tuple[Shard, ...], Dictionary]:
    """Return one shard per part, and the merged dictionary of all parts. The statistics are of its cells."""
    merged = merge_dictionaries([part.dictionary for part in parts])
    programs = [translate_program(part.program, cell_map(part.dictionary, merged), merged) for part in parts]
    shards = tuple(
        Shard(program, build_engine(engine, program, statistics, options), part.rules)
        for program, part in zip(programs, parts, strict=True)
    )
    return shards, merged


def compact_state(state: Snapshot, stats: Stats | None, options: Mapping[str, Any] | None) -> BuiltState:
    """Build base and delta anew as one state, with the engine of the base. Without changes, returns the base itself."""
    if not state.is_changed:
        return state.base
    read = all_rules(LiveState.of(state))
    built = build_program(read.texts, read.scores, state.schema)
    if built.faults:
        raise RulesError([read.fault(at, error) for at, error in built.faults], len(read.ids))
    return state_of_rules(read, built, state.engine.name, stats, options)


def all_rules(live: LiveState) -> RuleColumns:
    """Return the rules of base and delta in the order of ids."""
    base, delta, positions = live.base, live.delta, live.positions
    kept = np.setdiff1d(np.arange(len(base.identities)), live.removed, assume_unique=True).astype(np.int32)
    order = np.empty(positions.n_rules, np.int64)
    order[positions.of_base(kept)] = np.arange(len(kept))
    order[positions.of_delta] = np.arange(len(kept), positions.n_rules)
    texts = pa.concat_arrays([base.texts.to_arrow().take(pa.array(kept)).cast(pa.large_string()), delta.texts()])
    base_scores = base.static_scores() if live.scores is None else live.scores.array
    scores = np.concatenate([base_scores[kept], delta.static_scores()])[order]
    lines = np.zeros(positions.n_rules, np.int64)
    tags = _joined(base.tags.to_arrow(), delta.tags(), kept, order)
    originals = _joined(base.originals.originals_to_arrow(), delta.originals(), kept, order)
    read = RuleColumns(live.identities.to_arrow(), texts.take(pa.array(order)), scores, lines, [], tags)
    return read._replace(originals=originals)


def _joined(
    base: pa.Array | None, added: list[str | None], kept: NDArray[np.int32], order: NDArray[np.int64]
) -> pa.Array | None:
    """Return texts of the kept rules of the base and of the delta, in order; None if no rule has one."""
    delta = pa.array(added, pa.large_string())
    if base is None and delta.null_count == len(delta):
        return None
    of_base = pa.nulls(len(kept), pa.large_string()) if base is None else base.take(pa.array(kept))
    return pa.concat_arrays([of_base.cast(pa.large_string()), delta]).take(pa.array(order))
