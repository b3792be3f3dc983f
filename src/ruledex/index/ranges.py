"""One snapshot of an index, for those who ask it more than once: rules in ranges, and checks of changes to come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.explain import Explanation, explain_text
from ruledex.index.answers import IndexAnswers, Rule
from ruledex.index.identities import RuleId, find_ids
from ruledex.index.inputs import Event, as_mapping
from ruledex.index.live.changes import put_rules, redefine, remove_rules
from ruledex.index.live.definitions import define, undefine
from ruledex.index.live.state import LiveState
from ruledex.index.rules import read_rules
from ruledex.index.state import BuiltState, Snapshot
from ruledex.index.stored_texts import StoredRuleTexts
from ruledex.index.tags import NO_TAGS, Tags, tags_of
from ruledex.language.clock import Now, asked_at
from ruledex.language.schema import Schema
from ruledex.language.value import INT64_MAX, INT64_MIN


class RuleRange(NamedTuple):
    """Some rules as columns, ascending by id."""

    ids: pa.Array  # int64 or large_string
    texts: pa.Array  # large_string
    scores: NDArray[np.float64]
    tags: list[str | None]  # canonical JSON, None for rules without tags

    def tags_at(self, row: int) -> Tags:
        """Return the tags of a rule."""
        return tags_of(self.tags[row])


class RuleReader:
    """The rules of an index as they were when this was made. Changes do not touch it."""

    def __init__(self, index: IndexAnswers[Any]) -> None:
        self._state: Snapshot = index._state

    @staticmethod
    def of_snapshot(state: Snapshot) -> RuleReader:
        """Return a reader of a snapshot."""
        reader = RuleReader.__new__(RuleReader)
        reader._state = state
        return reader

    def __len__(self) -> int:
        return len(self._state.identities)

    def is_of(self, index: IndexAnswers[Any]) -> bool:
        """Return whether the index has not changed since."""
        return index._state is self._state

    @property
    def schema(self) -> Schema:
        """The declared schema, with its named conditions."""
        return self._state.schema

    def rule(self, rule_id: RuleId) -> Rule[Any] | None:
        """Return a rule, or None if there is none of this id."""
        state = self._state
        if not state.identities.has(rule_id):
            return None
        return Rule(rule_id, state.text(rule_id), state.score(rule_id), tags_of(state.tags_text(rule_id)))

    def explain(self, text: str, event: Event, *, now: Now = None) -> Explanation:
        """Explain a text on an event as if it were a rule of the index."""
        schema = self._state.schema
        with asked_at(now, schema.zone):
            return explain_text(text, as_mapping(event), schema)

    def check_put(self, rows: Sequence[tuple[Any, ...]], *, replace: bool) -> None:
        """Raise what `Index.add` or, with `replace`, `Index.update` would raise."""
        put_rules(self._state, read_rules(rows), replace=replace)

    def check_remove(self, ids: Sequence[RuleId]) -> list[RuleId]:
        """Return each id once. Raises what `Index.remove` would raise."""
        return list(remove_rules(self._state, ids).change.removed)

    def check_define(self, name: str, text: str) -> tuple[list[tuple[RuleId, str]], Schema]:
        """Return the rules that use a name, as (id, text), and the schema with its new condition.

        Raises what `Index.define` would raise.
        """
        change = define(self._state, name, text).change
        return [(rule.id, rule.text) for rule in change.put], redefine(self._state.schema, change.defined)

    def check_undefine(self, name: str) -> None:
        """Raise what `Index.undefine` would raise."""
        undefine(self._state, name)

    def position_after(self, rule_id: RuleId) -> int:
        """Return the position of the first rule with a greater id. The id need not be there."""
        identities = self._state.identities
        if isinstance(rule_id, int):
            if not INT64_MIN <= rule_id <= INT64_MAX:
                return 0 if rule_id < 0 else len(identities)
            asked = np.array([rule_id], np.int64)
        else:
            asked = np.array([rule_id], object)
        before, is_there = find_ids(identities, asked)
        return int(before[0]) + int(is_there[0])

    def read(self, begin: int, end: int) -> RuleRange:
        """Return the rules at the positions from `begin` to `end`, which may lie beyond the last rule."""
        state: Any = self._state
        positions = np.arange(begin, max(begin, min(end, len(self))), dtype=np.int32)
        ids = pa.array(state.identities.take(positions))
        if isinstance(state, LiveState):
            return _of_live(state, ids, *state.positions.split(positions))
        texts, tags = _texts_at(state, positions.astype(np.int64)), _tags_at(state, positions)
        return RuleRange(ids, texts, state.static_scores()[positions], tags)


def _of_live(state: LiveState, ids: pa.Array, is_delta: NDArray[np.bool_], at: NDArray[np.int64]) -> RuleRange:
    """Return rules of a base and a delta, given as positions there."""
    base, delta = state.base, state.delta
    in_base, in_delta = at[~is_delta], at[is_delta].tolist()
    scores, tags = np.empty(len(at)), np.empty(len(at), object)
    of_base = base.static_scores() if state.scores is None else state.scores.array
    scores[~is_delta], scores[is_delta] = of_base[in_base], delta.static_scores()[in_delta]
    tags[~is_delta], tags[is_delta] = _tags_at(base, in_base), [delta.tags_text(position) for position in in_delta]
    added = pa.array([delta.text(position) for position in in_delta], pa.large_string())
    order = np.empty(len(at), np.int64)
    order[~is_delta], order[is_delta] = np.arange(len(in_base)), len(in_base) + np.arange(len(in_delta))
    texts = pa.concat_arrays([_texts_at(base, in_base), added]).take(pa.array(order))
    return RuleRange(ids, texts, scores, tags.tolist())


def _texts_at(base: BuiltState, positions: NDArray[np.int64]) -> pa.Array:
    if isinstance(base.texts, StoredRuleTexts):
        return base.texts.take(positions)
    return base.texts.to_arrow().take(pa.array(positions)).cast(pa.large_string())


def _tags_at(base: BuiltState, positions: NDArray[Any]) -> list[str | None]:
    sets = base.tags.sets
    if sets.codes is None:
        return [None] * len(positions)
    texts = sets.texts
    return [None if (text := texts[code]) == NO_TAGS else text for code in sets.codes[positions].tolist()]
