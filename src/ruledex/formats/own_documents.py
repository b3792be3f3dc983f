"""Finds the rules that are written as their owner wrote them: those that were read in the same format, and not changed.

What ForeignRules have was never changed. In an index, a rule is as it was read if reading its original again gives its
text.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

from ruledex.errors import RuleError
from ruledex.explain import Original
from ruledex.formats.rules import Note, Translator
from ruledex.language.definitions import names_in_text
from ruledex.language.structured_parts import Place
from ruledex.language.text import tree_text

# Options that say something of events: they change how a rule is read and written, and not what its document means.
_OF_EVENTS: Final = ("arrays", "dotted_names")
# A statement is read as a condition, and all that is read can be written as one.
_NEVER: Final = ("spark",)


class OwnDocuments:
    """Decides for one call of `write`. `read_options` are those that the rules were read with, if that is known."""

    def __init__(
        self,
        format: str,  # noqa: A002
        make: Callable[..., Translator],
        write_rule: Callable[..., Any],
        options: Mapping[str, Any],
        read_options: Mapping[str, Any] | None,
        definitions: Mapping[str, str],
    ) -> None:
        self._format = format
        self._make = make
        self._definitions = definitions
        shared = set(_parameters(make)) & set(_parameters(write_rule)) - set(_OF_EVENTS)
        self._given = {name: value for name, value in options.items() if name in shared}
        self._is_certain = read_options is not None and (
            _changed(write_rule, options, shared) == _changed(make, read_options, shared)
        )
        self._is_possible = format not in _NEVER and (read_options is None or self._is_certain)
        self._readings: list[Translator] | None = None

    def has(self, original: Original | None, text: str | bytes) -> bool:
        """Return whether a rule with this text may be written as its original."""
        if not self._is_possible or original is None or original.format != self._format:
            return False
        return self._is_certain or (isinstance(text, str) and any(self._gives(r, original, text) for r in self._all()))

    def _all(self) -> list[Translator]:
        """Return the ways to read an original, of which one was the way that its rule was read."""
        if self._readings is None:
            of_events = [name for name in _parameters(self._make) if name in _OF_EVENTS]
            self._readings = [self._make(**self._given, **more) for more in ({}, *({n: False} for n in of_events))]
        return self._readings

    def _gives(self, reading: Translator, original: Original, text: str) -> bool:
        notes: list[Note] = []
        try:
            if tree_text(reading.translate(original.rule, Place(), notes)) != text:
                return False
        except (RuleError, RecursionError):
            return False
        return all(reading.definitions.get(name) == self._definitions.get(name) for name in names_in_text(text))


def _parameters(made: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(made).parameters


def _changed(made: Callable[..., Any], options: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    """Return the options among some names that are not the default ones."""
    defaults = {name: parameter.default for name, parameter in _parameters(made).items()}
    return {name: value for name, value in options.items() if name in names and value != defaults.get(name)}
