"""Changes of an index: as a user asks for them, checked; as a journal keeps them; and what an index is after them."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.errors import RuledexError, RuleError, RuleFault, RulesError
from ruledex.index.delta import NewRules
from ruledex.index.identities import Identities, RuleId
from ruledex.index.live import LiveState, Snapshot
from ruledex.index.overlay import Overlay
from ruledex.index.program_of import BuiltRules, build_program
from ruledex.index.rules_in import RuleColumns
from ruledex.index.state import position_of
from ruledex.language.parser import parse
from ruledex.language.schema import Schema

_FEW: Final = 8  # rules that are parsed one by one


class Change(NamedTuple):
    """What one call changes, all of it or nothing. An id is in one of the three lists, and there once."""

    put: Sequence[tuple[RuleId, str, float]] = ()  # (id, text, static score) that come, also in place of others
    removed: Sequence[RuleId] = ()
    scored: Sequence[tuple[RuleId, float]] = ()  # static scores of rules that stay as they are


class Checked(NamedTuple):
    """A change that can be made; `built` has its rules compiled, if that was needed to know."""

    change: Change
    built: BuiltRules | None = None


# From what a user asks for.


def putting(state: Snapshot, read: RuleColumns, *, replace: bool) -> Checked:
    """New rules, or with `replace` other rules for ids that are there. All that is wrong is told at once."""
    n_given = len(read.ids) + len(read.faults)
    bad_texts, built = _checked_texts(read.texts, read.scores, state.dictionary.schema)
    faults = read.faults + [_fault(read, at, error) for at, error in bad_texts]
    bad = {at for at, _ in bad_texts}
    for at, problem in _unfit(state, read, replace):
        if at not in bad:
            faults.append(_fault(read, at, RuleError(problem)))
    if faults:
        raise RulesError(sorted(faults, key=lambda fault: fault.line), n_given)
    put = zip(read.ids.to_pylist(), read.texts.to_pylist(), read.scores.tolist(), strict=True)
    return Checked(Change(put=list(put)), built)


def _checked_texts(
    texts: pa.Array, scores: NDArray[np.float64], schema: Schema
) -> tuple[list[tuple[int, RuleError]], BuiltRules | None]:
    """What is wrong with texts, by their places; and the rules compiled, where they are many.

    A few are compiled together with the layers of the delta that they will be joined with.
    """
    if len(texts) > _FEW:
        built = build_program(texts, scores, schema)
        return built.faults, built
    faults = []
    for at, text in enumerate(texts.to_pylist()):
        try:
            schema.bind(parse(text), text)
        except RuleError as error:
            faults.append((at, error))
    return faults, None


def _fault(read: RuleColumns, at: int, error: RuleError) -> RuleFault:
    return RuleFault(read.ids[at].as_py(), error, int(read.lines[at]))


def _unfit(state: Snapshot, read: RuleColumns, replace: bool) -> Iterable[tuple[int, str]]:
    """The rules whose ids do not fit the index, and why."""
    ids = read.ids.to_pylist()
    kind = state.identities.kind
    if len(state.identities) and ids and isinstance(ids[0], str) is not (kind == "string"):
        return [(at, f"this id is {rule_id!r}, and those of this index are {kind}s") for at, rule_id in enumerate(ids)]
    there = Located.of(_live(state), _array(ids)).is_there
    if replace:
        return [(at, "there is no rule of this id in the index") for at in np.flatnonzero(~there).tolist()]
    return [(at, "a rule of this id is in the index already") for at in np.flatnonzero(there).tolist()]


def removing(state: Snapshot, ids: Iterable[RuleId]) -> Checked:
    """Rules that go. All ids that are not there are told at once."""
    if isinstance(ids, str | int):
        raise RuledexError(f"one id was given where several are expected: write [{ids!r}]")
    removed = list(dict.fromkeys(ids))
    missing = [rule_id for rule_id in removed if not has(state, rule_id)]
    if missing:
        error = RuleError("there is no rule of this id in the index")
        faults = [RuleFault(rule_id if isinstance(rule_id, int | str) else None, error) for rule_id in missing]
        raise RulesError(faults, len(removed))
    return Checked(Change(removed=removed))


def scoring(state: Snapshot, rule_id: RuleId, score: float) -> Checked:
    """Another static score of one rule."""
    position_of(state.identities, rule_id)  # refuses an id that is not there
    try:
        value = float(score)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise RuledexError(f"a score is a finite number, not {score!r}")
    return Checked(Change(scored=[(rule_id, value)]))


def has(state: Snapshot, rule_id: object) -> bool:
    """Whether there is a rule of this id."""
    try:
        state.identities.position(rule_id)  # type: ignore[arg-type]  # whatever else it is, is not there
    except KeyError:
        return False
    return True


# What an index is after them.


def applied(state: Snapshot, change: Change, built: BuiltRules | None = None) -> Snapshot:
    """An index after a change; `built` has its rules compiled, if they are already.

    What is to go and is not there is passed over, so that several changes may be joined to one. A version without any
    change left is the version itself.
    """
    live = _live(state)
    gone = Located.of(live, _array([*change.removed, *(rule_id for rule_id, _, _ in change.put)]))
    scored = Located.of(live, _array([rule_id for rule_id, _ in change.scored]))
    values = [score for _, score in change.scored]
    alive, dead, scores = live.alive, live.dead, live.scores
    if len(gone.positions):
        alive = alive or Overlay(np.ones(len(live.base.identities), np.uint8))
        alive = alive.replaced(gone.positions.tolist(), [0] * len(gone.positions))
        dead = np.union1d(dead, gone.positions)
    if len(scored.positions):
        scores = scores or Overlay(live.base.static_scores())
        scores = scores.replaced(scored.positions.tolist(), [values[at] for at in scored.in_base.tolist()])
    of_delta = [(number, values[at]) for number, at in zip(scored.numbers, scored.in_delta, strict=True)]
    new = None if not change.put else _new_rules(live, change, built)
    delta = live.delta.changed(gone.numbers.tolist(), of_delta, new)
    if not (len(dead) or len(delta) or scores is not None):
        return live.base
    return LiveState(live.base, dead, alive, scores, delta)


def combined(changes: Iterable[Change]) -> Change:
    """Several changes as one that has the same effect."""
    put: dict[RuleId, tuple[str, float]] = {}
    removed: dict[RuleId, None] = {}
    scored: dict[RuleId, float] = {}
    for change in changes:
        for rule_id in change.removed:
            removed[rule_id] = None
            put.pop(rule_id, None)
            scored.pop(rule_id, None)
        for rule_id, text, score in change.put:
            put[rule_id] = text, score
            removed.pop(rule_id, None)
            scored.pop(rule_id, None)
        for rule_id, score in change.scored:
            if rule_id in put:
                put[rule_id] = put[rule_id][0], score
            else:
                scored[rule_id] = score
    rules = sorted((rule_id, text, score) for rule_id, (text, score) in put.items())
    return Change(rules, list(removed), list(scored.items()))


class Located(NamedTuple):
    """Where ids are: those in the delta by number, those of the base that live by position.

    `in_base` and `in_delta` say which of the ids these are.
    """

    before: NDArray[np.int64]  # of each id, how many rules of the base have smaller ones
    in_base: NDArray[np.int64]
    positions: NDArray[np.int64]
    in_delta: NDArray[np.int64]
    numbers: NDArray[np.int64]

    @staticmethod
    def of(live: LiveState, ids: NDArray[Any]) -> Located:
        """Look ids up, all of the index's type unless it has no rules."""
        before, is_base = _in_base(live.base.identities, ids)
        is_base &= ~_found(live.dead, before)[1]
        numbers, is_delta = _found(live.delta.ids, ids)
        in_base, in_delta = np.flatnonzero(is_base), np.flatnonzero(is_delta)
        return Located(before, in_base, before[in_base], in_delta, numbers[in_delta])

    @property
    def is_there(self) -> NDArray[np.bool_]:
        """Of each id, whether there is a rule of it."""
        there = np.zeros(len(self.before), np.bool_)
        there[self.in_base] = there[self.in_delta] = True
        return there


def _new_rules(live: LiveState, change: Change, built: BuiltRules | None) -> NewRules:
    """The rules of a change, ascending by id as they come."""
    texts = pa.array([text for _, text, _ in change.put], pa.large_string())
    scores = np.array([score for _, _, score in change.put], np.float64)
    ids = _array([rule_id for rule_id, _, _ in change.put])
    return NewRules(ids, texts, scores, _in_base(live.base.identities, ids)[0], built)


def _live(state: Snapshot) -> LiveState:
    return state if isinstance(state, LiveState) else LiveState.of(state)


def _array(ids: Sequence[RuleId]) -> NDArray[Any]:
    return np.array(ids, object if ids and isinstance(ids[0], str) else np.int64)


def _in_base(identities: Identities, ids: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """How many ids of the base are smaller than each, and whether it is there itself."""
    if not (len(identities) and len(ids)):
        return np.zeros(len(ids), np.int64), np.zeros(len(ids), np.bool_)
    if identities.kind == "integer":
        return _found(np.asarray(identities.to_arrow()), ids)
    texts = _Items(identities)
    before = np.array([bisect_left(texts, rule_id) for rule_id in ids.tolist()], np.int64)
    inside = np.flatnonzero(before < len(identities))
    is_there = np.zeros(len(ids), np.bool_)
    is_there[inside] = [texts[at] == rule_id for at, rule_id in zip(before[inside], ids[inside], strict=True)]
    return before, is_there


def _found(among: NDArray[Any], ids: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Where ids stand or would stand in an ascending array, and whether they are there."""
    if not (len(among) and len(ids)):
        return np.zeros(len(ids), np.int64), np.zeros(len(ids), np.bool_)
    at = np.searchsorted(among, ids)
    inside = at < len(among)
    is_there = np.zeros(len(ids), np.bool_)
    is_there[inside] = among[at[inside]] == ids[inside]
    return at.astype(np.int64), is_there


class _Items(Sequence[Any]):
    """Ids one at a time, for a search that looks at few of them."""

    def __init__(self, identities: Identities) -> None:
        self._identities = identities

    def __len__(self) -> int:
        return len(self._identities)

    def __getitem__(self, at: Any) -> Any:
        return self._identities.of(np.array([at], np.int32))[0]
