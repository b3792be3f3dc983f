"""The words of an index, for editors and lint: attributes with their types, and the values they are compared with."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ruledex.errors import RuledexError
from ruledex.forks import ForkSafeLock, cached_property
from ruledex.index import Index, RuleReader
from ruledex.language.lambdas import nodes_in
from ruledex.language.parser import parse
from ruledex.language.schema import read_path
from ruledex.language.text import constant_text
from ruledex.language.tree import Attribute, Between, Compare, Expression, In, NullSafe
from ruledex.service.problems import Problem

if TYPE_CHECKING:
    from ruledex.service.worker import Worker

Path: TypeAlias = tuple[str, ...]
Values: TypeAlias = "dict[Path, Counter[str]]"  # constants as rules write them, by attribute

_TIMES_KEPT: Final = 20  # a vocabulary of a changed index is used for so many times the time that it took to make
_EVENTS_KEPT_SECONDS: Final = 2.0
_MOST_READ: Final = 1_000  # rules whose values are counted
_READS: Final = 10  # places in the index that they come from
_MOST_EVENTS: Final = 500
_MOST_VALUES: Final = 1_000  # different values of an attribute in events
_LONGEST: Final = 100  # characters of a value
_DEEPEST: Final = 8  # levels of an event


class IndexVocabulary:
    """The words of an index as it was at some time."""

    def __init__(self, index: Index) -> None:
        began = monotonic()
        self.reader = RuleReader(index)
        self.version = index.version
        self.schema = index.schema  # with the types that rules imply
        self.paths: list[Path] = index.paths
        declared = map(read_path, self.schema.attributes)
        self.names = frozenset(path[0] for path in (*self.paths, *declared) if path)  # with which attributes begin
        self.made_at = monotonic()
        self.seconds = self.made_at - began  # that it took to make

    @cached_property
    def values(self) -> Values:
        """The constants that rules compare attributes with, counted in some of the rules."""
        began, n_rules = monotonic(), len(self.reader)
        found: Values = {}
        each = max(1, _MOST_READ // _READS)
        starts = range(0, n_rules, each) if n_rules <= _MOST_READ else range(0, n_rules, -(-n_rules // _READS))
        for start in starts:
            for text in self.reader.read(start, start + each).texts.to_pylist():
                count_constants(parse(text), found)
        self.seconds += monotonic() - began
        return found


class Vocabularies:
    """The vocabularies of all indexes, each made anew when the index has changed, but not all the time."""

    def __init__(self) -> None:
        self._kept: dict[str, IndexVocabulary] = {}
        self._lock = ForkSafeLock()
        self._of_events: dict[str, tuple[float, Values]] = {}

    def of(self, name: str, index: Index) -> IndexVocabulary:
        """Return the vocabulary of an index. Called in a thread: it may have to be made."""
        kept = self._kept.get(name)
        if kept is None or self._is_old(kept, index):
            with self._lock:
                kept = self._kept.get(name)
                if kept is None or self._is_old(kept, index):
                    kept = self._kept[name] = IndexVocabulary(index)
        return kept

    async def event_values(self, worker: Worker, name: str) -> Values:
        """Return the values of recent events, by attribute. Without a writer those that were known last."""
        made_at, values = self._of_events.get(name, (-math.inf, {}))
        if monotonic() - made_at > _EVENTS_KEPT_SECONDS:
            try:
                events, _ = await worker.recent_events(name, _MOST_EVENTS)
            except Problem:
                return values
            values = await worker.long_work.run(lambda: count_event_values(each.event for each in events))
            self._of_events[name] = monotonic(), values
        return values

    def _is_old(self, kept: IndexVocabulary, index: Index) -> bool:
        if kept.version != index.version:
            return True
        return monotonic() - kept.made_at > _TIMES_KEPT * kept.seconds and not kept.reader.is_of(index)


def count_constants(tree: Expression, into: Values) -> None:
    """Count the constants that attributes are compared with in a rule."""
    for node in nodes_in(tree):
        match node:
            case Compare(Attribute(path), _, value) | NullSafe(Attribute(path), value):
                constants: Iterable[Any] = (value,)
            case In(Attribute(path), constants):
                pass
            case Between(Attribute(path), low, high):
                constants = (low, high)
            case _:
                continue
        into.setdefault(path, Counter()).update(constant_text(constant) for constant in constants)


def count_event_values(events: Iterable[dict[str, Any]]) -> Values:
    """Count the values of events by their paths, as rules would write them."""
    found: Values = {}
    for event in events:
        for name in event:  # also one of objects in a list, whose values are not counted
            found.setdefault((name,), Counter())
        for path, value in _leaves(event, (), 0):
            counted = found.setdefault(path, Counter())
            if (text := _literal(value)) is not None and (text in counted or len(counted) < _MOST_VALUES):
                counted[text] += 1
    return found


def _leaves(value: Any, path: Path, depth: int) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict):
        if depth < _DEEPEST:
            for name, inner in value.items():
                yield from _leaves(inner, (*path, name), depth + 1)
    elif isinstance(value, list):
        for inner in value:
            if not isinstance(inner, dict | list):
                yield path, inner
    else:
        yield path, value


def _literal(value: Any) -> str | None:
    """Return a value of an event as a rule writes it, or None if an editor would not offer it."""
    if value is None or (isinstance(value, str) and len(value) > _LONGEST):
        return None
    try:
        return repr(value) if isinstance(value, float) else constant_text(value)
    except (RuledexError, AssertionError):
        return None
