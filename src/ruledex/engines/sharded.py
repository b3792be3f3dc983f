"""Several engines as one: each has some of the rules, and all have the same cells."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.decorator import jit
from ruledex.engines.inputs import check_k, freeze_batch
from ruledex.engines.protocol import Alive, Matcher, Matches, Rank
from ruledex.events.batch import EventBatch


@jit
def merge_matches(
    left_offsets: NDArray[np.int64],
    left: NDArray[np.int32],
    right_offsets: NDArray[np.int64],
    right: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Write the rules of each event, ascending as those of either side do; no rule is on both sides."""
    place = 0
    for event in range(left_offsets.size - 1):
        one, one_end = left_offsets[event], left_offsets[event + 1]
        two, two_end = right_offsets[event], right_offsets[event + 1]
        while one < one_end or two < two_end:
            if two == two_end or (one < one_end and left[one] < right[two]):
                out[place] = left[one]
                one += 1
            else:
                out[place] = right[two]
                two += 1
            place += 1


@jit
def merge_top(
    left_offsets: NDArray[np.int64],
    left: NDArray[np.int32],
    left_ranks: NDArray[np.float64],
    right_offsets: NDArray[np.int64],
    right: NDArray[np.int32],
    right_ranks: NDArray[np.float64],
    out_offsets: NDArray[np.int64],
    out: NDArray[np.int32],
    out_ranks: NDArray[np.float64],
) -> None:
    """Write the best rules of each event, as many as `out_offsets` has room for: by rank, and then by position."""
    for event in range(left_offsets.size - 1):
        one, one_end = left_offsets[event], left_offsets[event + 1]
        two, two_end = right_offsets[event], right_offsets[event + 1]
        for place in range(out_offsets[event], out_offsets[event + 1]):
            takes_left = two == two_end or (
                one < one_end
                and (
                    left_ranks[one] > right_ranks[two]
                    or (left_ranks[one] == right_ranks[two] and left[one] < right[two])
                )
            )
            if takes_left:
                out[place], out_ranks[place] = left[one], left_ranks[one]
                one += 1
            else:
                out[place], out_ranks[place] = right[two], right_ranks[two]
                two += 1


class EngineShard(NamedTuple):
    """An engine, and the positions of its rules among all rules, ascending."""

    engine: Matcher
    rules: NDArray[np.int32]


class ShardedEngine:
    """Answers as one engine over all rules would, ties included. Safe to use from several threads at once.

    A batch goes through one shard after the other, so that a shard's arrays stay in the cache for all events. If
    `alive` or `static_score` is a read-only array, each shard's part of it is remembered for the next call with the
    same array, which must not change.
    """

    def __init__(self, parts: Sequence[EngineShard]) -> None:
        self.parts = parts
        self.name = parts[0].engine.name
        self._alive, self._scores = _Slices(parts), _Slices(parts)

    def match(self, batch: EventBatch, alive: Alive | None = None) -> Matches:
        """Return all rules that are true, ascending within each event."""
        batch = freeze_batch(batch)
        mine = zip(self.parts, self._alive.of(alive), strict=True)
        return reduce(combine_matches, (_whole(part.engine.match(batch, living), part) for part, living in mine))

    def count(self, batch: EventBatch, alive: Alive | None = None) -> NDArray[np.int64]:
        """Return how many rules are true of each event."""
        batch = freeze_batch(batch)
        counts = np.zeros(batch.n_events, np.int64)
        for part, living in zip(self.parts, self._alive.of(alive), strict=True):
            counts += part.engine.count(batch, living)
        return counts

    def top(
        self,
        batch: EventBatch,
        k: int,
        rank: Rank = "sum",
        alive: Alive | None = None,
        static_score: NDArray[np.float64] | None = None,
    ) -> Matches:
        """Return the best k rules of each event with their ranks as scores, the best first, ties by position."""
        batch, k = freeze_batch(batch), check_k(k)
        mine = zip(self.parts, self._alive.of(alive), self._scores.of(static_score), strict=True)
        best = [_whole(part.engine.top(batch, k, rank, living, scores), part) for part, living, scores in mine]
        return reduce(lambda left, right: combine_top(left, right, k), best)

    def describe(self) -> dict[str, Any]:
        """Describe all shards."""
        told = [part.engine.describe() for part in self.parts]
        over = {"n_overflow": sum(each["n_overflow"] for each in told)} if "n_overflow" in told[0] else {}
        return {
            "engine": self.name,
            "n_rules": sum(len(part.rules) for part in self.parts),
            **over,
            "bytes": sum(each["bytes"] for each in told) + sum(part.rules.nbytes for part in self.parts),
            "shards": told,
        }


class _Slices:
    """The shards' parts of arrays that have one entry per rule."""

    def __init__(self, parts: Sequence[EngineShard]) -> None:
        self._parts = parts
        self._last: tuple[NDArray[Any], list[NDArray[Any]]] | None = None

    def of(self, values: NDArray[Any] | None) -> Sequence[NDArray[Any] | None]:
        """Return the values of each shard; None for each where there are no values."""
        if values is None:
            return [None] * len(self._parts)
        last = self._last
        if last is not None and last[0] is values:
            return last[1]
        mine = [values[part.rules] for part in self._parts]
        for array in mine:
            array.flags.writeable = False
        if not values.flags.writeable:
            self._last = values, mine
        return mine


def _whole(found: Matches, part: EngineShard) -> Matches:
    """Return a shard's matches by the positions of all rules."""
    return found._replace(rule=part.rules[found.rule])


def combine_matches(left: Matches, right: Matches) -> Matches:
    """Return the matches of both, ascending within each event. Events are the same, and no rule is in both."""
    offsets = left.offsets + right.offsets
    rules = np.empty(offsets[-1], np.int32)
    merge_matches(
        frozen(left.offsets, np.int64),
        frozen(left.rule, np.int32),
        frozen(right.offsets, np.int64),
        frozen(right.rule, np.int32),
        rules,
    )
    return Matches(offsets, rules)


def combine_top(left: Matches, right: Matches, k: int) -> Matches:
    """Return the best k of both, ranked as each of them is."""
    assert left.scores is not None
    assert right.scores is not None
    offsets = np.zeros_like(left.offsets)
    np.cumsum(np.minimum(np.diff(left.offsets) + np.diff(right.offsets), k), out=offsets[1:])
    rules, ranks = np.empty(offsets[-1], np.int32), np.empty(offsets[-1])
    merge_top(
        frozen(left.offsets, np.int64),
        frozen(left.rule, np.int32),
        frozen(left.scores, np.float64),
        frozen(right.offsets, np.int64),
        frozen(right.rule, np.int32),
        frozen(right.scores, np.float64),
        frozen(offsets, np.int64),
        rules,
        ranks,
    )
    return Matches(offsets, rules, ranks)
