"""Writes JsonLogic rules.

JsonLogic compares as JavaScript does, and has no test of types. So a value is taken for a number if adding 0 does not
change it, and for a text if it contains the empty text. `{"merge": [{"var": "x"}]}` is an array also
where x is a single value.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from ruledex.formats.javascript import constants_compare, number_of
from ruledex.formats.rules import Note
from ruledex.formats.two_valued import TwoValuedWriter, equality, is_converted, like_parts, path_shown, single_likes
from ruledex.formats.writing import cannot_say
from ruledex.language.lambdas import element_name
from ruledex.language.reference import truth_of
from ruledex.language.tree import (
    Attribute,
    Between,
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
    Operand,
    Predicate,
    attributes,
)
from ruledex.language.value import Family, constant_family

_ELEMENT: Final = {"var": ""}
_ARITHMETIC: Final = ("+", "-", "*", "%")
_OPPOSITE: Final = {"===": "!==", "!==": "===", "some": "none", "none": "some"}


def write_jsonlogic(tree: Expression, notes: list[Note], *, arrays: bool = True) -> Any:
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
        if _is_computed(predicate):
            return self._computed(predicate, lambda number: self._compared(predicate, number))
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
        """Return a comparison as JavaScript makes it, of what is neither missing nor the empty text: they are 0."""
        op = "==" if predicate.op == "=" else predicate.op
        end: Any = self.constant(predicate.value, predicate)
        compared = {op: [value, end]}
        if not constants_compare(0, predicate.op, end):
            return compared
        return self.both([compared, {"!==": [value, None]}, {"!==": [value, ""]}])

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
        if _is_computed(predicate):
            return self.all_of((self.untrue(predicate), self._computed(predicate, lambda _: True)))
        return super().refuted(predicate)

    # Arithmetic.

    def _computed(self, predicate: Any, test: Callable[[Any], Any]) -> Any:
        """Return that all attributes of a computation are numbers, and that its result satisfies a test."""
        self._check_computation(predicate.operand, predicate)
        found = list(attributes(predicate.operand))
        if len(found) == 1:
            (only,) = found
            return self.any_value(only, predicate, lambda value: self._result(predicate, {only: value}, test))
        if self._arrays:
            self.note(predicate, "does not compute with the elements of arrays")
        return self._result(predicate, {one: self._variable(one, predicate) for one in found}, test)

    def _result(self, predicate: Any, values: dict[Attribute, Any], test: Callable[[Any], Any]) -> Any:
        number = self._number(predicate.operand, predicate, values)
        return self.all_of((*(_is_type(value, Family.NUMBER) for value in values.values()), test(number)))

    def _number(self, part: Any, predicate: Predicate, values: dict[Attribute, Any]) -> Any:
        if isinstance(part, Attribute):
            return values[part]
        if isinstance(part, Call):
            return {part.function: [self._number(argument, predicate, values) for argument in part.arguments]}
        return self.constant(part, predicate)

    def _check_computation(self, part: Any, predicate: Predicate) -> None:
        if not isinstance(part, Call):
            if isinstance(part, Decimal | float):
                self.note(predicate, "computes with doubles")
            return
        if part.function not in _ARITHMETIC:
            raise cannot_say(predicate, self.system, f"has no {part.function} of numbers that is the same")
        if part.function == "%" and (isinstance(part.arguments[1], Attribute | Call) or not part.arguments[1]):
            raise cannot_say(predicate, self.system, "has a remainder of a division by zero", hint="divide by a number")
        for argument in part.arguments:
            self._check_computation(argument, predicate)

    def _compared(self, predicate: Predicate, number: Any) -> Any:
        constants = equality(predicate)
        if constants is not None:
            listed = [self.constant(constant, predicate) for constant in constants]
            return {"===": [number, listed[0]]} if len(listed) == 1 else {"in": [number, listed]}
        if isinstance(predicate, Between):
            return {"<=": [self.constant(predicate.low, predicate), number, self.constant(predicate.high, predicate)]}
        assert isinstance(predicate, Compare)
        return {predicate.op: [number, self.constant(predicate.value, predicate)]}

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


def _is_computed(predicate: Predicate) -> bool:
    """Return whether a predicate compares the result of arithmetic with numbers."""
    if not isinstance(predicate, Compare | Between | In) or not isinstance(predicate.operand, Call):
        return False
    return predicate.operand.function in _ARITHMETIC and constant_family(predicate) is Family.NUMBER


def _is_type(value: Any, family: Family) -> Any:
    if family is Family.NUMBER:
        return {"===": [value, {"+": [value, 0]}]}
    if family is Family.BOOLEAN:
        return {"in": [value, [False, True]]}
    return {"or": [{"in": ["", value]}, {"===": [value, ""]}]}


def _of_null(body: Expression, exists: Exists) -> bool:
    """Return whether a condition on elements is true of one that is null."""
    return truth_of(Is(body, True), {element_name(exists.level): None}) is True
