"""What a change would do, without making it: findings, similar rules, and gained and lost matches of recent events."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from time import monotonic
from typing import Any, Final, NamedTuple, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from ruledex.errors import EventError, RuleError, did_you_mean
from ruledex.index import Index
from ruledex.language.definitions import names_in, write_out
from ruledex.language.parser import parse
from ruledex.language.schema import Schema
from ruledex.language.text import path_text
from ruledex.language.tree import Expression, attributes, operands, predicates
from ruledex.lint import lint_rule
from ruledex.service.messages import Backtest, BacktestExamples, FindingOut, RuleId, SimilarOut
from ruledex.service.problems import place_of
from ruledex.service.recent import RecentEvent

MOST_EVENTS: Final = 1_000  # recent events that a change is tested on
_MOST_EXAMPLES: Final = 3
_MOST_SIMILAR: Final = 10
_SIMILAR_RULES: Final = 5  # of a change of many: for so many of them similar rules are looked for
_LIKE: Final = 0.5  # the share of events that similar rules have in common
_DRAWN_EVENTS: Final = 300  # on which rules are compared
_MOST_PREDICATES: Final = 12  # of a rule that events are drawn for
_MOST_FINDINGS: Final = 100
_SECONDS: Final = 2.0  # that each part of a dry run of many rules may take
_MOST_PAIRS: Final = 4_000_000  # of an event and a rule, that are looked at together
_RELATIONS: Final = {"equal": "same", "same": "same", "implied": "wider", "implies": "narrower", "similar": "like"}


# Findings.


def findings_of(text: str, schema: Schema, known: Schema, names: Collection[str] | None = None) -> list[FindingOut]:
    """Return what lint says of a rule. Raises a RuleError if it is no rule under the schema.

    `known` also has the types that other rules of the index imply. A rule may differ from them, which is a finding. So
    is an attribute that does not begin with one of `names`, if these are given.
    """
    parsed = parse(text)
    tree = schema.bind_named(parsed, text)
    found: list[FindingOut] = []
    for finding in [*lint_rule("", tree, text, schema), *lint_rule("", tree, text, known)]:
        severity = cast(Any, finding.severity.value)
        place = place_of(text, finding.position)
        if all((finding.code, place) != (each.code, each.place) for each in found):
            found.append(FindingOut(finding.code, severity, finding.message, finding.suggestion, place))
    if names:
        told = {each.place.position for each in found if each.code == "misspelt-attribute"}
        found += [each for each in _unknown_names(tree, text, names) if each.place.position not in told]
    try:
        known.bind_predicates(parsed, text)
    except RuleError as error:
        message = f"other rules of the index use it in another way: {error.message}"
        found.append(FindingOut(error.code, "warning", message, error.hint, place_of(text, error.position)))
    return found


def _unknown_names(tree: Expression, text: str, names: Collection[str]) -> Iterator[FindingOut]:
    """Yield a finding for each attribute that neither rules nor events have."""
    if "->" in text:  # the names of elements are the rule's own
        return
    seen: set[str] = set()
    for predicate in predicates(write_out(tree) if names_in(tree) else tree):
        for attribute in (each for operand in operands(predicate) for each in attributes(operand) if each.path):
            name = attribute.path[0]
            if name not in names and name not in seen:
                seen.add(name)
                position = max(text.find(name, predicate.position), predicate.position, 0)
                message = f"no rule or recent event has {path_text(attribute.path)}"
                place = place_of(text, min(position, len(text)))
                yield FindingOut("unknown-attribute", "warning", message, did_you_mean(name, names), place)


def names_of_events(events: Iterable[RecentEvent]) -> set[str]:
    """Return the names that events have at their top."""
    return {name for each in events for name in each.event}


def findings_of_many(
    rows: Iterable[Sequence[Any]], schema: Schema, known: Schema, names: Collection[str] | None = None
) -> list[FindingOut]:
    """Return what lint says of the first rules, given as (id, text, …)."""
    until, found = monotonic() + _SECONDS, list[FindingOut]()
    for rule_id, text, *_ in rows:
        found += [msgspec.structs.replace(each, id=rule_id) for each in findings_of(text, schema, known, names)]
        if len(found) >= _MOST_FINDINGS or monotonic() > until:
            break
    return found[:_MOST_FINDINGS]


# Similar rules.


def similar_rules(index: Index, text: str, rule_id: RuleId | None, events: Sequence[RecentEvent]) -> list[SimilarOut]:
    """Return the rules most like one, itself left out.

    Drawing events takes time that grows with the square of the predicates, so a long rule is compared on recent events.
    """
    is_long = sum(1 for _ in islice(predicates(parse(text)), _MOST_PREDICATES + 1)) > _MOST_PREDICATES
    sample = [each.event for each in events[:_DRAWN_EVENTS]] if is_long else None
    found = index.similar(text, _LIKE, events=sample, n_events=_DRAWN_EVENTS, limit=_MOST_SIMILAR + 1)
    rows = [
        SimilarOut(each.rule, each.text, cast(Any, _RELATIONS[each.relation]), round(each.jaccard, 4))
        for each in found
        if each.rule != rule_id
    ]
    return rows[:_MOST_SIMILAR]


def similar_to_many(index: Index, rows: Iterable[Sequence[Any]], events: Sequence[RecentEvent]) -> list[SimilarOut]:
    """Return the rules that are like the first few of some rules, given as (id, text, …)."""
    until, found = monotonic() + _SECONDS, list[SimilarOut]()
    for rule_id, text, *_ in list(rows)[:_SIMILAR_RULES]:
        found += [msgspec.structs.replace(each, of=rule_id) for each in similar_rules(index, text, rule_id, events)]
        if monotonic() > until:
            break
    return found


# Gained and lost matches.


class TextChange(NamedTuple):
    """The texts of a rule before and after a change; None if there is no rule."""

    before: str | None
    after: str | None


def backtest_changes(
    changes: Sequence[TextChange], events: Sequence[RecentEvent], schema: Schema, schema_after: Schema | None = None
) -> Backtest | None:
    """Return what changes of rules do to events, or None if there are none. Where time is up, fewer are tested.

    `schema_after` is given where a change is one of the schema's named conditions.
    """
    if not events:
        return None
    parsed = [each.event for each in events]
    before = _index_of([change.before for change in changes], schema)
    after = _index_of([change.after for change in changes], schema_after or schema)
    until = monotonic() + _SECONDS
    step = max(1, _MOST_PAIRS // max(1, len(changes)))
    found = Backtest(0, 0, 0, 0, 0, BacktestExamples([], []))
    for begin in range(0, len(parsed), step):
        some = parsed[begin : begin + step]
        now, then = _pairs(before, some), _pairs(after, some)
        gained, lost = np.setdiff1d(then, now, True), np.setdiff1d(now, then, True)
        found.events += len(some)
        found.before += len(now)
        found.after += len(then)
        found.gained += len(gained)
        found.lost += len(lost)
        for examples, pairs in ((found.examples.gained, gained), (found.examples.lost, lost)):
            for number in np.unique(pairs >> 32).tolist()[: _MOST_EXAMPLES - len(examples)]:
                examples.append(cast(Any, msgspec.Raw(events[begin + number].text.encode())))  # as it came
        if monotonic() > until:
            break
    return found


def _index_of(texts: Sequence[str | None], schema: Schema) -> Index | None:
    rules = [(number, text) for number, text in enumerate(texts) if text is not None]
    return Index.build(rules, schema=schema) if rules else None


def _pairs(index: Index | None, events: list[dict[str, Any]]) -> NDArray[np.int64]:
    """Return the matches as numbers: the event's above 32 bits, and the rule's."""
    if index is None:
        return np.zeros(0, np.int64)
    try:
        event, rule = index.match_batch(events).pairs()
    except EventError:  # one that cannot be read has no matches
        return np.array(
            [number << 32 | i for number, each in enumerate(events) for i in _matched(index, each)], np.int64
        )
    return event << 32 | np.asarray(rule, np.int64)


def _matched(index: Index, event: dict[str, Any]) -> list[Any]:
    try:
        return index.match(event)
    except EventError:
        return []
