"""Reads JsonLogic rules whose result is used as true or false.

Values convert as in JavaScript. The operators that make arrays, objects or texts, and what is not pure, are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations, pairwise
from math import comb
from typing import Any, Final, NamedTuple

from ruledex.errors import RuleLimitError, RuleSyntaxError, RuleTypeError, did_you_mean, quoted
from ruledex.formats.conditions import (
    ELEMENT,
    FALSE,
    TRUE,
    all_of,
    any_of,
    equal,
    has_no_value,
    is_array,
    is_present,
    negate,
    number,
    plain_like,
    some_element,
    string,
)
from ruledex.formats.javascript import (
    as_number,
    compare_order,
    equal_constants,
    is_empty_text,
    is_truthy,
    number_of,
    ordered_constants,
    text_in_javascript,
)
from ruledex.formats.rules import Note
from ruledex.language import build
from ruledex.language.reference import truth_of
from ruledex.language.structured_parts import Place, json_text, placed
from ruledex.language.tree import (
    Attribute,
    Call,
    Compare,
    CompareOperands,
    Expression,
    Like,
    Not,
    Operand,
    Truth,
    Value,
)

_ORDER: Final = ("<", "<=", ">", ">=")
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_EQUALITIES: Final = {"==": False, "===": False, "!=": True, "!==": True}
_ARITHMETIC: Final = ("+", "-", "*", "/", "%")
# Operators of JsonLogic whose results are texts, arrays or numbers that the language has no condition for.
_REFUSED: Final = (
    "cat",
    "substr",
    "max",
    "min",
    "map",
    "reduce",
    "merge",
    "length",
    "log",
    "method",
    "throw",
    "try",
    "??",
)
_MISTAKEN: Final = {"=": "==", "&&": "and", "||": "or", "not": "!", "<>": "!="}
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


class _Defaulted(NamedTuple):
    """A variable with the constant that stands for it where the event has no such attribute. Null is a value."""

    attribute: Attribute
    default: Any


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

    def operand(self, rule: Any, place: Place, base: tuple[str, ...]) -> Operand | _Defaulted | Any:
        """Return an attribute or function that a rule stands for, or the constant that it is."""
        if not isinstance(rule, Mapping):
            return rule
        name, arguments, at = _operation(rule, place)
        if name in ("var", "val"):
            path = _path(name, arguments, at, base)
            if name == "var" and len(arguments) > 1 and arguments[1] is not None:
                return _Defaulted(path, _scalar(arguments[1], Place(at, 1)))
            return path
        if name in _ARITHMETIC and len(arguments) == 2:
            items = [self._number(argument, Place(at, i), base) for i, argument in enumerate(arguments)]
            if name == "/" and not (isinstance(items[1], build.Constant) and items[1].value):
                self._note(at, "a division by zero is infinite in JavaScript, and has no value here")
            made = placed(at, build.call, name, items, "", 0)
            if not isinstance(made, build.Constant):
                return made
            if made.value is None:
                raise RuleTypeError(f"{at}: these constants give no number")
            return made.value
        known = (*_CONDITIONS, *_ORDER, *_EQUALITIES, *_ARITHMETIC, "var", "val")
        if name in known:
            raise RuleTypeError(f"{at}: the result of {name} cannot be compared or computed with")
        can_be_read = f"what can be read is {', '.join(known)}"
        if name in _REFUSED:
            raise RuleTypeError(f"{at}: {name} cannot be said as a condition", hint=can_be_read)
        near = f"did you mean {_MISTAKEN[name]}?" if name in _MISTAKEN else did_you_mean(name, (*known, *_REFUSED))
        raise RuleSyntaxError(f"{at}: JsonLogic has no operator {quoted(name)}", hint=near or can_be_read)

    def _note(self, place: Place, message: str) -> None:
        self._notes.append(Note(str(place), message))

    def _number(self, rule: Any, place: Place, base: tuple[str, ...]) -> Operand | build.Constant:
        """Return what a rule is in arithmetic, where an attribute that is missing or null counts as 0."""
        operand = self.operand(rule, place, base)
        if isinstance(operand, Call):
            return operand
        default: Any = 0
        if isinstance(operand, _Defaulted):
            operand, default = operand
            self._note(place, "null takes the default here, as what is missing does")
        if not isinstance(operand, Attribute):
            return _constant(_number_constant(operand, place))
        made = placed(place, build.call, "coalesce", [operand, _constant(default)], "", 0)
        assert isinstance(made, Call)
        return as_number(made)

    def _variable(self, arguments: list[Any], place: Place, base: tuple[str, ...], name: str) -> Expression:
        attribute = _path(name, arguments, place, base)
        truthy = is_truthy(attribute, empty_array=False)
        if name == "var" and len(arguments) > 1 and _constant_truth(_scalar(arguments[1], Place(place, 1))):
            return any_of((truthy, Not(is_present(attribute))))
        return truthy

    # Comparisons.

    def _order(self, op: str, arguments: list[Any], place: Place, base: tuple[str, ...]) -> Expression:
        if len(arguments) not in (2, 3):
            raise RuleSyntaxError(f"{place}: {op} takes two or three values, not {len(arguments)}")
        operands = [self.operand(argument, Place(place, i), base) for i, argument in enumerate(arguments)]
        pairs = pairwise(operands)
        return all_of(self._ordered(op, left, right, Place(place, i)) for i, (left, right) in enumerate(pairs))

    def _ordered(self, op: str, left: Any, right: Any, place: Place) -> Expression:
        if isinstance(left, _Defaulted):
            return _with_default(left, lambda value: self._ordered(op, value, right, place))
        if isinstance(right, _Defaulted):
            return _with_default(right, lambda value: self._ordered(op, left, value, place))
        if isinstance(left, Attribute | Call) and isinstance(right, Attribute | Call):
            self._note(place, "two variables compare as they are, without conversion")
            return placed(place, build.comparison, left, op, right, "", 0)
        if isinstance(left, Attribute | Call):
            return compare_order(left, op, _scalar(right, place), place)
        if isinstance(right, Attribute | Call):
            return compare_order(right, _MIRRORED[op], _scalar(left, place), place)
        return Truth(ordered_constants(_scalar(left, place), op, _scalar(right, place)))

    def _equality(self, arguments: list[Any], place: Place, base: tuple[str, ...], strict: bool) -> Expression:
        if len(arguments) != 2:
            raise RuleSyntaxError(f"{place}: an equality takes two values, not {len(arguments)}")
        left, right = (self.operand(argument, Place(place, i), base) for i, argument in enumerate(arguments))
        return self._equal(left, right, place, strict)

    def _equal(self, left: Any, right: Any, place: Place, strict: bool) -> Expression:
        if isinstance(left, _Defaulted):
            return _with_default(left, lambda value: self._equal(value, right, place, strict))
        if isinstance(right, _Defaulted) or not isinstance(left, Attribute | Call):
            left, right = right, left
        if isinstance(left, _Defaulted):
            return self._equal(left, right, place, strict)
        if not isinstance(left, Attribute | Call):
            return Truth(equal_constants(_scalar(left, place), _scalar(right, place), strict))
        if not isinstance(right, Attribute | Call):
            return _equal(left, _scalar(right, place), place, strict)
        if not strict:
            self._note(place, "two variables compare as they are, without conversion")
        same: Expression = CompareOperands(left, "=", right)
        if isinstance(left, Attribute) and isinstance(right, Attribute):
            return any_of((same, all_of((has_no_value(left), has_no_value(right)))))
        return same

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
        return self._found_in(wanted, whole, place)

    def _found_in(self, wanted: Any, whole: Any, place: Place) -> Expression:
        if isinstance(wanted, _Defaulted):
            return _with_default(wanted, lambda value: self._found_in(value, whole, place))
        if isinstance(whole, _Defaulted):
            return _with_default(whole, lambda value: self._found_in(wanted, value, place))
        if isinstance(wanted, Attribute | Call):
            if isinstance(whole, list):
                return _equal_to_any(wanted, whole, Place(place, 1))
            if not isinstance(whole, Attribute):
                raise RuleTypeError(f"{place}: a variable can be looked for in a list or a variable only")
            self._note(place, "only texts are looked for in a text, and nulls are not looked for in an array")
            array = is_array(whole)
            held = Compare(Call("contains", (whole, wanted)), "=", True) if isinstance(wanted, Attribute) else FALSE
            same = CompareOperands(wanted, "=", whole)
            return any_of((all_of((negate(array), held)), all_of((array, same))))
        value = _scalar(wanted, Place(place, 0))
        if isinstance(whole, list):
            return Truth(any(equal_constants(value, _scalar(one, Place(place, 1)), strict=True) for one in whole))
        if not isinstance(whole, Attribute | Call):
            raise RuleTypeError(f"{place}: no variable is looked at")
        if not isinstance(whole, Attribute):  # a function, which gives a number
            return FALSE
        array = is_array(whole)
        if value is None:
            among: Expression = some_element(whole, lambda: has_no_value(Attribute((ELEMENT,))))
        else:
            among = _equal_to_any(whole, [value], place)
        text = text_in_javascript(string(value, place, "a text") if isinstance(value, str) else value)
        if text is None:
            return all_of((array, among))
        part = Like(whole, (f"%{plain_like(text)}%" if text else "%_%",))  # nothing is in the empty text
        return any_of((all_of((negate(array), part)), all_of((array, among))))

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
        return negate(any_of((has_no_value(attribute), Compare(attribute, "=", ""))))

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
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return number(value, place, "a value") if is_number else value


def _constant_truth(value: Any) -> bool:
    return bool(value) if not isinstance(value, Mapping) else True


def _constant(value: Any) -> build.Constant:
    return build.Constant(value, 1.0, False, 0)


def _number_constant(value: Any, place: Place) -> int | float:
    if value is None or isinstance(value, bool):
        return int(value or 0)
    found = number_of(value) if isinstance(value, str) else None
    return number(value if found is None else found, place, "what is computed with")


def _with_default(operand: _Defaulted, test: Callable[[Any], Expression]) -> Expression:
    """Return that a test holds of a variable, or of its default where the event has no such attribute."""
    there, without = test(operand.attribute), test(operand.default)
    present = is_present(operand.attribute)
    if without == TRUE:
        return any_of((there, Not(present)))
    if without == FALSE and truth_of(there, {}) is not True:
        return there
    return any_of((all_of((present, there)), all_of((Not(present), without))))


def _equal(operand: Operand, value: Any, place: Place, strict: bool) -> Expression:
    if value is None:
        return has_no_value(operand) if isinstance(operand, Attribute) else FALSE
    if isinstance(value, str):
        text = string(value, place, "a value")
        found = number_of(text)
        if not isinstance(operand, Attribute):  # a function, which gives a number
            return FALSE if strict or found is None else Compare(operand, "=", found)
        same: Expression = Compare(operand, "=", text)
        if strict or found is None:
            return same
        named = [Compare(operand, "=", truth) for truth in (False, True) if found == truth]
        return any_of((same, Compare(operand, "=", found), *named))
    plain = value if isinstance(value, bool) else number(value, place, "a value")
    if not isinstance(operand, Attribute):
        return (
            FALSE
            if strict and isinstance(plain, bool)
            else Compare(operand, "=", int(plain) if isinstance(plain, bool) else plain)
        )
    if strict:
        return Compare(operand, "=", plain)
    same = Compare(as_number(operand), "=", int(plain) if isinstance(plain, bool) else plain)
    return any_of((same, is_empty_text(operand))) if plain == 0 else same


def _equal_to_any(operand: Operand, values: list[Any], place: Place) -> Expression:
    """Return that an operand has a value that is strictly one of a list."""
    constants: list[Value] = []
    found: list[Expression] = []
    for i, value in enumerate(values):
        at = Place(place, i)
        if value is None:
            found.append(has_no_value(operand))
        elif isinstance(value, str):
            constants.append(string(value, at, "a value"))
        elif isinstance(_scalar(value, at), bool):
            constants.append(value)
        else:
            constants.append(number(value, at, "a value"))
    return any_of((equal(operand, constants), *found))
