"""The tree of a rule. The parser makes it, the reference evaluator walks it, and the rewrites transform it.

Predicates are always positive; a negation is `Not(predicate)`, printed as `!=`, `NOT IN` and so on. On an
attribute with several values a predicate holds if some value satisfies it and its negation if none does, so
`NOT x > 5` is not `x <= 5`, and no other representation of a negated literal is needed.

Nodes are plain objects that do not change after they are made. Two nodes are equal if they have the same meaning:
positions in the text do not count, but the types of constants do (1, 1.0 and TRUE are three constants).
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from datetime import date, datetime
from decimal import Decimal
from typing import ClassVar, TypeAlias

from ruledex.errors import DefinitionError
from ruledex.language.value_types import Interval, Moment, Network, Version

Value: TypeAlias = bool | int | Decimal | float | str | date | datetime | Version | Network | Interval | Moment


class Node:
    """The base of all parts of a tree: equality and hash by content."""

    __slots__ = ()
    _compared: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._compared = tuple(name for name in inspect.get_annotations(cls) if name != "position")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Node):
            return NotImplemented
        # Without recursion: a rule may be deeper than Python's stack has room for.
        pending: list[tuple[object, object]] = [(self, other)]
        while pending:
            left, right = pending.pop()
            if left is right:
                continue
            if type(left) is not type(right):
                return False
            if isinstance(left, Node):
                pending += [(getattr(left, name), getattr(right, name)) for name in left._compared]
            elif isinstance(left, tuple) and isinstance(right, tuple):
                if len(left) != len(right):
                    return False
                pending += zip(left, right, strict=True)
            elif left != right:
                return False
        return True

    def __hash__(self) -> int:
        digest = hash(type(self))
        for name in self._compared:
            digest = hash((digest, getattr(self, name)))
        return digest


# Operands: what a predicate looks at.


@dataclass(slots=True, eq=False)
class Attribute(Node):
    """A path into the event, with one name per step."""

    path: tuple[str, ...]


@dataclass(slots=True, eq=False)
class Call(Node):
    """A function of the registry on operands and constants: a derived attribute."""

    function: str
    arguments: tuple[Operand | Value, ...]  # of filter() an `Exists`, and of nothing else


Operand: TypeAlias = Attribute | Call


# Expressions.


@dataclass(slots=True, eq=False)
class Truth(Node):
    """TRUE, FALSE or, as None, unknown."""

    value: bool | None


@dataclass(slots=True, eq=False)
class Not(Node):
    """True if the child is false, unknown if it is unknown."""

    child: Expression


@dataclass(slots=True, eq=False)
class And(Node):
    """True if all children are true. There are at least two."""

    children: tuple[Expression, ...]


@dataclass(slots=True, eq=False)
class Or(Node):
    """True if some child is true. There are at least two children."""

    children: tuple[Expression, ...]


@dataclass(slots=True, eq=False)
class Xor(Node):
    """A chain of at least two children, folded from the left: `(a XOR b) XOR c`."""

    children: tuple[Expression, ...]


@dataclass(slots=True, eq=False)
class Xnor(Node):
    """A chain of at least two children, folded from the left: `(a XNOR b) XNOR c`."""

    children: tuple[Expression, ...]


@dataclass(slots=True, eq=False)
class Is(Node):
    """`child IS TRUE`, IS FALSE or, as None, IS UNKNOWN; never unknown."""

    child: Expression
    truth: bool | None


@dataclass(slots=True, eq=False)
class Required(Node):
    """`REQUIRED(child)`: as true as the child, and never relaxed. rule_checks.py says where it may be used."""

    child: Expression


@dataclass(slots=True, eq=False)
class Named(Node):
    """`@name`: the condition that the schema defines under a name (definitions.py), which `child` is where it is known.

    Only trees as they are written have it, and those that are explained: `Schema.bind` puts the condition in its place.
    """

    name: str
    child: Expression | None = None
    position: int = 0

    @property
    def condition(self) -> Expression:
        """The condition of the name, which only a bound tree has."""
        if self.child is None:
            raise DefinitionError(f"the tree uses the name @{self.name}: bind it to a schema that defines it")
        return self.child


@dataclass(slots=True, eq=False)
class Weighed(Node):
    """`(child)^weight`: as true as the child, and scores the weight where it is true.

    The child is what scores 0 by itself: IS NULL, IS TRUE and its kin, or the negation of a predicate.
    """

    child: Expression
    weight: float

    @property
    def is_presence(self) -> bool:
        """Whether the child is IS NOT NULL: its values have the weights that an event gives them."""
        return isinstance(self.child, Not) and isinstance(self.child.child, IsNull)


# Predicates: the leaves. `weight` is their score if they are true.


@dataclass(slots=True, eq=False)
class Compare(Node):
    """`operand op value`, with op one of = < <= > >=. A bare boolean attribute is `= TRUE`."""

    operand: Operand
    op: str
    value: Value
    weight: float = 1.0
    position: int = 0


@dataclass(slots=True, eq=False)
class In(Node):
    """`operand IN (values)`. `has_null`: the list has NULL too, so a value that is not in it is unknown.

    `weights` has one number per value, or is () if all are 1.
    """

    operand: Operand
    values: tuple[Value, ...]
    weights: tuple[float, ...] = ()
    has_null: bool = False
    position: int = 0


@dataclass(slots=True, eq=False)
class Between(Node):
    """`operand BETWEEN low AND high`: one value lies within both bounds."""

    operand: Operand
    low: Value
    high: Value
    weight: float = 1.0
    position: int = 0


@dataclass(slots=True, eq=False)
class Like(Node):
    """`operand LIKE pattern`, or LIKE ANY / ALL (patterns): one value fits some or all of them.

    Patterns are stored with backslash as their escape.
    """

    operand: Operand
    patterns: tuple[str, ...]
    every: bool = False
    ignore_case: bool = False
    weight: float = 1.0
    position: int = 0


@dataclass(slots=True, eq=False)
class Rlike(Node):
    """`operand RLIKE pattern`: the regular expression of RE2 matches anywhere in the value."""

    operand: Operand
    pattern: str
    weight: float = 1.0
    position: int = 0


@dataclass(slots=True, eq=False)
class IsNull(Node):
    """`operand IS NULL`; never unknown."""

    operand: Operand
    position: int = 0


@dataclass(slots=True, eq=False)
class NullSafe(Node):
    """`operand <=> value`: equality that is false, not unknown, if the operand is missing."""

    operand: Operand
    value: Value
    weight: float = 1.0
    position: int = 0


@dataclass(slots=True, eq=False)
class CompareOperands(Node):
    """`left op right` between two operands, op one of = < <= > >= <=>: it holds for some pair of their values."""

    left: Operand
    op: str
    right: Operand
    weight: float = 1.0
    position: int = 0


@dataclass(slots=True, eq=False)
class SetTest(Node):
    """subset_of, superset_of or set_equals of all the operand's values and the constants."""

    operand: Operand
    test: str
    values: tuple[Value, ...]
    weight: float = 1.0
    position: int = 0


@dataclass(slots=True, eq=False)
class Exists(Node):
    """`exists(operand, i -> body)`: the body is true of some element of an array.

    In the body an element has the name that lambdas.py gives to the level: the number of such predicates around this.
    """

    operand: Attribute
    body: Expression
    level: int = 0
    weight: float = 1.0
    position: int = 0


# Leaves that only rewrites create.


@dataclass(slots=True, eq=False)
class Bound(Node):
    """A range of an ordered domain. A missing end is infinite."""

    low: Value | None
    low_closed: bool
    high: Value | None
    high_closed: bool


@dataclass(slots=True, eq=False)
class Within(Node):
    """Some value of the operand lies in one of `bounds` or is one of `values`: a union of comparisons."""

    operand: Operand
    values: tuple[Value, ...]
    bounds: tuple[Bound, ...]
    position: int = 0


@dataclass(slots=True, eq=False)
class Weak(Node):
    """`operand IS NULL OR NOT predicate`: whang2009's weak not-in, as one literal."""

    predicate: Predicate


@dataclass(slots=True, eq=False)
class Untrue(Node):
    """`literal IS NOT TRUE`: a predicate or its negation is false or unknown."""

    literal: Expression


Predicate: TypeAlias = (
    Compare | In | Between | Like | Rlike | IsNull | NullSafe | CompareOperands | SetTest | Exists | Within
)
Expression: TypeAlias = (
    Truth | Not | And | Or | Xor | Xnor | Is | Required | Weighed | Named | Predicate | Weak | Untrue
)
Branch: TypeAlias = And | Or | Xor | Xnor

PREDICATES = (Compare, In, Between, Like, Rlike, IsNull, NullSafe, CompareOperands, SetTest, Exists, Within)
BRANCHES = (And, Or, Xor, Xnor)
BRANCH_OF: dict[str, type[Branch]] = {"AND": And, "OR": Or, "XOR": Xor, "XNOR": Xnor}
MAX_DEPTH = 256  # of a tree: functions that walk one recurse, and the stack is finite


def predicates(tree: Expression) -> Iterator[Predicate]:
    """Yield all predicates of a tree, from left to right."""
    if isinstance(tree, BRANCHES):
        for child in tree.children:
            yield from predicates(child)
    elif isinstance(tree, Not | Is | Required | Weighed):
        yield from predicates(tree.child)
    elif isinstance(tree, Named):
        if tree.child is not None:
            yield from predicates(tree.child)
    elif isinstance(tree, Weak):
        yield tree.predicate
    elif isinstance(tree, Untrue):
        yield from predicates(tree.literal)
    elif not isinstance(tree, Truth):
        yield tree


def operands(predicate: Predicate) -> tuple[Operand, ...]:
    """Return the operands that a predicate looks at: one, two for a comparison between operands, or a lambda's.

    Those of a lambda are its array, and the attributes of the event that its body names.
    """
    if isinstance(predicate, CompareOperands):
        return predicate.left, predicate.right
    if isinstance(predicate, Exists):
        from ruledex.language.lambdas import outer_attributes  # which stands on this module

        return predicate.operand, *outer_attributes(predicate)
    return (predicate.operand,)


def called(node: Operand | Predicate) -> Iterator[str]:
    """Yield the names of the functions that an operand or a predicate calls, those in lambdas included."""
    if isinstance(node, Call):
        yield node.function
        for argument in node.arguments:
            if isinstance(argument, Call):
                yield from called(argument)
    elif isinstance(node, Exists):
        for predicate in predicates(node.body):
            yield from called(predicate)
    elif not isinstance(node, Attribute):
        for operand in operands(node):
            yield from called(operand)


def attributes(operand: Operand) -> Iterator[Attribute]:
    """Yield the attributes that an operand is computed from."""
    if isinstance(operand, Attribute):
        yield operand
        return
    for argument in operand.arguments:
        if isinstance(argument, (Attribute, Call)):
            yield from attributes(argument)
        elif isinstance(argument, Exists):  # of filter()
            yield from operands(argument)  # attributes all


def map_predicates(tree: Expression, change: Callable[[Predicate], Predicate]) -> Expression:
    """Return the tree with each predicate replaced. Parts where nothing changes are the same objects."""
    if isinstance(tree, BRANCHES):
        children = tuple([map_predicates(child, change) for child in tree.children])
        same = all(map(operator.is_, children, tree.children))
        return tree if same else type(tree)(children)
    if isinstance(tree, Not | Required):
        child = map_predicates(tree.child, change)
        return tree if child is tree.child else type(tree)(child)
    if isinstance(tree, Is):
        child = map_predicates(tree.child, change)
        return tree if child is tree.child else Is(child, tree.truth)
    if isinstance(tree, Weighed):
        child = map_predicates(tree.child, change)
        return tree if child is tree.child else Weighed(child, tree.weight)
    if isinstance(tree, Truth | Weak | Untrue | Named):
        return tree
    return change(tree)


def replace(node: Predicate, **changes: object) -> Predicate:
    """Return a copy of a predicate with some fields changed."""
    kept = {f.name: getattr(node, f.name) for f in fields(node)}
    return type(node)(**(kept | changes))


def depth_of(tree: Expression) -> int:
    """Return the number of nodes on the longest path down, including operands. Works without recursion."""
    deepest = 0
    pending: list[tuple[Node, int]] = [(tree, 1)]
    while pending:
        node, depth = pending.pop()
        deepest = max(deepest, depth)
        below: tuple[object, ...]
        if isinstance(node, BRANCHES):
            below = node.children
        elif isinstance(node, Not | Is | Required | Weighed | Named):
            below = (node.child,)
        elif isinstance(node, Weak):
            below = (node.predicate,)
        elif isinstance(node, Untrue):
            below = (node.literal,)
        elif isinstance(node, Call):
            below = node.arguments
        elif isinstance(node, CompareOperands):
            below = (node.left, node.right)
        elif isinstance(node, Exists):
            below = (node.operand, node.body)
        elif isinstance(node, Truth) or not hasattr(node, "operand"):
            continue
        else:
            below = (node.operand,)
        pending.extend((child, depth + 1) for child in below if isinstance(child, Node))
    return deepest


def without_required(tree: Expression) -> Expression:
    """Return the same condition without REQUIRED. A tree that has none is returned as it is."""
    if isinstance(tree, Required):
        return tree.child
    if isinstance(tree, And | Or):
        children = [without_required(child) for child in tree.children]
        if any(new is not old for new, old in zip(children, tree.children, strict=True)):
            return type(tree)(tuple(children))
    return tree
