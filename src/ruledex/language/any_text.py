"""Any field: in a rule, `*` stands for every text of an event, wherever it is, as one attribute with several values.

Texts are the strings among the values, at any depth of structs and lists. Names do not count, and neither do values of
other types, however they would be written. In a tree, `*` is a call without arguments, of a function that no rule can
name: the attribute `` `*` `` is another operand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ruledex import limits
from ruledex.errors import EventError
from ruledex.language.functions.signature import Function
from ruledex.language.plain import plain
from ruledex.language.tree import Attribute, Call, Operand
from ruledex.language.value import Family

SIGN: Final = "*"
WHOLE_EVENT: Final[tuple[str, ...]] = ()  # the path of what `*` looks at
_NAME: Final = "any text"  # has a blank, so that no rule can call it

ANY_TEXT: Final = Call(_NAME, ())
FUNCTION: Final = Function(
    name=_NAME,
    parameters=(),
    result=Family.STRING,
    call=lambda: None,  # it has no arguments: `texts_of` reads the event
    summary="Every text of the event.",
    example="* ILIKE '%mimikatz%'",
    spark=None,
)


def is_any_text(operand: object) -> bool:
    """Return whether an operand is `*` itself."""
    return isinstance(operand, Call) and operand.function == _NAME


def reads_any_text(operand: Operand) -> bool:
    """Return whether an operand is `*` or a function of it."""
    if isinstance(operand, Attribute):
        return False
    nested = (argument for argument in operand.arguments if isinstance(argument, Call))
    return is_any_text(operand) or any(map(reads_any_text, nested))


def texts_of(event: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return every text of an event, or None if it has none, as of an attribute that is missing."""
    return tuple([text for text, _ in _texts(event, with_paths=False)]) or None


def placed_texts(event: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield every text of an event and its path, in the order of the event. Elements of lists have the list's path."""
    return _texts(event, with_paths=True)


def _texts(event: Mapping[str, Any], with_paths: bool) -> Iterator[tuple[str, tuple[str, ...]]]:
    # Without recursion, since a value may contain itself.
    most = limits.current()
    n_opened = 0
    opened: list[tuple[Iterator[Any], tuple[str, ...], bool]] = [(iter(event.items()), (), True)]
    while opened:
        values, path, is_named = opened[-1]
        for given in values:
            here, value = path, given
            if is_named:
                name, value = given
                if with_paths:
                    here = (*path, str(name))
            kind = type(value)
            if kind is str:
                yield value, here
                continue
            if kind is not dict and kind is not list:
                value = plain(value)
                if type(value) is str:
                    yield value, here
                    continue
                if not isinstance(value, Mapping | list | tuple):
                    continue
            n_opened += 1
            if len(opened) > most.event_depth:
                message = f"values nest deeper than the limit event_depth of {most.event_depth:,}, or without end"
                raise EventError(f"{SIGN}: {message}")
            if n_opened > most.event_lists:
                raise EventError(
                    f"{SIGN}: there are more lists and structs than the limit event_lists of {most.event_lists:,}"
                )
            is_struct = isinstance(value, Mapping)
            opened.append((iter(value.items() if is_struct else value), here, is_struct))
            break
        else:
            opened.pop()
