"""Writes JsonLogic rules.

JsonLogic compares as JavaScript does, and has no test of types. A number is what is the same after adding 0, and a text
is what contains the empty text. `{"merge": [{"var": "x"}]}` is an array also where x is a single value.
"""

from __future__ import annotations

from typing import Any, Final

from ruledex.formats.javascript import holds, number_of
from ruledex.formats.rules import Note
from ruledex.formats.two_valued import TwoValuedWriter, equality, is_converted, like_parts, path_shown, single_likes
from ruledex.formats.writing import cannot_say
from ruledex.language.lambdas import element_name
from ruledex.language.reference import truth_of
from ruledex.language.tree import (
    Attribute,
    Between,
    Compare,
    CompareOperands,
    Exists,
    Expression,
    Is,
    IsNull,
    Like,
    Not,
    Operand,
    Predicate,
)
from ruledex.language.value import Family

_ELEMENT: Final = {"var": ""}
_OPPOSITE: Final = {"===": "!==", "!==": "===", "some": "none", "none": "some"}


def write_rule(tree: Expression, notes: list[Note], *, arrays: bool = True) -> Any:
    """Return a rule. Without `arrays`, attributes have single values, and the rule is shorter."""
    return _Writer(notes, arrays).rule(tree)


class _Writer(TwoValuedWriter):
    system = "JsonLogic"

    def both(self, parts: list[Any]) -> Any:
        return {"and": [inner for part in parts for inner in part.get("and", [part])]}

    def either(self, parts: list[Any]) -> Any:
        return {"or": [inner for part in parts for inner in part.get("or", [part])]}

    def opposite(self, part: Any) -> Any:
        ((operator, given),) = part.items()
        if operator == "!":
            return given
        return {_OPPOSITE[operator]: given} if operator in _OPPOSITE else {"!": part}

    # Predicates.

    def test(self, predicate: Predicate) -> Any:
        if isinstance(predicate, Exists):
            return self._exists(predicate)
        if isinstance(predicate, CompareOperands):
            return self._operands(predicate)
        if isinstance(predicate, Compare) and is_converted(predicate):
            array: Any = predicate.operand.arguments[0]  # type: ignore[union-attr]  # a call
            return self.any_value(array, predicate, lambda value: self._converted(predicate, value))
        attribute = self.attribute_of(predicate)
        if isinstance(predicate, IsNull):
            null = self.any_value(attribute, predicate, lambda value: {"!==": [value, None]})
            return self.negated(null)
        return self.any_value(attribute, predicate, lambda value: self._holds(predicate, value))

    def any_value(self, attribute: Attribute, part: Predicate, test: Any) -> Any:
        """Return that a value of an attribute satisfies a test."""
        variable = {"var": self._name(attribute, part)}
        if not self._arrays or variable == _ELEMENT:
            return test(variable)
        return {"some": [{"merge": [variable]}, test(_ELEMENT)]}

    def _holds(self, predicate: Predicate, value: Any) -> Any:
        family = self.family_of(predicate)
        constants = equality(predicate)
        if constants is not None:
            listed = [self.constant(constant, predicate) for constant in constants]
            return {"===": [value, listed[0]]} if len(listed) == 1 else {"in": [value, listed]}
        if family is not Family.BOOLEAN:
            match predicate:
                case Compare(_, op, constant):
                    end = self.constant(constant, predicate)
                    return self._typed(value, {op: [value, end]}, family, [end])
                case Between(_, low, high):
                    ends = [self.constant(low, predicate), self.constant(high, predicate)]
                    return self._typed(value, {"<=": [ends[0], value, ends[1]]}, family, ends)
                case Like(_, patterns, every, False):
                    likes = [self._like(like, value) for like in single_likes(predicate)]
                    return self.all_of(likes) if every and len(patterns) > 1 else self.any_of(likes)
        raise cannot_say(predicate, self.system, "has no such comparison")

    def _typed(self, value: Any, compared: Any, family: Family, ends: list[Any]) -> Any:
        """Return a comparison of values of a type: the others would be converted."""
        if family is Family.STRING and all(number_of(end) is None for end in ends):
            return compared  # a number never compares with such a text
        return self.all_of((compared, _is_type(value, family)))

    def _converted(self, predicate: Compare, value: Any) -> Any:
        """Return a comparison as JavaScript makes it, of what is not missing."""
        op = "==" if predicate.op == "=" else predicate.op
        end: Any = self.constant(predicate.value, predicate)
        compared = {op: [value, end]}
        return self.both([compared, {"!==": [value, None]}]) if holds(0, predicate.op, end) else compared

    def _like(self, predicate: Like, value: Any) -> Any:
        parts = like_parts(predicate.patterns[0])
        match parts:
            case [] | [(_, False)]:
                return {"===": [value, parts[0][0] if parts else ""]}
            case [("%", True)]:
                return _is_type(value, Family.STRING)
            case [("%", True), (text, False), ("%", True)]:
                return {"in": [text, value]}
        raise cannot_say(
            predicate, self.system, "finds a text in another, and has no other pattern", hint="write '%text%'"
        )

    def has_type(self, attribute: Attribute, family: Family, part: Predicate) -> Any:
        return self.any_value(attribute, part, lambda value: _is_type(value, family))

    def _operands(self, predicate: CompareOperands) -> Any:
        if predicate.op != "=":
            raise cannot_say(predicate, self.system, "converts two variables before it compares their order")
        left, right = (self._variable(operand, predicate) for operand in (predicate.left, predicate.right))
        if self._arrays:
            self.note(predicate, "does not compare the elements of two arrays")
        return self.both([{"!==": [left, None]}, {"===": [left, right]}])

    def _variable(self, operand: Operand, part: Predicate) -> Any:
        if not isinstance(operand, Attribute):
            raise cannot_say(part, self.system, "compares variables as they are", hint="test an attribute itself")
        return {"var": self._name(operand, part)}

    def refuted(self, predicate: Predicate) -> Any:
        """Return that a predicate is false."""
        if isinstance(predicate, CompareOperands) and predicate.op == "=":
            raise cannot_say(predicate, self.system, "cannot tell whether two variables are of one type")
        if isinstance(predicate, Exists) and _of_null(Not(predicate.body), predicate):
            raise cannot_say(predicate, self.system, "cannot tell an array of nulls from a null")
        return super().refuted(predicate)

    # Elements.

    def _exists(self, exists: Exists) -> Any:
        if _of_null(exists.body, exists):
            raise cannot_say(exists, self.system, "cannot tell a missing array from an element that is null")
        name = self._name(exists.operand, exists)
        if not name:
            raise cannot_say(exists, self.system, "cannot test an array in an array")
        body = self.inside(exists, exists.body)
        return False if body is False else {"some": [{"merge": [{"var": name}]}, body]}

    def is_there(self, array: Attribute, part: Exists) -> Any:
        return {"!==": [{"var": self._name(array, part)}, None]}

    def _name(self, attribute: Attribute, part: Predicate) -> str:
        steps = self.steps(attribute, part)
        for at, step in enumerate(steps):
            if "." in step or not step:
                raise cannot_say(part, self.system, f"cannot name {step!r} in a path")
            if step.isdecimal() and (at or self._scope):
                raise cannot_say(part, self.system, f"takes {step!r} in a path for the number of an element")
        if len(steps) > 1 and self._arrays:
            self.note(path_shown(attribute), "does not look into arrays on the way; exists(…) does")
        return ".".join(steps)


def _is_type(value: Any, family: Family) -> Any:
    if family is Family.NUMBER:
        return {"===": [value, {"+": [value, 0]}]}
    if family is Family.BOOLEAN:
        return {"in": [value, [False, True]]}
    return {"or": [{"in": ["", value]}, {"===": [value, ""]}]}


def _of_null(body: Expression, exists: Exists) -> bool:
    """Return whether a condition on elements is true of one that is null."""
    return truth_of(Is(body, True), {element_name(exists.level): None}) is True
