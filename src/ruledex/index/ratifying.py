"""Compares a snapshot with the reference evaluator, on events that are drawn from its rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from time import perf_counter
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ruledex.errors import RuledexError, quoted
from ruledex.explain import explain
from ruledex.index.identities import RuleId
from ruledex.index.state import Snapshot
from ruledex.language.parser import parse
from ruledex.language.reference import truth_of
from ruledex.language.tree import Expression
from ruledex.ratify.events import EventDrawer
from ruledex.ratify.report import AskedBy, CoverageCounts, IndexDifference, RatifyReport, choose_rules, constructs_of

Progress: TypeAlias = Callable[[int, int], None]

_MOST_KEPT: Final = 100  # differences that a report has in full
_TREES: Final = 4096  # parsed rules that are kept while events are drawn


def check_count(name: str, given: Any) -> int:
    """Return a number of events or rules that a user gave."""
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or not 1 <= given < 2**31:
        raise RuledexError(f"{name} is a number of at least 1, not {quoted(given)}")
    return int(given)


def check_seed(given: Any) -> int:
    """Return a seed that a user gave."""
    if isinstance(given, bool) or not isinstance(given, int | np.integer):
        raise RuledexError(f"seed is an integer, not {quoted(given)}")
    return int(given)


class SnapshotRules:
    """Rules of a snapshot by number, as bound trees."""

    def __init__(self, state: Snapshot, positions: list[int]) -> None:
        self.state = state
        self.schema = state.schema
        self.positions = positions
        self.ids: list[RuleId] = state.identities.of(np.array(positions, np.int32))
        self.tree = lru_cache(_TREES)(self._tree)

    def __len__(self) -> int:
        return len(self.ids)

    def text(self, number: int) -> str:
        """Return the text of a rule."""
        return self.state.text(self.ids[number])

    def _tree(self, number: int) -> Expression:
        text = self.text(number)
        return self.schema.bind(parse(text), text)

    def draw_events(self, n_events: int, seed: int) -> list[dict[str, Any]]:
        """Return events that are drawn from the rules."""
        return list(EventDrawer(self.tree, len(self), self.schema, seed).events(n_events))


def ratify_snapshot(
    state: Snapshot, n_events: int, n_rules: int | None, seed: int, progress: Progress | None
) -> RatifyReport:
    """Compare the answers of a snapshot and of the reference, as of the time of the call that is being answered."""
    began = perf_counter()
    n_all = len(state.identities)
    rules = SnapshotRules(state, choose_rules(n_all, n_all if n_rules is None else n_rules, seed))
    events = rules.draw_events(n_events, seed)
    answers: dict[AskedBy, list[NDArray[np.int64]]] = {
        "match_batch": _by_batch(rules, events),
        "match": _one_by_one(rules, events),
    }
    coverage, differences, n_differences = CoverageCounts(), list[IndexDifference](), 0
    for number in range(len(rules)):
        tree = rules.tree(number)
        truths = [truth_of(tree, event, rules.schema) for event in events]
        coverage.add(constructs_of(tree), Counter(truths))
        is_true = np.array([truth is True for truth in truths], np.bool_)
        for asked, found in answers.items():
            said = np.zeros(len(events), np.bool_)
            said[found[number]] = True
            wrong = np.flatnonzero(said != is_true)
            n_differences += len(wrong)
            for at in wrong[: _MOST_KEPT - len(differences)].tolist():
                differences.append(_difference(rules, number, events[at], asked, bool(is_true[at])))
        if progress is not None:
            progress(number + 1, len(rules))
    return RatifyReport(
        version=state.version,
        n_rules=len(rules),
        n_events=len(events),
        n_true=coverage.n_true,
        n_rules_true=coverage.n_rules_true,
        n_differences=n_differences,
        differences=tuple(differences),
        constructs=coverage.constructs,
        seed=seed,
        seconds=perf_counter() - began,
    )


def _by_batch(rules: SnapshotRules, events: list[dict[str, Any]]) -> list[NDArray[np.int64]]:
    """Return for each rule the events that a batch finds it true of."""
    found = rules.state.match_batch(events)
    event = np.repeat(np.arange(found.n_events, dtype=np.int64), np.diff(found.offsets))
    order = np.argsort(found.position, kind="stable")
    position, event = found.position[order], event[order]
    begin = np.searchsorted(position, rules.positions, "left")
    end = np.searchsorted(position, rules.positions, "right")
    return [event[first:last] for first, last in zip(begin.tolist(), end.tolist(), strict=True)]


def _one_by_one(rules: SnapshotRules, events: list[dict[str, Any]]) -> list[NDArray[np.int64]]:
    """Return for each rule the events that it is found true of, asked one after the other."""
    numbers = {rule_id: number for number, rule_id in enumerate(rules.ids)}
    found: list[list[int]] = [[] for _ in rules.ids]
    for at, event in enumerate(events):
        for rule_id in rules.state.match(event):
            if (number := numbers.get(rule_id)) is not None:
                found[number].append(at)
    return [np.array(each, np.int64) for each in found]


def _difference(
    rules: SnapshotRules, number: int, event: dict[str, Any], asked: AskedBy, reference: bool
) -> IndexDifference:
    text = rules.text(number)
    named = rules.schema.bind_named(parse(text), text)
    explanation = explain(named, text, event, rules.schema)
    return IndexDifference(rules.ids[number], text, event, asked, not reference, reference, explanation)
