"""Which rules are true of a sample of events, and which rules are the same: an index looked at as a whole."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from ruledex.index.answers import IndexAnswers
from ruledex.index.identities import Identities, RuleId
from ruledex.index.live.state import LiveState
from ruledex.index.ranges import RuleReader
from ruledex.index.state import Snapshot
from ruledex.language.clock import Now

_PIECE: Final = 1 << 16  # rules whose texts are read at once


class IndexCoverage(NamedTuple):
    """How often rules and events match. All of it is of one snapshot."""

    reader: RuleReader  # of that snapshot
    per_event: NDArray[np.int64]  # of the events that were asked about: fewer than given, if they have many matches
    per_rule: NDArray[np.int64]  # by position
    identities: Identities

    def ids(self, positions: NDArray[Any], most: int) -> list[RuleId]:
        """Return the ids of the first of some positions."""
        return self.identities.of(positions[:most].astype(np.int32))


def coverage_of(
    index: IndexAnswers[Any], events: list[dict[str, Any]], most_matches: int, now: Now = None
) -> IndexCoverage:
    """Match events and count. No more events are asked about than have `most_matches` matches, though always one."""

    def count(state: Snapshot) -> IndexCoverage:
        identities, reader = state.identities, RuleReader.of_snapshot(state)
        if not events:
            return IndexCoverage(reader, np.zeros(0, np.int64), np.zeros(len(identities), np.int64), identities)
        per_event = state.counts(events)
        n_events = max(1, int(np.searchsorted(np.cumsum(per_event), most_matches, "right")))
        found = state.match_batch(events[:n_events])
        per_rule = np.bincount(found.position, minlength=len(identities))
        return IndexCoverage(reader, np.diff(found.offsets), per_rule, identities)

    return index._ask_all(events, count, now)


def same_rules(reader: RuleReader) -> list[NDArray[np.int64]]:
    """Return groups of rules that have one condition, by position, the largest groups first.

    These are rules that became one node when they were built, whatever their texts, and rules that were added since
    with the text of another rule. Conditions that are always or never true are left out.
    """
    state = reader._state
    groups = _same_in_base(state)
    if isinstance(state, LiveState):
        groups = [state.positions.of_base(group.astype(np.int32)) for group in groups]
        if len(state.delta):
            groups = _with_delta(groups, state, reader)
    return sorted((np.sort(group) for group in groups), key=lambda group: (-len(group), int(group[0])))


def _same_in_base(state: Snapshot) -> list[NDArray[Any]]:
    """Return groups of positions in the base of rules with one root, removed rules left out."""
    groups: list[NDArray[Any]] = []
    for program, _, rules in state.base.shards:
        root = program.root
        positions = np.arange(len(root)) if rules is None else rules.astype(np.int64)
        kept = root >= 0
        if isinstance(state, LiveState) and state.alive is not None:
            kept &= state.alive.array[positions] != 0
        root, positions = root[kept], positions[kept]
        order = np.argsort(root, kind="stable")
        starts = np.flatnonzero(np.diff(root[order], prepend=-1))
        sizes = np.diff(starts, append=len(order))
        many = sizes > 1
        groups += [
            positions[order[start : start + size]]
            for start, size in zip(starts[many].tolist(), sizes[many].tolist(), strict=True)
        ]
    return groups


def _with_delta(groups: list[NDArray[Any]], state: LiveState, reader: RuleReader) -> list[NDArray[Any]]:
    """Return the groups with the rules of the delta that have the text of another rule."""
    by_text: dict[str, list[int]] = defaultdict(list)
    texts = pc.unique(state.delta.texts())
    for start in range(0, len(reader), _PIECE):
        read = reader.read(start, start + _PIECE).texts
        for row in np.flatnonzero(np.asarray(pc.is_in(read, value_set=texts))).tolist():
            by_text[read[row].as_py()].append(start + row)
    group_of = {int(position): number for number, group in enumerate(groups) for position in group}
    merged: list[list[int]] = [group.tolist() for group in groups]
    for positions in by_text.values():
        known = next((group_of[position] for position in positions if position in group_of), None)
        if known is None:
            merged.append(positions)
        else:
            merged[known] = sorted({*merged[known], *positions})
    return [np.array(group, np.int64) for group in merged if len(group) > 1]
