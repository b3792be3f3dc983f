"""Reads JsonLogic rules whose result is used as true or false.

Values convert as in JavaScript. The operators that make arrays, objects or texts, and what is not pure, are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations, pairwise
from math import comb
from typing import Any, Final

from ruledex.errors import RuleLimitError, RuleSyntaxError, RuleTypeError, did_you_mean
from ruledex.formats.conditions import (
    ELEMENT,
    FALSE,
    TRUE,
    all_of,
    any_of,
    equal,
    is_array,
    is_missing,
    is_present,
    negate,
    number,
    plain_like,
    some_element,
    string,
)
from ruledex.formats.javascript import as_number, compare_order, holds, is_truthy, number_of
from ruledex.formats.rules import Note
from ruledex.language import build
from ruledex.language.structured_parts import Place, json_text, placed
from ruledex.language.tree import Attribute, Call, Compare, CompareOperands, Expression, Like, Operand, Truth, Value

_ORDER: Final = ("<", "<=", ">", ">=")
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_EQUALITIES: Final = {"==": False, "===": False, "!=": True, "!==": True}
_ARITHMETIC: Final = ("+", "-", "*", "/", "%")
_MOST_CHOICES: Final = 500  # ways to choose the attributes of missing_some


class Rules:
    """Makes trees of JsonLogic rules."""

    keys = ("rule", "logic")

    def __init__(self) -> None:
        self.definitions: dict[str, str] = {}

    def translate(self, document: Any, place: Place, notes: list[Note]) -> Expression:
        """Return the tree of a rule."""
        return _Rule(notes).condition(document, place, ())


translator = Rules


class _Rule:
    """One rule. `base` is the path of the element that is tested, or () for the event."""

    def __init__(self, notes: list[Note]) -> None:
        self._notes = notes

    def condition(self, rule: Any, place: Place, base: tuple[str, ...]) -> Expression:
        """Return that a rule gives what counts as true."""
        if not isinstance(rule, Mapping):
            return Truth(_constant_truth(rule))
        name, arguments, at = _operation(rule, place)
        if name in _ORDER:
            return self._order(name, arguments, at, base)
        if name in _EQUALITIES:
            made = self._equality(arguments, at, base, strict=len(name) == 3)
            return negate(made) if name in ("!=", "!==") else made
        make = _CONDITIONS.get(name)
        if make is not None:
            return make(self, arguments, at, base)
        if name in ("var", "val"):
            return self._variable(arguments, at, base, name)
        operand = self.operand(rule, place, base)
        if isinstance(operand, Attribute | Call):
            return is_truthy(operand, empty_array=False)
        return Truth(_constant_truth(operand))

    # Values.

    def operand(self, rule: Any, place: Place, base: tuple[str, ...]) -> Operand | Any:
        """Return an attribute or function that a rule stands for, or the constant that it is."""
        if not isinstance(rule, Mapping):
            return rule
        name, arguments, at = _operation(rule, place)
        if name in ("var", "val"):
            if name == "var" and len(arguments) > 1 and arguments[1] is not None:
                path = _path(name, arguments, at, base)
                fallback = build.Constant(_scalar(arguments[1], Place(at, 1)), 1.0, False, 0)
                return placed(at, build.call, "coalesce", [path, fallback], "", 0)
            return _path(name, arguments, at, base)
        if name in _ARITHMETIC and len(arguments) == 2:
            items = [self._number(argument, Place(at, i), base) for i, argument in enumerate(arguments)]
            made = placed(at, build.call, name, items, "", 0)
            return made.value if isinstance(made, build.Constant) else made
        known = (*_CONDITIONS, *_ORDER, *_EQUALITIES, *_ARITHMETIC, "var", "val")
        if name in known:
            raise RuleTypeError(f"{at}: the result of {name} cannot be compared or computed with")
        hint = did_you_mean(name, known) or f"what can be read is {', '.join(known)}"
        raise RuleSyntaxError(f"{at}: {name} cannot be said as a condition", hint=hint)

    def _number(self, rule: Any, place: Place, base: tuple[str, ...]) -> Operand | build.Constant:
        operand = self.operand(rule, place, base)
        if isinstance(operand, Attribute | Call):
            return as_number(operand) if isinstance(operand, Attribute) else operand
        return build.Constant(number(operand, place, "what is computed with"), 1.0, False, 0)

    def _variable(self, arguments: list[Any], place: Place, base: tuple[str, ...], name: str) -> Expression:
        attribute = _path(name, arguments, place, base)
        truthy = is_truthy(attribute, empty_array=False)
        if name == "var" and len(arguments) > 1 and _constant_truth(_scalar(arguments[1], Place(place, 1))):
            return any_of((truthy, is_missing(attribute)))
        return truthy

    # Comparisons.

    def _order(self, op: str, arguments: list[Any], place: Place, base: tuple[str, ...]) -> Expression:
        if len(arguments) not in (2, 3):
            raise RuleSyntaxError(f"{place}: {op} takes two or three values, not {len(arguments)}")
        operands = [self.operand(argument, Place(place, i), base) for i, argument in enumerate(arguments)]
        pairs = pairwise(operands)
        return all_of(self._ordered(op, left, right, Place(place, i)) for i, (left, right) in enumerate(pairs))

    def _ordered(self, op: str, left: Any, right: Any, place: Place) -> Expression:
        if isinstance(left, Attribute | Call) and isinstance(right, Attribute | Call):
            self._notes.append(Note(str(place), "two variables compare as they are, without conversion"))
            return placed(place, build.comparison, left, op, right, "", 0)
        if isinstance(left, Attribute | Call):
            return compare_order(left, op, _scalar(right, place), place)
        if isinstance(right, Attribute | Call):
            return compare_order(right, _MIRRORED[op], _scalar(left, place), place)
        first, second = _scalar(left, place), _scalar(right, place)
        if isinstance(first, str) and isinstance(second, str):
            return Truth(holds(first, op, second))
        numbers = [
            number_of(v)
            if isinstance(v, str)
            else float(number(int(v) if isinstance(v, bool) else v or 0, place, "it"))
            for v in (first, second)
        ]
        return Truth(None not in numbers and holds(numbers[0] or 0.0, op, numbers[1] or 0.0))

    def _equality(self, arguments: list[Any], place: Place, base: tuple[str, ...], strict: bool) -> Expression:
        if len(arguments) != 2:
            raise RuleSyntaxError(f"{place}: an equality takes two values, not {len(arguments)}")
        left, right = (self.operand(argument, Place(place, i), base) for i, argument in enumerate(arguments))
        if not isinstance(left, Attribute | Call):
            left, right = right, left
        if not isinstance(left, Attribute | Call):
            first, second = _scalar(left, place), _scalar(right, place)
            if strict or type(first) is type(second):
                return Truth(type(first) is type(second) and first == second)
            raise RuleTypeError(f"{place}: two constants of different types are compared", hint="write ===")
        if isinstance(right, Attribute | Call):
            if not strict:
                self._notes.append(Note(str(place), "two variables compare as they are, without conversion"))
            return CompareOperands(left, "=", right)
        return _equal(left, _scalar(right, place), place, strict)

    # Operators on conditions.

    def every(self, arguments: list[Any], place: Place, base: tuple[str, ...]) -> Expression:
        """Return `and`."""
        return all_of(self._each(arguments, place, base))

    def either(self, arguments: list[Any], place: Place, base: tuple[str, ...]) -> Expression:
        """Return `or`."""
        return any_of(self._each(arguments, place, base))

    def _each(self, arguments: list[Any], place: Place, base: tuple[str, ...]) -> list[Expression]:
        if not arguments:
            raise RuleSyntaxError(f"{place}: at least one condition is needed")
        return [self.condition(argument, Place(place, i), base) for i, argument in enumerate(arguments)]

    def truth(self, arguments: list[Any], place: Place, base: tuple[str, ...]) -> Expression:
        """Return `!!`."""
        return self.condition(_first(arguments), Place(place, 0), base)

    def choice(self, arguments: list[Any], place: Place, base: tuple[str, ...]) -> Expression:
        """Return `if`: conditions with results, and what is left otherwise."""
        parts = [self.condition(argument, Place(place, i), base) for i, argument in enumerate(arguments)]
        result = parts.pop() if len(parts) % 2 else Truth(False)
        while parts:
            then, when = parts.pop(), parts.pop()
            result = any_of((all_of((when, then)), all_of((negate(when), result))))
        return result

    # Arrays.

    def some(self, arguments: list[Any], place: Place, base: tuple[str, ...]) -> Expression:
        """Return `some`: a condition holds of an element."""
        array, body = self._array(arguments, place, base)
        return some_element(array, body)

    def all(self, arguments: list[Any], place: Place, base: tuple[str, ...]) -> Expression:
        """Return `all`: a condition holds of each element, and there is one."""
        array, body = self._array(arguments, place, base)
        fails = some_element(array, lambda: negate(body()))
        return all_of((some_element(array, lambda: TRUE), negate(fails)))

    def _array(
        self, arguments: list[Any], place: Place, base: tuple[str, ...]
    ) -> tuple[Attribute, Callable[[], Expression]]:
        array = self.operand(_unmerged(_first(arguments)), Place(place, 0), base)
        if not isinstance(array, Attribute) or array.path == (ELEMENT,):
            raise RuleTypeError(f"{place}: the elements of a variable can be tested, not of anything else")
        rule = arguments[1] if len(arguments) > 1 else None
        return array, lambda: self.condition(rule, Place(place, 1), (ELEMENT,))

    def among(self, arguments: list[Any], place: Place, base: tuple[str, ...]) -> Expression:
        """Return `in`: a value is in a list, or a text in another."""
        if len(arguments) != 2:
            raise RuleSyntaxError(f"{place}: in takes two values, not {len(arguments)}")
        wanted, whole = (self.operand(argument, Place(place, i), base) for i, argument in enumerate(arguments))
        if isinstance(wanted, Attribute | Call):
            if isinstance(whole, list):
                return _equal_to_any(wanted, whole, Place(place, 1))
            if isinstance(whole, Attribute | Call):
                return CompareOperands(wanted, "=", whole)
            raise RuleTypeError(f"{place}: a variable can be looked for in a list or a variable only")
        if not isinstance(whole, Attribute | Call):
            raise RuleTypeError(f"{place}: no variable is looked at")
        value = _scalar(wanted, Place(place, 0))
        if not isinstance(value, str):
            return _equal_to_any(whole, [value], place)
        part = Like(whole, (f"%{plain_like(string(value, place, 'a text'))}%",))
        if not isinstance(whole, Attribute):
            return part
        array = is_array(whole)
        return any_of((all_of((negate(array), part)), all_of((array, Compare(whole, "=", value)))))

    # What is there.

    def missing(self, arguments: list[Any], place: Place, base: tuple[str, ...]) -> Expression:
        """Return `missing`: of some attributes, one is absent, null or an empty text."""
        return any_of(negate(self._given(name, Place(place, i), base)) for i, name in enumerate(_names(arguments)))

    def missing_some(self, arguments: list[Any], place: Place, base: tuple[str, ...]) -> Expression:
        """Return `missing_some`: fewer than so many of some attributes are there."""
        least = _first(arguments)
        names = arguments[1] if len(arguments) > 1 else None
        if isinstance(least, bool) or not isinstance(least, int) or not isinstance(names, list):
            raise RuleSyntaxError(f"{place}: missing_some takes a number and a list of names")
        if not 0 < least <= len(names):
            return Truth(least > 0)
        if comb(len(names), least) > _MOST_CHOICES:
            raise RuleLimitError(f"{place}: there are more than {_MOST_CHOICES} ways to choose {least} of {len(names)}")
        given = [self._given(name, Place(Place(place, 1), i), base) for i, name in enumerate(names)]
        return negate(any_of(all_of(chosen) for chosen in combinations(given, least)))

    def _given(self, name: Any, place: Place, base: tuple[str, ...]) -> Expression:
        attribute = _path("var", [name], place, base)
        return negate(any_of((is_missing(attribute), Compare(attribute, "=", ""))))

    def present(self, arguments: list[Any], place: Place, base: tuple[str, ...]) -> Expression:
        """Return `exists`: an attribute is in the event, even if it is null."""
        return is_present(_path("val", arguments, place, base))


_CONDITIONS: Final[dict[str, Callable[[_Rule, list[Any], Place, tuple[str, ...]], Expression]]] = {
    "and": _Rule.every,
    "or": _Rule.either,
    "!": lambda self, *rest: negate(self.truth(*rest)),
    "!!": _Rule.truth,
    "if": _Rule.choice,
    "?:": _Rule.choice,
    "some": _Rule.some,
    "filter": _Rule.some,  # what is left is true if it is not empty
    "all": _Rule.all,
    "none": lambda self, *rest: negate(self.some(*rest)),
    "in": _Rule.among,
    "missing": _Rule.missing,
    "missing_some": _Rule.missing_some,
    "exists": _Rule.present,
}


def _operation(rule: Mapping[str, Any], place: Place) -> tuple[str, list[Any], Place]:
    if len(rule) != 1:
        raise RuleSyntaxError(f"{place}: an operation is an object with one key, not {len(rule)}")
    ((name, given),) = rule.items()
    return string(name, place, "an operator"), given if isinstance(given, list) else [given], Place(place, name)


def _unmerged(rule: Any) -> Any:
    """Return the variable of `{"merge": [variable]}`, an array of one where the variable is a single value."""
    if isinstance(rule, Mapping) and set(rule) == {"merge"}:
        given = rule["merge"]
        inner = given[0] if isinstance(given, list) and len(given) == 1 else given
        if isinstance(inner, Mapping) and set(inner) <= {"var", "val"}:
            return inner
    return rule


def _first(arguments: list[Any]) -> Any:
    return arguments[0] if arguments else None


def _names(arguments: list[Any]) -> list[Any]:
    return arguments[0] if arguments and isinstance(arguments[0], list) else arguments


def _path(operator: str, arguments: list[Any], place: Place, base: tuple[str, ...]) -> Attribute:
    """Return the attribute of `{"var": "a.b"}` or `{"val": ["a", "b"]}`."""
    if operator == "val":
        steps = [string(step, Place(place, i), "a step of a path") for i, step in enumerate(arguments)]
    else:
        name = _first(arguments)
        if name is not None and not isinstance(name, str):
            raise RuleTypeError(f"{place}: a variable is named by a string, not by {json_text(name)}")
        steps = string(name or "", place, "a variable").split(".") if name else []
    if not steps and not base:
        raise RuleTypeError(f"{place}: the whole event cannot be tested", hint="name an attribute")
    if "" in steps and operator == "var":
        raise RuleSyntaxError(f"{place}: a name between two dots is empty")
    if any(step.isdecimal() for step in steps[1 if not base else 0 :]):
        raise RuleTypeError(f"{place}: an element of an array cannot be named by its number")
    return Attribute((*base, *steps))


def _scalar(value: Any, place: Place) -> Any:
    if isinstance(value, list | Mapping):
        raise RuleTypeError(
            f"{place}: a value is compared with a number, a string, true, false or null, not {json_text(value)}"
        )
    return value


def _constant_truth(value: Any) -> bool:
    return bool(value) if not isinstance(value, Mapping) else True


def _equal(operand: Operand, value: Any, place: Place, strict: bool) -> Expression:
    if value is None:
        return is_missing(operand)
    if isinstance(value, str):
        text = string(value, place, "a value")
        found = number_of(text)
        if not isinstance(operand, Attribute):  # a function, which gives a number
            return FALSE if strict or found is None else Compare(operand, "=", found)
        same: Expression = Compare(operand, "=", text)
        return same if strict or found is None or not text.strip() else any_of((same, Compare(operand, "=", found)))
    plain = value if isinstance(value, bool) else number(value, place, "a value")
    if strict:
        is_never = isinstance(plain, bool) and not isinstance(operand, Attribute)
        return FALSE if is_never else Compare(operand, "=", plain)
    left = as_number(operand) if isinstance(operand, Attribute) else operand
    return Compare(left, "=", int(plain) if isinstance(plain, bool) else plain)


def _equal_to_any(operand: Operand, values: list[Any], place: Place) -> Expression:
    """Return that an operand has a value that is strictly one of a list."""
    constants: list[Value] = []
    found: list[Expression] = []
    for i, value in enumerate(values):
        at = Place(place, i)
        if value is None:
            found.append(is_missing(operand))
        elif isinstance(value, str):
            constants.append(string(value, at, "a value"))
        elif isinstance(_scalar(value, at), bool):
            constants.append(value)
        else:
            constants.append(number(value, at, "a value"))
    return any_of((equal(operand, constants), *found))
