"""Filters over the tags of rules: which rules a question is put to.

A filter is a rule over tags. It is evaluated once per version into one byte per rule, which the engines take as they
take the bytes that say which rules are removed; so the best k are those among the rules that the filter admits, and
nothing is cut off afterwards. The rules of a delta are evaluated when they are first asked about.
"""

from __future__ import annotations

import copy
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import read_only
from ruledex.engines.protocol import Alive, Matcher, Matches, Rank
from ruledex.engines.registry import engine_class
from ruledex.errors import RuledexError, RuledexWarning, did_you_mean, quoted
from ruledex.events.batch import EventBatch
from ruledex.events.mappings import EventEncoder
from ruledex.forks import ForkSafeLock
from ruledex.index.build import build_program
from ruledex.index.live.delta import Delta
from ruledex.index.live.overlay import Overlay
from ruledex.index.live.state import LiveState
from ruledex.index.state import BuiltState, Snapshot
from ruledex.index.tags import NO_TAGS, RuleTags, TagSets, tags_of
from ruledex.language.parser import parse
from ruledex.language.plain import level_of_caller
from ruledex.language.schema import Schema
from ruledex.limits import forget_when_changed

if TYPE_CHECKING:
    from ruledex.index.index import Index

Admitted = NDArray[np.uint8]  # for each rule 1, or 0 if the filter leaves it out
T = TypeVar("T")

_MOST_COMPILED: Final = 256  # filters
_MOST_KEPT: Final = 256  # filters per index whose bytes are kept
_MOST_BYTES: Final = 256 << 20  # of them, though always a few are kept
_FEWEST_KEPT: Final = 4
_MOST_REMEMBERED: Final = 10_000  # tags of live rules per filter
_MANY: Final = 5_000  # so many distinct tags are evaluated as columns
_PIECE: Final = 65_536  # events that are encoded at once


class TagFilter:
    """A compiled filter. It is true, false or unknown of a rule's tags, and admits the rules that it is true of."""

    def __init__(self, text: str, time_zone: str) -> None:
        parse(text)  # the compiled reader takes only what UTF-8 can write
        built = build_program([text], np.zeros(1), Schema(time_zone=time_zone))
        if built.faults:
            raise built.faults[0][1]
        if built.dictionary.uses_now:  # what a filter admits is kept
            raise RuledexError(f"a filter has no now(): write the time itself into {quoted(text)}")
        self.text = text
        self.names = sorted({path[0] for path in built.dictionary.used_paths if path})
        # Functions may look at more than the values of these names, and tell a null from what is absent.
        self._fits_columns = not built.dictionary.derived
        self._encoder = EventEncoder(built.dictionary)
        self._engine: Any = engine_class("auto").build(built.program)
        self._known: dict[str, int] = {}  # tags of live rules that were asked about before

    def admits_sets(self, sets: TagSets, n_rules: int) -> Admitted:
        """Return which rules of a version the filter admits."""
        if sets.codes is None:
            return read_only(np.full(n_rules, self._admits([{}])[0], np.uint8))
        is_many = len(sets.texts) > _MANY and self._fits_columns
        table = sets.table([name for name in self.names if name in sets.names]) if is_many else None
        # A table without columns has no rows.
        is_columns = table is not None and table.num_columns > 0
        verdicts = self._admits(table if is_columns else sets.rows)
        return read_only(verdicts[sets.codes])

    def admits_texts(self, texts: Sequence[str]) -> Admitted:
        """Return which of some tags, given as canonical JSON, the filter admits."""
        known = self._known  # another thread may replace it meanwhile
        new = sorted({text for text in texts if text not in known})
        verdicts = dict(zip(new, self._admits([tags_of(text) for text in new]).tolist(), strict=True))
        if new:
            self._known = verdicts if len(known) + len(new) > _MOST_REMEMBERED else known | verdicts
        return np.array([verdicts[text] if text in verdicts else known[text] for text in texts], np.uint8)

    def _admits(self, tags: Any) -> Admitted:
        found = np.zeros(len(tags), np.uint8)
        for start in range(0, len(tags), _PIECE):
            piece = tags[start : start + _PIECE]
            is_rows = isinstance(piece, list)
            batch = self._encoder.encode(piece, None) if is_rows else self._encoder.arrow.encode(piece)
            found[start : start + _PIECE] = self._engine.count(batch) > 0
        return found


@lru_cache(_MOST_COMPILED)
def compile_filter(text: str, time_zone: str) -> TagFilter:
    """Return the filter of a text, compiled once. Raises a RuleError if it is not a condition."""
    return TagFilter(text, time_zone)


forget_when_changed(compile_filter.cache_clear)


def check_filter(where: Any, time_zone: str = "UTC") -> TagFilter:
    """Return a filter, compiled. Raises an error if it is not a condition."""
    if not isinstance(where, str):
        raise RuledexError(f"where is a condition over the rules' tags, such as \"tenant = 'a'\", not {quoted(where)}")
    return compile_filter(where, time_zone)


class FilteredViews:
    """Snapshots that answer only for the rules that a filter admits. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._admitted: OrderedDict[str, Admitted] = OrderedDict()  # of the base
        self._tags: RuleTags | None = None  # of that base
        self._state: Snapshot | None = None
        self._views: OrderedDict[str, Any] = OrderedDict()  # of that snapshot

    def of(self, state: Snapshot, where: Any) -> Any:
        """Return a view of a snapshot. Views are kept as long as the same snapshot is asked about."""
        with self._lock:
            if self._state is not state:
                self._state, self._views = state, OrderedDict()
            elif isinstance(where, str) and where in self._views:
                self._views.move_to_end(where)
                return self._views[where]
        view = self._view(state, check_filter(where, state.dictionary.schema.time_zone))
        with self._lock:
            if self._state is state:
                _keep(self._views, where, view, len(state.base.identities))
        return view

    def _view(self, state: Snapshot, filter_: TagFilter) -> Any:
        base = state.base
        admitted = self._of_base(base, filter_)
        if not isinstance(state, LiveState):
            _warn_of_unknown(filter_, base.tags.sets.names)
            return base._replace(engine=RestrictedEngine(base.engine, admitted))
        alive = admitted if state.alive is None else read_only(admitted & state.alive.array)
        of_delta = filter_.admits_texts([text or NO_TAGS for text in state.delta.tags()])
        missing = [name for name in filter_.names if name not in base.tags.sets.names]
        if missing:
            of_live = frozenset().union(*(tags_of(text) for text in set(state.delta.tags())))
            _warn_of_unknown(filter_, base.tags.sets.names | of_live)
        delta = restricted(state.delta, of_delta)
        return LiveState(base, state.removed, Overlay(alive), state.scores, delta, state.schema)

    def _of_base(self, base: BuiltState, filter_: TagFilter) -> Admitted:
        with self._lock:
            if self._tags is not base.tags:
                self._tags, self._admitted = base.tags, OrderedDict()
            kept = self._admitted.get(filter_.text)
        if kept is None:
            kept = filter_.admits_sets(base.tags.sets, len(base.identities))
            with self._lock:
                if self._tags is base.tags:
                    _keep(self._admitted, filter_.text, kept, len(kept))
        return kept


def _keep(kept: OrderedDict[str, T], name: str, value: T, n_bytes: int) -> None:
    """Keep a value, and let go of those that were not asked for longest if there are too many."""
    kept[name] = value
    kept.move_to_end(name)
    most = max(_FEWEST_KEPT, min(_MOST_KEPT, _MOST_BYTES // max(1, n_bytes)))
    while len(kept) > most:
        kept.popitem(last=False)


def restricted(delta: Delta, admitted: Admitted) -> Delta:
    """Return a delta that answers only for the rules that a filter admits, given by position."""
    view = copy.copy(delta.settled())
    view.admitted = admitted
    view.__dict__.pop("alive", None)  # of the delta without a filter, if that has been asked before
    return view


def _warn_of_unknown(filter_: TagFilter, known: Iterable[str]) -> None:
    """Warn of tags that no rule has: a filter takes them for missing, as a rule takes what an event lacks."""
    names = sorted(known)
    for name in filter_.names:
        if name not in names:
            hint = did_you_mean(name, names) if names else "no rule of it has tags"
            message = f"no rule of this index has the tag {quoted(name)}{'; ' if hint else ''}{hint}"
            warnings.warn(message, RuledexWarning, stacklevel=level_of_caller())


class RestrictedEngine:
    """A matcher of the rules that a filter admits."""

    def __init__(self, engine: Matcher, admitted: Admitted) -> None:
        self.name = engine.name
        self._engine = engine
        self._admitted = admitted

    def _alive(self, alive: Alive | None) -> Alive:
        return self._admitted if alive is None else self._admitted & alive.view(np.uint8)

    def match(self, batch: EventBatch, alive: Alive | None = None) -> Matches:
        """Return all rules that are true, ascending within each event."""
        return self._engine.match(batch, self._alive(alive))

    def count(self, batch: EventBatch, alive: Alive | None = None) -> NDArray[np.int64]:
        """Return how many rules are true of each event."""
        return self._engine.count(batch, self._alive(alive))

    def top(
        self,
        batch: EventBatch,
        k: int,
        rank: Rank = "sum",
        alive: Alive | None = None,
        static_score: NDArray[np.float64] | None = None,
    ) -> Matches:
        """Return the best k rules of each event."""
        return self._engine.top(batch, k, rank, self._alive(alive), static_score)

    def describe(self) -> dict[str, Any]:
        """Describe the engine."""
        return self._engine.describe()


def without_rules(index: Index[Any], positions: Sequence[int]) -> Index[Any]:
    """Return an opened version without the rules at some positions. The given index keeps them."""
    state = index._state.base
    admitted = np.ones(len(state.identities), np.uint8)
    admitted[list(positions)] = 0
    partial = state._replace(engine=RestrictedEngine(state.engine, read_only(admitted)))
    return type(index)(partial, [], index._root, None, index._options)
