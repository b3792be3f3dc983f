"""Conditions on one element of an array: `exists(items, i -> i.price > limit)`.

In a tree the variable of a lambda has no name of its own. Element attributes are attributes whose first step is a name
that no text of a rule can contain: `element_name(level)`, with the number of lambdas around this one. So equal lambdas
are equal trees, whatever their variables are called, and an element is tested as an event that has it under that name,
beside everything that the event around it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any, Final

from ruledex.language.tree import Attribute, Exists, Expression, Is, Node, Not, Truth

Path = tuple[str, ...]

MAX_LEVELS: Final = 8  # of lambdas inside of lambdas
_MARK: Final = "\udc00"  # half of a surrogate pair, which no text of a rule may have
PRODUCT: Final = f"{_MARK}n"  # how many combinations of elements the lambdas around have
_LETTERS: Final = "ijk"
_known_names: dict[Any, tuple[str, ...]] = {}  # of the fields of nodes, by type


def element_name(level: int) -> str:
    """Return the name of a lambda's element among the names of an event."""
    return f"{_MARK}{level}"


def is_of_element(path: Path) -> bool:
    """Return whether a path starts at the element of a lambda."""
    return path[0].startswith(_MARK)


def element_level(path: Path) -> int:
    """Return how many lambdas there are around the one whose element a path starts at."""
    return int(path[0].removeprefix(_MARK))


# Making and naming.


def lambda_of(array: Attribute, variable: str, body: Expression, position: int) -> Exists:
    """Return `exists(array, variable -> body)`. Lambdas in the body become one level deeper."""

    def enter(path: Path) -> Path:
        if path[0] == variable:
            return element_name(0), *path[1:]
        if is_of_element(path):
            return element_name(element_level(path) + 1), *path[1:]
        return path

    return Exists(array, map_paths(body, enter, levels=1), 0, 1.0, position)


def for_all(exists: Exists) -> Not:
    """Return `forall(array, i -> body)` for `exists(array, i -> body)`: no element makes the body false."""
    return Not(Exists(exists.operand, Not(exists.body), exists.level, 1.0, exists.position))


def not_false_for_some(exists: Exists) -> Exists:
    """Return what is true where an array has an element of which the body is true or unknown."""
    return Exists(exists.operand, Not(Is(exists.body, False)), exists.level)


def of_any_element(exists: Exists) -> Exists:
    """Return the predicate that stands for the array itself: that it has an element."""
    return Exists(exists.operand, Truth(True), exists.level)


def repeats_elements(exists: Exists) -> bool:
    """Return whether a lambda tests its elements again for each element of the lambda around it."""
    return exists.level > 0 and exists.operand.path[0] != element_name(exists.level - 1)


def variable_of(level: int) -> str:
    """Return the usual name for the variable of a lambda."""
    return _LETTERS[level] if level < len(_LETTERS) else f"i{level}"


def with_variable(exists: Exists) -> tuple[str, Expression]:
    """Return a name for the variable that means nothing else in the body, and the body with it."""
    given = element_name(exists.level)
    taken = {path[0] for path in paths_in(exists.body) if path[0] != given}
    name = variable_of(exists.level)
    while name in taken:
        name += "_"
    return name, map_paths(exists.body, lambda path: (name, *path[1:]) if path[0] == given else path)


def outer_attributes(exists: Exists) -> list[Attribute]:
    """Return the attributes of the event around a lambda that its body names, each once."""
    return [Attribute(path) for path in dict.fromkeys(paths_in(exists.body)) if _is_outside(path, exists.level)]


def _is_outside(path: Path, level: int) -> bool:
    return not is_of_element(path) or element_level(path) < level


def levels_of(body: Expression) -> int:
    """Return how many lambdas lie inside of each other in a tree."""
    deepest, pending = 0, [(body, 0)]
    while pending:
        node, level = pending.pop()
        level += isinstance(node, Exists)
        deepest = max(deepest, level)
        pending += [(child, level) for child in _children(node)]
    return deepest


def nodes_in(tree: Node) -> Iterator[Node]:
    """Yield all parts of a tree from left to right, those in lambdas included."""
    pending: list[Node] = [tree]
    while pending:
        node = pending.pop()
        yield node
        pending += reversed(_children(node))


def paths_in(tree: Node) -> Iterator[Path]:
    """Yield the paths of all attributes in a tree, those in lambdas included."""
    return (node.path for node in nodes_in(tree) if isinstance(node, Attribute))


def _names_of(kind: Any) -> tuple[str, ...]:
    """Return the names of the fields of a type of nodes."""
    known = _known_names.get(kind)
    if known is None:
        known = _known_names[kind] = tuple(field.name for field in fields(kind))
    return known


def _children(node: Any) -> list[Any]:
    found: list[Any] = []
    for name in _names_of(type(node)):
        value = getattr(node, name)
        if isinstance(value, Node):
            found.append(value)
        elif isinstance(value, tuple):
            found += [part for part in value if isinstance(part, Node)]
    return found


def map_paths(node: Any, change: Callable[[Path], Path], levels: int = 0) -> Any:
    """Return a tree with each path changed, and each lambda moved by some levels. What stays the same is shared."""
    if isinstance(node, Attribute):
        path = change(node.path)
        return node if path is node.path else Attribute(path)
    made, is_changed = {}, False
    for name in _names_of(type(node)):
        value = given = getattr(node, name)
        if isinstance(given, Node):
            value = map_paths(given, change, levels)
        elif isinstance(given, tuple):
            parts = []
            for part in given:  # a loop, not a comprehension: the stack is short for the deepest rules
                parts.append(map_paths(part, change, levels) if isinstance(part, Node) else part)  # noqa: PERF401
            if any(new is not old for new, old in zip(parts, given, strict=True)):
                value = tuple(parts)
        elif name == "level":
            value = given + levels
        made[name] = value
        is_changed |= value is not given
    return type(node)(**made) if is_changed else node
