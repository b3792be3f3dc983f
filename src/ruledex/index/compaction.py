"""Rules to a state: when an index is built, and when its changes are folded into a new one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from ruledex.encode.events import EventEncoder
from ruledex.errors import BudgetError, RuleFault, RulesError
from ruledex.index.identities import identities_of
from ruledex.index.live import LiveState
from ruledex.index.program_of import BuiltRules, build_program
from ruledex.index.rules_in import RuleColumns
from ruledex.index.state import Shard, State, matcher_of
from ruledex.index.statistics_in import Stats, cell_statistics
from ruledex.index.storage import build_engine
from ruledex.index.texts import TextsInMemory


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
