"""Changes of an index: check what a user asks for, combine changes of a journal, and apply them to a snapshot."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.errors import RuledexError, RuleError, RuleFault, RulesError, RuleSyntaxError, quoted
from ruledex.index.identities import RuleId, find_ids, find_sorted, locate_id, plain_id
from ruledex.index.live.delta import AddedRules
from ruledex.index.live.overlay import Overlay
from ruledex.index.live.recent_rules import MOST_RULES, PlannedRule, plan_rule
from ruledex.index.live.state import LiveState
from ruledex.index.rules import RuleColumns
from ruledex.index.state import Snapshot, other_kind, require_position
from ruledex.index.tags import NO_TAGS
from ruledex.language.parser import parse
from ruledex.language.schema import Schema
from ruledex.language.value import INT64_MAX, INT64_MIN

if TYPE_CHECKING:
    import pyarrow as pa

    from ruledex.engines.atree.new_rules import EncodedRules

_FEW: Final = 8  # so few ids are looked up one by one


class PutRule(NamedTuple):
    """A rule that is added or replaced."""

    id: RuleId
    text: str
    score: float
    tags: str | None = None  # canonical JSON; None if it has none, never because they are kept
    original: str | None = None  # as written for another system; None if it was not


class IndexChange(NamedTuple):
    """What one call changes, all of it or nothing. Each id is in one of the first three lists, once."""

    put: Sequence[PutRule] = ()  # rules that are added or replaced
    removed: Sequence[RuleId] = ()
    scored: Sequence[tuple[RuleId, float]] = ()  # new static scores of rules that otherwise stay as they are
    defined: Sequence[tuple[str, str | None]] = ()  # (name, text) of definitions, without a text if it is removed


class CheckedChange(NamedTuple):
    """A change that can be made, and the rules that it puts, ready to be added."""

    change: IndexChange
    encoded: EncodedRules | None = None
    planned: PlannedRule | None = None  # the one rule that it puts, which need not be encoded yet
    n_before: int | None = None  # if it does nothing but add one rule: how many rules of the base have smaller ids


# Checking what a user asks for.


def put_rules(state: Snapshot, read: RuleColumns, *, replace: bool | None) -> CheckedChange:
    """Return the change that adds rules, with `replace` replaces those of the same ids, or with None does either.

    Reports every invalid rule in one RulesError.
    """
    n_given, faults = len(read.ids) + len(read.faults) + len(read.definitions), list(read.faults)
    for row in read.definitions.values():
        if state.schema.definitions.get(row.name) == row.text:
            continue  # nothing is changed
        error = RuleError("definitions are given when an index is built, and changed by Index.define")
        faults.append(RuleFault(row.rule_id, error, row.line))
    # A missing text is read as an empty one, which is no rule either; its error is corrected below.
    texts, scores = [text or "" for text in read.texts.to_pylist()], read.scores.tolist()
    encoded, bad_texts = _encode(state, texts, scores)
    for at, error in bad_texts:
        is_missing = not read.texts[at].is_valid
        faults.append(read.fault(at, RuleSyntaxError("there is no text") if is_missing else error))
    bad = {at for at, _ in bad_texts}
    faults += [read.fault(at, RuleError(problem)) for at, problem in _unfit(state, read, replace) if at not in bad]
    if faults:
        raise RulesError(sorted(faults, key=lambda fault: fault.line), n_given)
    ids = read.ids.to_pylist()
    originals = [None] * len(ids) if read.originals is None else read.originals.to_pylist()
    put = map(PutRule, ids, texts, scores, _tags_to_put(state, ids, read.tags), originals)
    return CheckedChange(IndexChange(put=list(put)), encoded)


def put_plain_rule(state: Snapshot, rule: PutRule, *, replace: bool | None) -> CheckedChange | None:
    """Return the change that puts one rule, in a tenth of the steps; None if `put_rules` has to look at it.

    The rule has no tags of its own, and its id, text and score are valid by themselves.
    """
    state = LiveState.of(state)
    if state.delta.plain.schema is not state.schema:
        return None
    if required_kind(state) != ("string" if isinstance(rule.id, str) else "integer"):
        return None
    n_before, is_in_base = locate_id(state.base.identities, rule.id)
    is_known = state.delta.position(rule.id) is not None or (is_in_base and not _is_removed(state, n_before))
    if replace is not None and is_known is not replace:
        return None
    try:
        tree = state.schema.bind(parse(rule.text), rule.text)
    except RuleError:
        return None
    planned = plan_rule(tree)
    encoded = state.delta.plain.encode(rule.text, rule.score) if planned is None else None
    if planned is None and encoded is None:
        return None
    if is_known:
        rule = rule._replace(tags=state.tags_text(rule.id))
    return CheckedChange(IndexChange(put=[rule]), encoded, planned, None if is_known or is_in_base else n_before)


def _is_removed(live: LiveState, position: int) -> bool:
    at = int(live.removed.searchsorted(position))
    return at < len(live.removed) and int(live.removed[at]) == position


def plain_rule_of(rules: object) -> PutRule | None:
    """Return the rule of a list that has one rule of plain values, (id, text) or (id, text, score), else None."""
    if type(rules) is not list or len(rules) != 1 or type(rules[0]) is not tuple or not 2 <= len(rules[0]) <= 3:
        return None
    rule_id, text, score = (*rules[0], 0.0)[:3]
    if type(text) is not str or type(score) is not float or not math.isfinite(score):
        return None
    if type(rule_id) is int:
        is_id = INT64_MIN <= rule_id <= INT64_MAX
    else:
        is_id = type(rule_id) is str and rule_id.isascii() and rule_id != ""
    return PutRule(rule_id, text, score) if is_id and text.isascii() else None


def _encode(
    state: Snapshot, texts: list[str], scores: list[float]
) -> tuple[EncodedRules, Sequence[tuple[int, RuleError]]]:
    """Return the rules that are valid, encoded, and what is wrong with the others."""
    from ruledex.engines.atree.new_rules import encode_good_rules

    if len(texts) == 1 and isinstance(state, LiveState) and state.delta.plain.schema is state.schema:
        plain = state.delta.plain.encode(texts[0], scores[0])
        if plain is not None:
            return plain, ()
    return encode_good_rules(state.schema, list(zip(texts, scores, strict=True)))


def _tags_to_put(state: Snapshot, ids: list[RuleId], given: pa.Array | None) -> list[str | None]:
    """Return the tags of rules after they are put: those that are given, or else those that the rules have."""
    texts = [None] * len(ids) if given is None else given.to_pylist()
    for at, rule_id in enumerate(ids):
        if texts[at] is None:
            texts[at] = state.tags_text(rule_id) if state.identities.has(rule_id) else None
        elif texts[at] == NO_TAGS:
            texts[at] = None
    return texts


def _unfit(state: Snapshot, read: RuleColumns, replace: bool | None) -> Iterable[tuple[int, str]]:
    """Return the rules whose ids do not fit the index, and why."""
    ids = read.ids.to_pylist()
    kind = required_kind(state)
    if kind is not None and ids and isinstance(ids[0], str) is not (kind == "string"):
        return [(at, f"this id is {quoted(i)}, and those of this index are {kind}s") for at, i in enumerate(ids)]
    if replace is None:
        return []
    if len(ids) > _FEW:
        known = LocatedIds.of(LiveState.of(state), _array(ids)).is_there.tolist()
    else:
        known = [state.identities.has(rule_id) for rule_id in ids]
    problem = "there is no rule of this id in the index" if replace else "a rule of this id is in the index already"
    return [(at, problem) for at, is_known in enumerate(known) if is_known is not replace]


def required_kind(state: Snapshot) -> str | None:
    """Return the type that ids must have, even if all rules of the base are removed; None if either will do."""
    if len(state.base.identities):
        return state.base.identities.kind
    return state.identities.kind if len(state.identities) else None


def remove_rules(state: Snapshot, ids: Iterable[RuleId]) -> CheckedChange:
    """Return the change that removes rules. Reports every unknown id in one RulesError."""
    removed = check_ids(ids)
    missing = [rule_id for rule_id in removed if not state.identities.has(rule_id)]
    if missing:
        faults = []
        for rule_id in missing:
            error = RuleError(f"there is no rule of this id in the index{other_kind(state.identities, rule_id)}")
            faults.append(RuleFault(rule_id if isinstance(rule_id, int | str) else None, error))
        raise RulesError(faults, len(removed))
    return CheckedChange(IndexChange(removed=removed))


def check_ids(ids: Iterable[RuleId]) -> list[RuleId]:
    """Return each id once, in the order given. Refuses a single id and what cannot be an id."""
    if isinstance(plain_id(ids), str | int):
        raise RuledexError(f"one id was given where several are expected: write [{quoted(plain_id(ids))}]")
    if isinstance(ids, bytes) or not isinstance(ids, Iterable):
        raise RuledexError(f"ids are given in a list, not as {quoted(ids)}")
    given = list(map(plain_id, ids))
    for rule_id in given:
        if not isinstance(rule_id, Hashable):
            raise RuledexError(f"an id is an integer or a string, not {quoted(rule_id)}")
    return list(dict.fromkeys(given))


def set_score(state: Snapshot, rule_id: RuleId, score: float) -> CheckedChange:
    """Return the change that gives one rule another static score."""
    rule_id = plain_id(rule_id)
    if not state.identities.has(rule_id):
        require_position(state.identities, rule_id)  # raises the error that a user can read
    try:
        value = float(score)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise RuledexError(f"a score is a finite number, not {quoted(score)}")
    return CheckedChange(IndexChange(scored=[(rule_id, value)]))


# Combining and applying changes.


def combine_changes(changes: Iterable[IndexChange]) -> IndexChange:
    """Return one change that has the same effect as several."""
    put: dict[RuleId, PutRule] = {}
    removed: dict[RuleId, None] = {}
    scored: dict[RuleId, float] = {}
    defined: dict[str, str | None] = {}
    for change in changes:
        defined |= change.defined
        for rule_id in change.removed:
            removed[rule_id] = None
            put.pop(rule_id, None)
            scored.pop(rule_id, None)
        for rule in change.put:
            put[rule.id] = rule
            removed.pop(rule.id, None)
            scored.pop(rule.id, None)
        for rule_id, score in change.scored:
            if rule_id in put:
                put[rule_id] = put[rule_id]._replace(score=score)
            else:
                scored[rule_id] = score
    rules = [put[rule_id] for rule_id in sorted(put)]
    return IndexChange(rules, list(removed), list(scored.items()), tuple(defined.items()))


def shares_no_tree(state: Snapshot, other: Snapshot) -> bool:
    """Return whether a snapshot has a tree of its own, which another snapshot does not read."""
    return isinstance(state, LiveState) and not (isinstance(other, LiveState) and state.delta.shares_tree(other.delta))


def apply_change(
    state: Snapshot,
    change: IndexChange,
    encoded: EncodedRules | None = None,
    planned: PlannedRule | None = None,
    n_before: int | None = None,
    *,
    in_place: bool = False,
) -> Snapshot:
    """Return the snapshot after a change. What is beside it is known from checking it, as in a `CheckedChange`.

    Raises a RulesError if a text is not a rule. Unknown ids among the removed are ignored, so that several changes can
    be combined to one. If no change is left, the base itself is returned. Only the last snapshot of an index can be
    changed. With `in_place`, nobody has the snapshot yet, and it is of no use afterwards.
    """
    live = LiveState.of(state)
    if n_before is not None:
        added = _added_rule(change.put[0], n_before, encoded, [planned] if planned else None)
        delta = live.delta.change([], [], added, in_place=in_place)
        return LiveState(live.base, live.removed, live.alive, live.scores, delta, live.schema)
    removed = LocatedIds.of(live, _array([*change.removed, *(rule.id for rule in change.put)]))
    scored = LocatedIds.of(live, _array([rule_id for rule_id, _ in change.scored]))
    values = [score for _, score in change.scored]
    alive, all_removed, scores = live.alive, live.removed, live.scores
    if len(removed.base_positions):
        alive = alive or Overlay(np.ones(len(live.base.identities), np.uint8))
        alive = alive.replace(removed.base_positions.tolist(), [0] * len(removed.base_positions))
        all_removed = np.concatenate([all_removed, removed.base_positions])
        all_removed.sort(kind="stable")  # quick, since most are in order
    if len(scored.base_positions):
        scores = scores or Overlay(live.base.static_scores())
        scores = scores.replace(scored.base_positions.tolist(), [values[at] for at in scored.in_base.tolist()])
    of_delta = [(position, values[at]) for position, at in zip(scored.delta_positions, scored.in_delta, strict=True)]
    schema = live.schema if not change.defined else redefine(live.schema, change.defined)
    new = None if not change.put else _added_rules(live, change, schema, encoded, planned)
    delta = live.delta.change(removed.delta_positions.tolist(), of_delta, new, in_place=in_place)
    is_defined_anew = schema.definitions != live.base.schema.definitions
    if not (len(all_removed) or len(delta) or scores is not None or is_defined_anew):
        return live.base
    return LiveState(live.base, all_removed, alive, scores, delta, schema)


def _added_rule(
    rule: PutRule, n_before: int, encoded: EncodedRules | None, planned: list[PlannedRule] | None
) -> AddedRules:
    """Return what `_added_rules` does of one rule, in a tenth of the steps."""
    before, scores = np.array([n_before], np.int64), np.array([rule.score], np.float64)
    return AddedRules(_array([rule.id]), [rule.text], scores, before, encoded, [rule.tags], [rule.original], planned)


def redefine(schema: Schema, defined: Iterable[tuple[str, str | None]]) -> Schema:
    """Return a schema with some definitions replaced, added or, without a text, removed."""
    texts = {**schema.definitions, **dict(defined)}
    return schema.with_all_definitions({name: text for name, text in texts.items() if text is not None})


def _added_rules(
    live: LiveState, change: IndexChange, schema: Schema, encoded: EncodedRules | None, planned: PlannedRule | None
) -> AddedRules:
    """Return the rules that a change puts, which are ascending by id."""
    ids = _array([rule.id for rule in change.put])
    texts = [rule.text for rule in change.put]
    scores = np.array([rule.score for rule in change.put], np.float64)
    tags, originals = [rule.tags for rule in change.put], [rule.original for rule in change.put]
    plans = _plans(live, texts, schema) if planned is None else [planned]
    if encoded is None and planned is None:
        from ruledex.engines.atree.new_rules import encode_good_rules

        encoded, faults = encode_good_rules(schema, [(rule.text, rule.score) for rule in change.put])
        if faults:
            raise RulesError([RuleFault(change.put[at][0], error) for at, error in faults], len(texts))
    return AddedRules(ids, texts, scores, find_ids(live.base.identities, ids)[0], encoded, tags, originals, plans)


def _plans(live: LiveState, texts: Sequence[str], schema: Schema) -> list[PlannedRule] | None:
    """Return rules ready to answer by themselves, if all rules of the delta do and will; else None."""
    n_recent = live.delta.n_recent
    if n_recent is None or n_recent + len(texts) > MOST_RULES:
        return None
    planned = []
    for text in texts:
        try:
            plan = plan_rule(schema.bind(parse(text), text))
        except RuleError:  # it is reported elsewhere
            plan = None
        if plan is None:
            return None
        planned.append(plan)
    return planned


class LocatedIds(NamedTuple):
    """Where some ids are. `in_base` and `in_delta` say which of the ids are in the base or delta, as indices."""

    before: NDArray[np.int64]  # for each id, how many rules of the base have smaller ones
    in_base: NDArray[np.int64]
    base_positions: NDArray[np.int64]
    in_delta: NDArray[np.int64]
    delta_positions: NDArray[np.int64]

    @staticmethod
    def of(live: LiveState, ids: NDArray[Any]) -> LocatedIds:
        """Look up ids, which are all of the index's type unless the index has no rules."""
        if not len(ids):
            return _NOWHERE
        before, is_base = find_ids(live.base.identities, ids)
        is_base &= ~find_sorted(live.removed, before)[1]
        delta_positions, is_delta = find_sorted(live.delta.ids, ids)
        in_base, in_delta = np.flatnonzero(is_base), np.flatnonzero(is_delta)
        return LocatedIds(before, in_base, before[in_base], in_delta, delta_positions[in_delta])

    @property
    def is_there(self) -> NDArray[np.bool_]:
        """For each id, whether there is a rule of it."""
        there = np.zeros(len(self.before), np.bool_)
        there[self.in_base] = there[self.in_delta] = True
        return there


_NOWHERE: Final = LocatedIds(*[np.zeros(0, np.int64)] * len(LocatedIds._fields))


def _array(ids: Sequence[RuleId]) -> NDArray[Any]:
    return np.array(ids, object if ids and isinstance(ids[0], str) else np.int64)
