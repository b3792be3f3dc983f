"""Coverage: which rules are true of recent events, which of none or of all, and which are the same."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.index import Index, RuleReader, coverage_of, same_rules
from ruledex.service.messages import CoverageAnswer, HistogramBucket, MatchesPerEvent, SomeRules
from ruledex.service.problems import Problem
from ruledex.service.recent import RecentEvent
from ruledex.service.request import Request

if TYPE_CHECKING:
    from ruledex.service.worker import Worker

_MOST_EVENTS: Final = 1_000
_MOST_MATCHES: Final = 10_000_000
_MOST_LISTED: Final = 100  # rules, groups of duplicates, and rules of each
_KEPT_SECONDS: Final = 10.0  # that an answer is used again, as long as no rule changes
_TIMES_KEPT: Final = 10  # if rules change, it is used for so many times the time that it took


class _Kept(NamedTuple):
    answer: CoverageAnswer
    reader: RuleReader
    made_at: float
    seconds: float

    def is_fresh(self, index: Index) -> bool:
        age = monotonic() - self.made_at
        if self.answer.version != index.version or (not self.answer.events and age > 1):
            return False
        return age < (_KEPT_SECONDS if self.reader.is_of(index) else min(_KEPT_SECONDS, _TIMES_KEPT * self.seconds))


class CoverageEndpoint:
    """The handler of coverage. Those who ask for one index at the same time share the work."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._kept: dict[str, _Kept] = {}
        self._under_way: dict[str, asyncio.Task[_Kept]] = {}

    async def get(self, request: Request) -> None:
        """Answer the coverage of an index."""
        name = request.index
        index = self._worker.indexes.get(name).index
        kept = self._kept.get(name)
        if kept is None or not kept.is_fresh(index):
            task = self._under_way.get(name)
            if task is None:
                task = self._under_way[name] = asyncio.create_task(self._make(name, index))
                task.add_done_callback(lambda done: self._forget(name, done))
            kept = await asyncio.shield(task)  # a client that leaves takes nothing from the others
        await request.answer(200, kept.answer)

    def _forget(self, name: str, done: asyncio.Task[_Kept]) -> None:
        self._under_way.pop(name, None)
        if not done.cancelled():
            done.exception()  # those who wait raise it; if nobody does, nobody misses it

    async def _make(self, name: str, index: Index) -> _Kept:
        try:
            events = (await self._worker.recent_events(name, _MOST_EVENTS))[0]
        except Problem:  # there is no writer at the moment
            events = []
        made = self._kept[name] = await self._worker.long_work.run(_make, index, events)
        return made


def _make(index: Index, events: list[RecentEvent]) -> _Kept:
    began = monotonic()
    answer, reader = make_coverage(index, [each.event for each in events])
    return _Kept(answer, reader, monotonic(), monotonic() - began)


def make_coverage(
    index: Index, events: list[dict[str, Any]], most_matches: int = _MOST_MATCHES
) -> tuple[CoverageAnswer, RuleReader]:
    """Return the coverage of an index, and the snapshot that it is of."""
    version = index.version or ""
    found = coverage_of(index, events, most_matches)
    per_event, per_rule, n_events = found.per_event, found.per_rule, len(found.per_event)

    def some(is_one: NDArray[np.bool_]) -> SomeRules:
        positions = np.flatnonzero(is_one) if n_events else np.zeros(0, np.int64)
        return SomeRules(len(positions), found.ids(positions, _MOST_LISTED))

    groups = same_rules(found.reader)
    answer = CoverageAnswer(
        version=version,
        events=n_events,
        rules=len(per_rule),
        matches=int(per_event.sum()),
        per_event=_distribution(per_event),
        histogram=_histogram(per_rule, n_events) if n_events else [],
        never=some(per_rule == 0),
        always=some(per_rule == n_events),
        duplicates=[found.ids(group, _MOST_LISTED) for group in groups[:_MOST_LISTED]],
        duplicate_groups=len(groups),
    )
    return answer, found.reader


def _distribution(per_event: NDArray[np.int64]) -> MatchesPerEvent:
    if not len(per_event):
        return MatchesPerEvent(0, 0.0, 0.0, 0)
    median, p90 = np.percentile(per_event, [50, 90]).tolist()
    return MatchesPerEvent(int(per_event.min()), median, p90, int(per_event.max()))


def _histogram(per_rule: NDArray[np.int64], n_events: int) -> list[HistogramBucket]:
    """Return how many rules are true of 0, of 1, of 2 to 4, of 5 to 9, of 10 to 19 events and so on."""
    edges, step = [0, 1], 1
    while edges[-1] <= n_events:
        edges += [2 * step, 5 * step, 10 * step]
        step *= 10
    edges = [edge for edge in edges if edge <= n_events] + [n_events + 1]
    counts = np.histogram(per_rule, edges)[0].tolist() if len(per_rule) else [0] * (len(edges) - 1)
    return [HistogramBucket(*edge, n_rules) for edge, n_rules in zip(pairwise(edges), counts, strict=True)]
