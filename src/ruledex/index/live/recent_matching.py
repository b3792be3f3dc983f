"""Match single events of a base and of the rules that were added last, with one look-up per value for both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ruledex.compiled.constants import EVERY
from ruledex.dictionary.dictionary import Names
from ruledex.engines.joint import LivingMatcher
from ruledex.errors import EventError, RuledexError
from ruledex.events.mappings import PLAIN, EventEncoder
from ruledex.index.identities import Identities, RuleId, in_order
from ruledex.index.live.recent_rules import RecentRules

_NO_NAMES: Final = Names()


class RecentMatcher:
    """Matches single events by `sparse` and by recent rules beside it. Safe to use from several threads."""

    def __init__(
        self,
        base: LivingMatcher,
        encoder: EventEncoder,
        identities: Identities,
        recent: RecentRules,
    ) -> None:
        self._base, self._encoder, self._ids = base, encoder, identities.of
        self._names = encoder.dictionary.names.below
        self._recent, self._attributes, self._known = recent, recent.attributes, recent.known_with(encoder)
        self._n_names = len(self._names) + len(self._attributes)

    def match(self, event: dict[str, Any]) -> list[RuleId] | None:
        """Return the ids of all rules that are true of an event, ascending; None if recent rules cannot say."""
        tables, cells, word, rest, given = self._known.tables, [EVERY], 0, None, event
        if len(event) > self._n_names:
            event = {name: event[name] for names in (self._names, self._attributes) for name in names if name in event}
        for name, value in event.items():
            by_type = tables.get(name)
            if by_type is not None:
                try:
                    found, bits = by_type[type(value)][value]
                except (KeyError, TypeError):  # it was not seen before, or it has no hash
                    pass
                else:
                    cells += found
                    if bits:
                        word |= bits
                    continue
            elif name not in self._names and name not in self._attributes:
                continue
            if rest is None:
                rest = {}
            rest[name] = value
        if rest is not None:
            try:
                more = self._first_seen(given, rest, cells)
            except RuledexError:
                raise
            except Exception as error:  # events hold objects of any kind, and these may raise anything
                raise EventError.of(error) from error
            if more is None:
                return None
            word |= more
        ids = self._base.match_one(cells, self._ids)
        if word:
            word = self._recent.fold(word)
            if word:
                return in_order(ids, self._recent.ids_of(word))
        return ids

    def _first_seen(self, event: Mapping[str, Any], values: Mapping[str, Any], cells: list[int]) -> int | None:
        """Return the bits that values set, and add their cells; None if recent rules cannot say. Remembers them."""
        word, others = 0, {}
        for name, value in values.items():
            if value is None:
                self._known.remember(name, None, ((), 0))
                continue
            names, attribute = self._names.get(name, _NO_NAMES), self._attributes.get(name)
            bits = 0 if attribute is None else attribute.of(value)
            if bits is None:
                return None
            word |= bits
            if type(value) not in PLAIN or names.below:
                others[name] = value
                continue
            found = () if names.slot is None else tuple(names.slot.cells(value))
            cells += found
            if value == value:  # all but NaN, which is missing
                self._known.remember(name, value, (found, bits))
        if others:
            cells += self._encoder.walked(event, others)
        return word
