"""Changes of an index: as a user asks for them, checked; as a journal keeps them; and what an index is after them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.engines.atree.new_rules import EncodedRules, encode_good_rules
from ruledex.errors import (
    RuledexError,
    RuleError,
    RuleFault,
    RulesError,
    RuleSyntaxError,
    quoted,
)
from ruledex.index.identities import RuleId, find_ids, found_in
from ruledex.index.live.delta import NewRules
from ruledex.index.live.overlay import Overlay
from ruledex.index.live.state import LiveState, Snapshot
from ruledex.index.rules import RuleColumns
from ruledex.index.state import position_of

_FEW: Final = 8  # ids, which are looked up one by one


class Change(NamedTuple):
    """What one call changes, all of it or nothing. An id is in one of the three lists, and there once."""

    put: Sequence[tuple[RuleId, str, float]] = ()  # (id, text, static score) that come, also in place of others
    removed: Sequence[RuleId] = ()
    scored: Sequence[tuple[RuleId, float]] = ()  # static scores of rules that stay as they are


class Checked(NamedTuple):
    """A change that can be made, and the rules that come, encoded."""

    change: Change
    encoded: EncodedRules | None = None


# From what a user asks for.


def putting(state: Snapshot, read: RuleColumns, *, replace: bool) -> Checked:
    """New rules, or with `replace` other rules for ids that are there. All that is wrong is told at once."""
    n_given, faults = len(read.ids) + len(read.faults), list(read.faults)
    # An absent text is read as an empty one, which is no rule either; the error is then put right.
    texts, scores = [text or "" for text in read.texts.to_pylist()], read.scores.tolist()
    encoded, bad_texts = encode_good_rules(state.dictionary.schema, list(zip(texts, scores, strict=True)))
    for at, error in bad_texts:
        is_missing = not read.texts[at].is_valid
        faults.append(_fault(read, at, RuleSyntaxError("there is no text") if is_missing else error))
    bad = {at for at, _ in bad_texts}
    for at, problem in _unfit(state, read, replace):
        if at not in bad:
            faults.append(_fault(read, at, RuleError(problem)))
    if faults:
        raise RulesError(sorted(faults, key=lambda fault: fault.line), n_given)
    put = zip(read.ids.to_pylist(), texts, scores, strict=True)
    return Checked(Change(put=list(put)), encoded)


def _fault(read: RuleColumns, at: int, error: RuleError) -> RuleFault:
    return RuleFault(read.ids[at].as_py(), error, int(read.lines[at]))


def _unfit(state: Snapshot, read: RuleColumns, replace: bool) -> Iterable[tuple[int, str]]:
    """The rules whose ids do not fit the index, and why."""
    ids = read.ids.to_pylist()
    kind = kind_needed(state)
    if kind is not None and ids and isinstance(ids[0], str) is not (kind == "string"):
        return [(at, f"this id is {quoted(i)}, and those of this index are {kind}s") for at, i in enumerate(ids)]
    there = Located.of(_live(state), _array(ids)).is_there.tolist() if len(ids) > _FEW else [has(state, i) for i in ids]
    problem = "there is no rule of this id in the index" if replace else "a rule of this id is in the index already"
    return [(at, problem) for at, is_there in enumerate(there) if is_there is not replace]


def kind_needed(state: Snapshot) -> str | None:
    """The type that ids must have, also where all rules of the version are gone; None where either will do."""
    base = state.base if isinstance(state, LiveState) else state
    return state.identities.kind if len(base.identities) or len(state.identities) else None


def removing(state: Snapshot, ids: Iterable[RuleId]) -> Checked:
    """Rules that go. All ids that are not there are told at once."""
    removed = given_ids(ids)
    missing = [rule_id for rule_id in removed if not has(state, rule_id)]
    if missing:
        error = RuleError("there is no rule of this id in the index")
        faults = [RuleFault(rule_id if isinstance(rule_id, int | str) else None, error) for rule_id in missing]
        raise RulesError(faults, len(removed))
    return Checked(Change(removed=removed))


def given_ids(ids: Iterable[RuleId]) -> list[RuleId]:
    """Each of some ids once, as they come; an error where it is but one."""
    if isinstance(ids, str | int):
        raise RuledexError(f"one id was given where several are expected: write [{quoted(ids)}]")
    if isinstance(ids, bytes) or not isinstance(ids, Iterable):
        raise RuledexError(f"ids are given in a list, not as {quoted(ids)}")
    given = list(ids)
    for rule_id in given:
        if not isinstance(rule_id, Hashable):
            raise RuledexError(f"an id is an integer or a string, not {quoted(rule_id)}")
    return list(dict.fromkeys(given))


def scoring(state: Snapshot, rule_id: RuleId, score: float) -> Checked:
    """Another static score of one rule."""
    if not has(state, rule_id):
        position_of(state.identities, rule_id)  # refuses it
    try:
        value = float(score)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise RuledexError(f"a score is a finite number, not {quoted(score)}")
    return Checked(Change(scored=[(rule_id, value)]))


def has(state: Snapshot, rule_id: object) -> bool:
    """Whether there is a rule of this id."""
    if isinstance(state, LiveState):
        return state.identities.has(rule_id)
    try:
        state.identities.position(rule_id)  # type: ignore[arg-type]  # whatever else it is, is not there
    except KeyError:
        return False
    return True


# What an index is after them.


def applied(state: Snapshot, change: Change, encoded: EncodedRules | None = None) -> Snapshot:
    """An index after a change; `encoded` has its rules, if that is done. A `RulesError` where a text is no rule.

    What is to go and is not there is passed over, so that several changes may be joined to one. A version without any
    change left is the version itself. Only the last state of an index can be changed.
    """
    live = _live(state)
    gone = Located.of(live, _array([*change.removed, *(rule_id for rule_id, _, _ in change.put)]))
    scored = Located.of(live, _array([rule_id for rule_id, _ in change.scored]))
    values = [score for _, score in change.scored]
    alive, dead, scores = live.alive, live.dead, live.scores
    if len(gone.positions):
        alive = alive or Overlay(np.ones(len(live.base.identities), np.uint8))
        alive = alive.replaced(gone.positions.tolist(), [0] * len(gone.positions))
        dead = np.concatenate([dead, gone.positions])
        dead.sort(kind="stable")  # which is quick where most are in order
    if len(scored.positions):
        scores = scores or Overlay(live.base.static_scores())
        scores = scores.replaced(scored.positions.tolist(), [values[at] for at in scored.in_base.tolist()])
    of_delta = [(number, values[at]) for number, at in zip(scored.numbers, scored.in_delta, strict=True)]
    new = None if not change.put else _new_rules(live, change, encoded)
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
        if not len(ids):
            return _NOWHERE
        before, is_base = find_ids(live.base.identities, ids)
        is_base &= ~found_in(live.dead, before)[1]
        numbers, is_delta = found_in(live.delta.ids, ids)
        in_base, in_delta = np.flatnonzero(is_base), np.flatnonzero(is_delta)
        return Located(before, in_base, before[in_base], in_delta, numbers[in_delta])

    @property
    def is_there(self) -> NDArray[np.bool_]:
        """Of each id, whether there is a rule of it."""
        there = np.zeros(len(self.before), np.bool_)
        there[self.in_base] = there[self.in_delta] = True
        return there


_NOWHERE: Final = Located(*[np.zeros(0, np.int64)] * len(Located._fields))


def _new_rules(live: LiveState, change: Change, encoded: EncodedRules | None) -> NewRules:
    """The rules of a change, ascending by id as they come."""
    ids = _array([rule_id for rule_id, _, _ in change.put])
    texts = [text for _, text, _ in change.put]
    scores = np.array([score for _, _, score in change.put], np.float64)
    if encoded is None:
        encoded, faults = encode_good_rules(live.dictionary.schema, [(text, score) for _, text, score in change.put])
        if faults:
            raise RulesError([RuleFault(change.put[at][0], error) for at, error in faults], len(texts))
    return NewRules(ids, texts, scores, find_ids(live.base.identities, ids)[0], encoded)


def _live(state: Snapshot) -> LiveState:
    return state if isinstance(state, LiveState) else LiveState.of(state)


def _array(ids: Sequence[RuleId]) -> NDArray[Any]:
    return np.array(ids, object if ids and isinstance(ids[0], str) else np.int64)
