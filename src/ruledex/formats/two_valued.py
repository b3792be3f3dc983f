"""What writers of two-valued formats share.

A rule is true, false or unknown of an event. A document of another system is true or false. So a rule is first settled
(rewrite/settle.py) to ANDs and ORs of four questions about its predicates, and a document answers each of them:

    p is true        the test of p
    p is not true    the opposite of the test
    p is false       not true, and the operand has a value of the type that p compares with
    p is not false   the opposite of that

`True` and `False` stand for documents that are always true or false.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

from ruledex.errors import RuleLimitError
from ruledex.formats.rules import Note
from ruledex.formats.writing import cannot_say, shown, with_variables
from ruledex.language.lambdas import element_name, map_paths
from ruledex.language.text import operand_text, path_text
from ruledex.language.tree import (
    And,
    Attribute,
    Call,
    Compare,
    CompareOperands,
    Exists,
    Expression,
    In,
    Is,
    IsNull,
    Like,
    Not,
    NullSafe,
    Operand,
    Or,
    Predicate,
    Truth,
    Untrue,
    Value,
)
from ruledex.language.value import Family, constant_family
from ruledex.rewrite.settle import settle

LARGEST_EXACT: Final = 2**53  # of the whole numbers that a double has without gaps
_MOST_PARTS: Final = 20_000  # of one document
_LIKE: Final = re.compile(r"\\(.)|([%_])|([^\\%_]+)", re.DOTALL)
FAMILIES: Final = {Family.NUMBER: "number", Family.STRING: "string", Family.BOOLEAN: "boolean"}


class TwoValuedWriter(ABC):
    """Writes one rule. `arrays`: whether an attribute may have several values."""

    system: str

    def __init__(self, notes: list[Note], arrays: bool) -> None:
        self._notes = notes
        self._arrays = arrays
        self._scope = ""  # the first step of the attributes of the element that is tested, or "" for the event
        self._n_parts = 0

    def rule(self, tree: Expression) -> Any:
        """Return the document of a rule."""
        return self.condition(settle(tree))

    def condition(self, tree: Expression) -> Any:
        """Return the document of a settled tree."""
        self._n_parts += 1
        if self._n_parts > _MOST_PARTS:
            raise RuleLimitError(f"the rule has more than {_MOST_PARTS:,} parts as {self.system} writes it")
        match tree:
            case Truth(value):
                return value is True
            case And(children):
                return self.all_of(self.condition(child) for child in children)
            case Or(children):
                return self.any_of(self.condition(child) for child in children)
            case Not(predicate):
                return self.refuted(predicate)  # type: ignore[arg-type]  # settle leaves predicates only
            case Untrue(Not(predicate)):
                return self.negated(self.refuted(predicate))  # type: ignore[arg-type]
            case Untrue(predicate):
                return self.untrue(predicate)  # type: ignore[arg-type]
        return self.test(tree)  # type: ignore[arg-type]

    # What each format says in its own way.

    @abstractmethod
    def both(self, parts: list[Any]) -> Any:
        """Return the AND of several documents."""

    @abstractmethod
    def either(self, parts: list[Any]) -> Any:
        """Return the OR of several documents."""

    @abstractmethod
    def opposite(self, part: Any) -> Any:
        """Return a document that is true where another is not."""

    @abstractmethod
    def test(self, predicate: Predicate) -> Any:
        """Return that a predicate is true."""

    @abstractmethod
    def has_type(self, attribute: Attribute, family: Family, part: Predicate) -> Any:
        """Return that an attribute has a value of a type."""

    @abstractmethod
    def is_there(self, array: Attribute, part: Exists) -> Any:
        """Return that there is an array, be it empty, or a single value in the place of one."""

    # What is the same for all.

    def all_of(self, parts: Iterable[Any]) -> Any:
        """Return the AND of documents, without those that say nothing."""
        return self._joined(parts, True)

    def any_of(self, parts: Iterable[Any]) -> Any:
        """Return the OR of documents, without those that say nothing."""
        return self._joined(parts, False)

    def _joined(self, parts: Iterable[Any], neutral: bool) -> Any:
        kept: list[Any] = []
        for part in parts:
            if part is not neutral and isinstance(part, bool):
                return part
            if part is not neutral and part not in kept:
                kept.append(part)
        if len(kept) < 2:
            return kept[0] if kept else neutral
        return self.both(kept) if neutral else self.either(kept)

    def negated(self, part: Any) -> Any:
        """Return the opposite of a document."""
        return not part if isinstance(part, bool) else self.opposite(part)

    def untrue(self, predicate: Predicate) -> Any:
        """Return that a predicate is false or unknown."""
        return self.negated(self.test(predicate))

    def refuted(self, predicate: Predicate) -> Any:
        """Return that a predicate is false."""
        match predicate:
            case IsNull() | NullSafe() | CompareOperands(_, "<=>"):
                return self.untrue(predicate)
            case In() if predicate.has_null:
                return False
            case Exists(array, body):
                not_false = Exists(array, Not(Is(body, False)), predicate.level)
                return self.all_of((self.untrue(not_false), self.is_there(array, predicate)))
        attribute, family = self.attribute_of(predicate), self.family_of(predicate)
        return self.all_of((self.untrue(predicate), self.has_type(attribute, family, predicate)))

    def note(self, part: Any, message: str) -> None:
        """Add a note to the rule, once."""
        made = Note(part if isinstance(part, str) else shown(part), f"{self.system} {message}")
        if made not in self._notes:
            self._notes.append(made)

    def attribute_of(self, predicate: Predicate) -> Attribute:
        """Return the attribute that a predicate tests. Raises if it tests anything else."""
        if isinstance(predicate, CompareOperands):
            raise cannot_say(predicate, self.system, "compares an attribute with constants only")
        operand: Operand = predicate.operand
        if not isinstance(operand, Attribute):
            what = f"has no {operand_text(map_paths(operand, with_variables))}"
            raise cannot_say(predicate, self.system, what, hint="test an attribute itself")
        return operand

    def family_of(self, predicate: Predicate) -> Family:
        """Return the type of a predicate's constants. Raises unless JSON has it."""
        family = constant_family(predicate)
        if family not in FAMILIES:
            raise cannot_say(predicate, self.system, f"has no constant of the type {family}")
        return family

    def steps(self, attribute: Attribute, part: Predicate) -> tuple[str, ...]:
        """Return the path of an attribute from the element that is tested, or from the event."""
        path = attribute.path
        if self._scope:
            if path[0] != self._scope:
                message = "can test an element only by what is in it"
                raise cannot_say(part, self.system, message)
            path = path[1:]
        elif not path:
            raise cannot_say(part, self.system, "has no * for any field")
        return path

    def inside(self, exists: Exists, body: Expression) -> Any:
        """Return the document of a body, as one about the elements of an array."""
        before, self._scope = self._scope, element_name(exists.level)
        try:
            return self.condition(settle(body))
        finally:
            self._scope = before

    def constant(self, value: Value, part: Predicate) -> Any:
        """Return a constant as JSON has it."""
        if isinstance(value, bool | str):
            return value
        if isinstance(value, int):
            if abs(value) > LARGEST_EXACT:
                self.note(part, "may round whole numbers beyond 2^53")
            return value
        made = float(value) if isinstance(value, Decimal | float) else math.nan
        if not math.isfinite(made):
            raise cannot_say(part, self.system, "has no such constant")
        if isinstance(value, Decimal) and Decimal(repr(made)) != value:
            self.note(part, f"has {made!r} as the nearest number")
        return made


def of_single_value(exists: Exists) -> Expression:
    """Return the body of a lambda about the array itself, where it is a single value."""
    name, path = element_name(exists.level), exists.operand.path
    return map_paths(exists.body, lambda steps: (*path, *steps[1:]) if steps[0] == name else steps)  # type: ignore[no-any-return]


def like_parts(pattern: str) -> list[tuple[str, bool]]:
    """Return the parts of a LIKE pattern: texts, and the wildcards % and _, which have True beside them."""
    parts: list[tuple[str, bool]] = []
    for escaped, wildcard, plain in _LIKE.findall(pattern):
        if wildcard:
            if not (wildcard == "%" and parts and parts[-1] == ("%", True)):
                parts.append((wildcard, True))
        elif parts and not parts[-1][1]:
            parts[-1] = (parts[-1][0] + (escaped or plain), False)
        else:
            parts.append((escaped or plain, False))
    return parts


def single_likes(predicate: Like) -> list[Like]:
    """Return a LIKE of several patterns as several of one pattern each."""
    return [Like(predicate.operand, (pattern,), False, predicate.ignore_case) for pattern in predicate.patterns]


def equality(predicate: Predicate) -> list[Value] | None:
    """Return the constants of which a predicate demands one, or None if it is no equality."""
    match predicate:
        case Compare(_, "=", value) | NullSafe(_, value):
            return [value]
        case In(_, values):
            return list(values)
    return None


def is_converted(predicate: Compare) -> bool:
    """Return whether this is `CAST(attribute AS DOUBLE) op number`, which is how JavaScript compares."""
    match predicate:
        case Compare(Call("cast_double", (Attribute(),)), _, int() | float() | Decimal()):
            return not isinstance(predicate.value, bool)
    return False


def path_shown(attribute: Attribute) -> str:
    """Return a path for messages, without the element that it starts from."""
    steps = with_variables(attribute.path)
    return path_text(steps) if steps else "the element"
