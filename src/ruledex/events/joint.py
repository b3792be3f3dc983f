"""Encode single events for two dictionaries at once, those of an index and of the rules that came later.

A value that was seen before costs one look-up for both.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, Final

from ruledex.compiled.constants import EVERY
from ruledex.dictionary.dictionary import Names
from ruledex.dictionary.remembered import Remembered
from ruledex.errors import EventError, RuledexError
from ruledex.events.mappings import PLAIN, EventEncoder
from ruledex.language.value import is_missing

_NO_NAMES: Final = Names()


class JointEncoder:
    """Encodes single events for two encoders. Safe to use from several threads."""

    def __init__(self, first: EventEncoder, second: EventEncoder) -> None:
        self.first, self.second = first, second
        self._is_plain = not (first.has_derived or second.has_derived)
        self._first_names, self._second_names = first.dictionary.names.below, second.dictionary.names.below
        self._n_names = len(self._first_names) + len(self._second_names)
        self._remembered: dict[str, Remembered] = {}
        self._known: dict[str, dict[type, dict[Any, tuple[int, ...]]]] = {}  # their tables

    def cells_of(self, event: Mapping[str, Any]) -> list[int]:
        """Return the cells of one event, in any order, some perhaps twice: those of the second are complements."""
        if type(event) is not dict or not self._is_plain:
            return self._apart(event)
        cells, known, rest = [EVERY, ~EVERY], self._known, None
        if len(event) > self._n_names:
            names = chain(self._first_names, self._second_names)
            event = {name: event[name] for name in names if name in event}
        for name, value in event.items():
            by_type = known.get(name)
            if by_type is not None:
                try:
                    cells += by_type[type(value)][value]
                    continue
                except (KeyError, TypeError):  # it was not seen before, or it has no hash
                    pass
            elif name not in self._first_names and name not in self._second_names:
                continue
            if rest is None:
                rest = {}
            rest[name] = value
        if rest is not None:
            try:
                self._first_seen(event, rest, cells)
            except RuledexError:
                raise
            except Exception as error:  # events hold objects of any kind, and these may raise anything
                raise EventError.of(error) from error
        return cells

    def _apart(self, event: Mapping[str, Any]) -> list[int]:
        """Return the cells of an event by asking each encoder."""
        return self.first.cells_of(event) + [~cell for cell in self.second.cells_of(event)]

    def _first_seen(self, event: Mapping[str, Any], values: Mapping[str, Any], cells: list[int]) -> None:
        """Add the cells of values that were not seen before, and remember those of plain values."""
        others = {}
        for name, value in values.items():
            one = self._first_names.get(name, _NO_NAMES)
            other = self._second_names.get(name, _NO_NAMES)
            if type(value) not in PLAIN or one.below or other.below:
                others[name] = value
                continue
            found = (
                *(() if one.slot is None else one.slot.cells(value)),
                *(() if other.slot is None else [~cell for cell in other.slot.cells(value)]),
            )
            cells += found
            if not is_missing(value):
                self._remember(name, value, found)
        if others:
            cells += self.first.walked(event, others)
            cells += [~cell for cell in self.second.walked(event, others)]

    def _remember(self, name: str, value: Any, cells: tuple[int, ...]) -> None:
        remembered = self._remembered.get(name)
        if remembered is None:
            remembered = self._remembered.setdefault(name, Remembered())
            self._known[name] = remembered.tables
        remembered.remember(value, value, cells)
