"""`RankedIndex`: subscriptions over many dimensions, and the best k of them for an event."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ruledex.compiled.arrays import frozen
from ruledex.engines.inputs import array_of, check_k, stored_fields
from ruledex.engines.protocol import Arrays, Matches
from ruledex.errors import RuledexError, quoted
from ruledex.ranked.exact import ExactIndex, ExactReport, exact_entries, unconditional_of
from ruledex.ranked.interval_tree import ScoredIntervalTree
from ruledex.ranked.intervals import doubles
from ruledex.ranked.irtree import IRTree
from ruledex.ranked.relaxed import (
    BestFirst,
    Method,
    RelaxedIndex,
    SubscriptionReport,
    relaxed_entries,
    score_gaps,
)
from ruledex.ranked.rtree import ScoredRTree
from ruledex.ranked.segment_tree import ScoredSegmentTree
from ruledex.ranked.sopt_rtree import SOPTRTree
from ruledex.ranked.subscriptions import (
    MAX,
    SUM,
    EventLike,
    EventRows,
    Floats,
    Subscriptions,
    event_rows,
    from_columns,
    full_scores,
    subscriptions_of,
)
from ruledex.ranked.tree import Ranked, ScoredTree

Mode = Literal["exact", "relaxed"]
Combination = Literal["sum", "max"]
STRUCTURES: dict[str, type[ScoredTree]] = {
    structure.name: structure for structure in (ScoredSegmentTree, ScoredIntervalTree, ScoredRTree, IRTree, SOPTRTree)
}
MODES: tuple[Mode, ...] = ("exact", "relaxed")
COMBINATIONS: dict[Combination, int] = {"sum": SUM, "max": MAX}

Part = TypeVar("Part", ExactIndex, RelaxedIndex)


class RankedIndex:
    """Subscriptions over many dimensions. A subscription has scored intervals in some of them.

    Exact matching finds the subscriptions all of whose intervals an event meets, by the scores of all intervals.
    Relaxed matching finds those of which it meets at least one interval, by the scores of the intervals that it meets.
    Scores are added up, or the largest counts; a weighted sum has one weight per dimension. Subscriptions of
    equal score are in the order of ids, which are places in the input.

    Safe to use from several threads at once.

    >>> from ruledex.ranked.index import RankedIndex
    >>> jobs = RankedIndex.from_columns(left=[[2, 5]], right=[[6, 9]], score=[[1.0, 2.0]])
    >>> jobs.top([5], k=2).ids.tolist()
    [1, 0]
    """

    def __init__(
        self,
        subscriptions: Subscriptions,
        n_dimensions: int,
        combine: Combination,
        exact: ExactIndex | None,
        relaxed: RelaxedIndex | None,
    ) -> None:
        self.subscriptions = subscriptions
        self.n_dimensions = n_dimensions
        self.combine = combine
        self._exact = exact
        self._relaxed = relaxed

    @classmethod
    def build(
        cls,
        offsets: ArrayLike,
        dimension: ArrayLike,
        left: ArrayLike,
        right: ArrayLike,
        score: ArrayLike,
        *,
        n_dimensions: int,
        left_open: ArrayLike | None = None,
        right_open: ArrayLike | None = None,
        combine: Combination = "sum",
        weights: ArrayLike | None = None,
        subscription_score: ArrayLike | None = None,
        structure: str = "sopt",
        modes: Iterable[Mode] = MODES,
        **options: Any,
    ) -> Self:
        """Index subscriptions: number s has the entries from `offsets[s]` up to `offsets[s + 1]`.

        An entry is a dimension, an interval (see `ScoredTree.build`) and a score, finite and not negative; a
        subscription's dimensions ascend. `weights` multiply the scores of each dimension. `subscription_score` is what
        exact matching ranks by, instead of the combined scores. `options` are the structure's.
        """
        if combine not in COMBINATIONS:
            raise RuledexError(f"combine must be one of {', '.join(COMBINATIONS)}, not {quoted(combine)}")
        kind, wanted = structure_named(structure), [check_mode(mode) for mode in modes]
        subscriptions = subscriptions_of(
            offsets, dimension, left, right, score, n_dimensions, weights, left_open, right_open
        )
        exact = relaxed = None
        whole = np.empty(len(subscriptions.offsets) - 1)  # what each scores when all its intervals are met
        full_scores(tuple(subscriptions), COMBINATIONS[combine], whole)
        if "exact" in wanted:
            points = _own_scores(whole, subscription_score)
            tree = kind.from_entries(exact_entries(subscriptions, points, n_dimensions), **options)
            exact = ExactIndex(subscriptions, tree, unconditional_of(subscriptions, points))
        if "relaxed" in wanted:
            entries = relaxed_entries(subscriptions, n_dimensions)
            tree = kind.from_entries(entries, **options)
            best_first = BestFirst.of(whole)
            relaxed = RelaxedIndex(subscriptions, COMBINATIONS[combine], tree, score_gaps(entries), best_first)
        return cls(subscriptions, n_dimensions, combine, exact, relaxed)

    @classmethod
    def from_columns(cls, left: ArrayLike, right: ArrayLike, score: ArrayLike, **options: Any) -> Self:
        """Index subscriptions that are given as arrays of shape (dimensions, subscriptions).

        What a subscription lacks is NaN in `left` and `right`. All else is as in `build`.
        """
        entries = from_columns(left, right, score)
        return cls.build(*entries, n_dimensions=len(np.asarray(left)), **options)

    @property
    def n_subscriptions(self) -> int:
        """How many subscriptions there are."""
        return len(self.subscriptions.offsets) - 1

    def top(
        self,
        event: EventLike,
        k: int,
        mode: Mode = "exact",
        *,
        weights: ArrayLike | None = None,
        method: Method = "auto",
    ) -> Ranked:
        """Return the best k subscriptions.

        An event maps dimensions to numbers or to closed intervals (low, high), or is an array with a number for each
        dimension; NaN stands for a dimension that it lacks. `weights` multiply the scores of each dimension for this
        event, and `method` says how to find them, both for relaxed matching alone.
        """
        return self.top_reported(event, k, mode, weights=weights, method=method)[0]

    def top_reported(
        self,
        event: EventLike,
        k: int,
        mode: Mode = "exact",
        *,
        weights: ArrayLike | None = None,
        method: Method = "auto",
    ) -> tuple[Ranked, ExactReport | SubscriptionReport]:
        """Return the answer of `top`, and how it was found."""
        most = min(check_k(k), self.n_subscriptions)
        rows = event_rows(event, self.n_dimensions, weights)
        if check_mode(mode) == "relaxed":
            relaxed = _built(self._relaxed, mode)
            _check_intervals(rows, relaxed)
            return relaxed.top(rows, most, method)
        if weights is not None or method != "auto":
            raise RuledexError("weights and method are only for relaxed matching")
        exact = _built(self._exact, mode)
        _check_intervals(rows, exact)
        return exact.top(rows, most)

    def top_batch(self, events: Iterable[EventLike], k: int, mode: Mode = "exact") -> Matches:
        """Return the answers of `top` for several events, one after the other."""
        answers = [self.top(event, k, mode) for event in events]
        offsets = np.concatenate([[0], np.cumsum([len(answer.ids) for answer in answers])]).astype(np.int64)
        ids, scores = [np.zeros(0, np.int32)], [np.zeros(0)]
        ids += [answer.ids for answer in answers]
        scores += [answer.scores for answer in answers]
        return Matches(offsets, np.concatenate(ids), np.concatenate(scores))

    def arrays(self) -> Arrays:
        """Return all that a build computed, by names with a dot; what several parts share is there once."""
        kinds = list(STRUCTURES)
        found: Arrays = {f"subscriptions.{name}": array for name, array in self.subscriptions._asdict().items()}
        structure = 0
        if self._exact is not None:
            structure = kinds.index(self._exact.tree.name)
            found |= {f"exact.{name}": array for name, array in self._exact.tree.arrays().items()}
            found["unconditional"] = self._exact.unconditional
        if self._relaxed is not None:
            structure = kinds.index(self._relaxed.tree.name)
            found |= {
                f"relaxed.{name}": array for name, array in self._relaxed.tree.arrays().items() if name != "score"
            }
            found["gap"] = self._relaxed.gap
            found |= {f"best_first.{name}": array for name, array in self._relaxed.best_first._asdict().items()}
        found["about"] = np.array([self.n_dimensions, COMBINATIONS[self.combine], structure])
        return found

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Return the index whose build gave `arrays`; maps of a file will do, and are not copied."""
        subscriptions = stored_fields(Subscriptions, arrays, "subscriptions.")
        n_dimensions, combination, structure = array_of(arrays, "about", np.int64).tolist()
        kind = list(STRUCTURES.values())[structure]
        parts = {
            mode: {name.removeprefix(f"{mode}."): array for name, array in arrays.items() if name.startswith(mode)}
            for mode in MODES
        }
        exact = relaxed = None
        if parts["exact"]:
            unconditional = array_of(arrays, "unconditional", np.int32)
            exact = ExactIndex(subscriptions, kind.from_arrays(parts["exact"]), unconditional)
        if parts["relaxed"]:
            tree = kind.from_arrays({**parts["relaxed"], "score": subscriptions.score})
            gap = array_of(arrays, "gap", np.float64)
            best_first = stored_fields(BestFirst, arrays, "best_first.")
            relaxed = RelaxedIndex(subscriptions, combination, tree, gap, best_first)
        combine = next(name for name, code in COMBINATIONS.items() if code == combination)
        return cls(subscriptions, n_dimensions, combine, exact, relaxed)

    def describe(self) -> dict[str, Any]:
        """Describe what the index is made of, in plain values."""
        parts = {"exact": self._exact, "relaxed": self._relaxed}
        return {
            "n_subscriptions": self.n_subscriptions,
            "n_entries": len(self.subscriptions.dimension),
            "n_dimensions": self.n_dimensions,
            "combine": self.combine,
            "bytes": {
                "subscriptions": sum(array.nbytes for array in self.subscriptions),
                **{name: part.n_bytes for name, part in parts.items() if part is not None},
            },
        }


def _built(part: Part | None, mode: Mode) -> Part:
    if part is None:
        raise RuledexError(f"the index was built without the mode {quoted(mode)}")
    return part


def check_mode(mode: Mode) -> Mode:
    """Return the mode; refuse an unknown one."""
    if mode not in MODES:
        raise RuledexError(f"mode must be one of {', '.join(MODES)}, not {quoted(mode)}")
    return mode


def _check_intervals(rows: EventRows, part: ExactIndex | RelaxedIndex) -> None:
    if not rows.is_point and not part.tree.can_overlap:
        able = [name for name, structure in STRUCTURES.items() if structure.can_overlap]
        raise RuledexError(
            f"events that are intervals need a structure of {', '.join(able)}; this one is {part.tree.name}"
        )


def _own_scores(whole: Floats, given: ArrayLike | None) -> Floats:
    """Return what exact matching ranks each subscription by."""
    points = whole if given is None else doubles("subscription_score", given)
    if len(points) != len(whole) or not np.isfinite(points).all():
        raise RuledexError(f"subscription_score must be {len(whole):,} finite numbers")
    return frozen(points, np.float64)


def structure_named(name: str) -> type[ScoredTree]:
    """Return the class of a structure."""
    if name not in STRUCTURES:
        raise RuledexError(f"there is no structure {quoted(name)}; there are {', '.join(STRUCTURES)}")
    return STRUCTURES[name]
