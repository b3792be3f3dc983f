"""Keys of the objects in criteria. One that Mustang does not have would change what a rule means without a word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ruledex.errors import RuleSyntaxError, did_you_mean
from ruledex.formats.rules import Note
from ruledex.language.structured_parts import Place


def check_keys(given: Mapping[str, Any], known: Iterable[str], what: str, place: Place, notes: list[Note]) -> None:
    """Raise if a key is nearly one of Mustang. Add a note about all others that it does not have."""
    names = tuple(known)
    for key, value in given.items():
        if key in names or value is None or value == []:
            continue
        hint = did_you_mean(str(key), names)
        if hint:
            raise RuleSyntaxError(f"{Place(place, key)}: {what} has no {key!r}", hint=hint)
        notes.append(Note(str(Place(place, key)), f"{what} has no {key!r} in Mustang, and it says nothing here"))
