"""Finds in a rule what a match type of EventBridge means, as the reader writes it out.

`exists`, `anything-but` and null are about leaves of an event, which takes several predicates to say, and a dotted name
has several ways in which an event may write it. The writer gets each of them as one predicate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from ruledex.formats.conditions import any_of, has_scalar, is_null_value
from ruledex.language.lambdas import element_name, is_of_element, map_paths, paths_in
from ruledex.language.tree import (
    And,
    Attribute,
    Call,
    Compare,
    Exists,
    Expression,
    Is,
    IsNull,
    Like,
    Not,
    Or,
)

PATTERN: Final = "\ue000pattern"  # the function of a predicate that stands for values of a field
DOTTED: Final = "\ue000dotted"  # the step before the names of a path that may be written with dots
EXISTS: Final = {"exists": True}
_UNKNOWN: Final = object()

Unwanted = Callable[[Expression], Any]


class Shapes:
    """The patterns that were found in one rule. `unwanted` writes what `anything-but` takes, or returns None."""

    def __init__(self, unwanted: Unwanted) -> None:
        self.patterns: list[Any] = []
        self._unwanted = unwanted

    def found_in(self, tree: Expression) -> Expression:
        """Return a tree with one predicate for each match type and dotted name."""
        match tree:
            case And(children):
                return And(tuple(map(self.found_in, children)))
            case Or(children):
                parts = [*self._of_leaves(children)]
                return any_of(_joined_names([self.found_in(part) for part in parts]))
            case Not(child):
                return Not(self.found_in(child))
            case Is(child, truth):
                return Is(self.found_in(child), truth)
            case Exists(_, body):
                return replace(tree, body=self.found_in(body))
        return tree

    def _of_leaves(self, parts: Sequence[Expression]) -> list[Expression]:
        """Return the parts of an OR, with patterns in the place of those that say together what one of them says."""
        made, used = list[Expression](), list[Expression]()
        for part in parts:
            attribute = _null_attribute(part)
            if attribute is None:
                continue
            scalars = has_scalar(attribute).children  # type: ignore[union-attr]
            values = []
            if all(scalar in parts for scalar in scalars):
                values.append(EXISTS)
                used += scalars
            for other in parts:
                if isinstance(other, Exists) and other.operand == attribute:
                    value = self._of_element(other)
                    if value is not _UNKNOWN:
                        values.append(value)
                        used.append(other)
            if values:
                used.append(part)
                made += [self._pattern(attribute, value) for value in values]
        return [*made, *(part for part in parts if part not in used)]

    def _of_element(self, exists: Exists) -> Any:
        """Return null or an `anything-but` that one element has to satisfy."""
        element = Attribute((element_name(exists.level),))
        if exists.body == IsNull(element):
            return None
        match exists.body:
            case And((leaf, Not(Is(unwanted, True)))) if leaf == any_of((has_scalar(element), IsNull(element))):
                content = self._unwanted(unwanted)
                return _UNKNOWN if content is None else {"anything-but": content}
        return _UNKNOWN

    def _pattern(self, attribute: Attribute, value: Any) -> Expression:
        if value not in self.patterns:
            self.patterns.append(value)
        return Compare(Call(PATTERN, (attribute, self.patterns.index(value))), "=", True)


def _null_attribute(part: Expression) -> Attribute | None:
    """Return the attribute of which a part says that it is in the event, and null."""
    match part:
        case And((Compare(Call("present", (Attribute() as attribute,)), "=", True), *_)):
            return attribute if part == is_null_value(attribute) else None
    return None


def _joined_names(parts: list[Expression]) -> list[Expression]:
    """Return the parts of an OR. Those that differ in the ways to write one dotted name become one."""
    groups: dict[Expression, list[tuple[str, ...]]] = {}
    for part in parts:
        path = _only_path(part)
        if path:
            groups.setdefault(_with_path(part, path, _plain(path)), []).append(path)
    made: dict[Expression, None] = {}
    for part in parts:
        path = _only_path(part)
        if path:
            plain = _plain(path)
            together = _with_path(part, path, plain)
            n_steps = len(plain) - is_of_element(plain)
            if n_steps > 1 and all(plain) and len(set(groups[together])) == 1 << (n_steps - 1):
                start = plain[: len(plain) - n_steps]
                part = _with_path(together, plain, (*start, DOTTED, *plain[len(start) :]))
        made[part] = None
    return list(made)


def _only_path(part: Expression) -> tuple[str, ...]:
    """Return the path of the only attribute that a predicate tests, or nothing."""
    if isinstance(part, Exists):
        return part.operand.path
    if not isinstance(part, And | Or | Not | Is):
        paths = set(paths_in(part))
        if len(paths) == 1:
            return paths.pop()
    return ()


def _plain(path: tuple[str, ...]) -> tuple[str, ...]:
    if is_of_element(path):
        return (path[0], *(name for step in path[1:] for name in step.split(".")))
    return tuple(name for step in path for name in step.split("."))


def _with_path(part: Expression, old: tuple[str, ...], new: tuple[str, ...]) -> Any:
    if isinstance(part, Exists):
        return replace(part, operand=Attribute(new))
    return map_paths(part, lambda path: new if path == old else path)


def likes_of(condition: Expression) -> list[Like] | None:
    """Return the LIKEs of which one has to hold, or None if a condition is something else."""
    parts = condition.children if isinstance(condition, Or) else (condition,)
    likes = [part for part in parts if isinstance(part, Like) and len(part.patterns) == 1]
    return likes if len(likes) == len(parts) else None
