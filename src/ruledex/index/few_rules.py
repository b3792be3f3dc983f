"""Match single events of an index with few rules, without encoding them: values lead directly to bits of a word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ruledex.dictionary.remembered import RememberedByName
from ruledex.engines.word import RuleWord
from ruledex.errors import EventError, RuledexError
from ruledex.events.mappings import PLAIN, EventEncoder
from ruledex.index.identities import Identities, RuleId
from ruledex.index.inputs import Event, as_mapping

_NULL: Any = type(None)


class WordMatcher:
    """Matches single events by the word of their rules, which have no functions. Safe to use from several threads."""

    def __init__(self, word: RuleWord, encoder: EventEncoder, identities: Identities) -> None:
        self._word, self._encoder, self._names = word, encoder, encoder.dictionary.names.below
        self._start, self._fold = word.start, word.fold
        self._remembered = RememberedByName(self._names)
        self._known = self._remembered.tables  # the bits that values change, by name, type and value
        for by_type in self._known.values():
            by_type[_NULL] = {None: 0}
        # The id and the bit of each rule, by the length of a word that ends there.
        rules = zip(identities, word.first_bits, strict=True)
        self._rules = {bit + 1: (rule_id, 1 << bit) for rule_id, bit in rules}

    def match(self, event: Event) -> list[RuleId]:
        """Return the ids of all rules that are true of an event, ascending."""
        word = self._start
        new: dict[str, Any] = {}
        if type(event) is not dict:
            event = as_mapping(event)
            word ^= self._change(event, event)
        elif len(event) < len(self._known):  # one look-up per name of the event, or per name of the rules
            known = self._known
            for name, value in event.items():
                by_type = known.get(name)
                if by_type is not None:
                    try:
                        word ^= by_type[type(value)][value]
                    except (KeyError, TypeError):  # it was not seen before, or it has no hash
                        new[name] = value
        else:
            get = event.get
            for name, by_type in self._known.items():
                value = get(name)
                try:
                    word ^= by_type[type(value)][value]
                except (KeyError, TypeError):
                    new[name] = value
        if new:
            word ^= self._change(event, new)
        word = self._fold(word)
        found: list[RuleId] = []
        while word:
            rule_id, bit = self._rules[word.bit_length()]
            found.append(rule_id)
            word ^= bit
        found.reverse()
        return found

    def _change(self, event: Mapping[str, Any], values: Mapping[str, Any]) -> int:
        """Return the bits that values change, and remember those of plain values."""
        others, changed = {}, 0
        cells: dict[str, tuple[int, ...]] = {}  # of plain values
        try:
            for name, value in values.items():
                at = self._names.get(name)
                if at is None:
                    continue
                if type(value) not in PLAIN or at.slot is None or at.below:
                    others[name] = value
                    continue
                if value == value:  # all but NaN, which is missing
                    cells[name] = at.slot.cells_of_scalar(value)
            if cells:
                changes = self._word.changes(cells)
                for change in changes.values():
                    changed ^= change
                self._remembered.remember(values, changes)
            if others:
                changed ^= self._word.change(self._encoder.walked(event, others))
        except RuledexError:
            raise
        except Exception as error:  # events hold objects of any kind, and these may raise anything
            raise EventError.of(error) from error
        return changed
