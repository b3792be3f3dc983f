"""Reads conditions of MongoDB's query language as GrowthBook targets features with them.

GrowthBook's SDKs evaluate a condition as JavaScript compares values: `{"age": {"$lt": 30}}` holds of the text "25",
and of a missing age, which counts as 0. `coerce=False` compares values of the same type only, as MongoDB does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import orjson

from ruledex import limits
from ruledex.errors import InputError, RuleError, RuleSyntaxError, RuleTypeError, did_you_mean, quoted
from ruledex.formats.conditions import (
    ELEMENT,
    FALSE,
    TRUE,
    all_of,
    any_of,
    equal,
    has_boolean,
    has_no_value,
    has_number,
    has_text,
    is_array,
    is_object,
    negate,
    number,
    plain_like,
    some_element,
    string,
)
from ruledex.formats.javascript import compare_number, compare_order, constants_compare, is_truthy
from ruledex.formats.rules import Note
from ruledex.language import build
from ruledex.language.functions.text import version_key
from ruledex.language.functions.wholes import WHOLE, whole_text
from ruledex.language.reference import truth_of
from ruledex.language.structured_parts import Place, json_text
from ruledex.language.text import tree_text
from ruledex.language.tree import (
    Attribute,
    Call,
    Compare,
    Expression,
    IsNull,
    Like,
    Named,
    Operand,
    Rlike,
    Value,
    replace,
)

_ORDER: Final = {"$lt": "<", "$lte": "<=", "$gt": ">", "$gte": ">="}
_VERSIONS: Final = {"$veq": "=", "$vne": "!=", "$vlt": "<", "$vlte": "<=", "$vgt": ">", "$vgte": ">="}
_JOINS: Final = ("$and", "$or", "$nor", "$not")
_X: Final = Attribute(("x",))
# Parts of a regular expression: escapes and classes of characters, what may be left out, and what no number has.
_CLASS: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_OPTIONAL: Final = re.compile(r".(?:[*?]|\{[^}]*\})", re.DOTALL)
_IN_NO_NUMBER: Final = re.compile(r"[^-+.\deE^$\0*?{}|()\[\]]", re.ASCII)
_PLAIN_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{0,14}[1-9])?", re.ASCII)


class Conditions:
    """Makes trees of conditions. `saved_groups` has the values of groups by name, or is a file of JSON that has."""

    keys = ("condition",)

    def __init__(self, saved_groups: Mapping[str, Any] | str | None = None, coerce: bool = True) -> None:
        self.definitions: dict[str, str] = {}
        self.groups = _loaded(saved_groups)
        self._coerce = coerce

    def translate(self, document: Any, place: Place, notes: list[Note]) -> Expression:
        """Return the tree of a condition."""
        return _Condition(notes, self._coerce, self.groups, self.definitions).fields(document, place, ())


translator = Conditions


def _loaded(groups: Mapping[str, Any] | str | None) -> Mapping[str, Any]:
    if isinstance(groups, str):
        try:
            groups = orjson.loads(Path(groups).read_bytes())
        except (OSError, ValueError) as error:
            raise InputError(f"{groups}: {error}") from None
    if groups is not None and not isinstance(groups, Mapping):
        raise InputError(f"saved groups are a mapping of names to lists, not {quoted(groups)}")
    return groups or {}


class _Condition:
    """One condition. `base` is the path of the element that is tested, or () for the event."""

    def __init__(self, notes: list[Note], coerce: bool, groups: Mapping[str, Any], definitions: dict[str, str]) -> None:
        self._notes = notes
        self._coerce = coerce
        self._groups = groups
        self._definitions = definitions

    def _note(self, place: Place, message: str) -> None:
        self._notes.append(Note(str(place), message))

    def fields(self, condition: Any, place: Place, base: tuple[str, ...]) -> Expression:
        """Return that all fields of an object hold."""
        if not isinstance(condition, Mapping):
            raise RuleSyntaxError(f"{place}: a condition is an object, not {json_text(condition)}")
        found = []
        for name, given in condition.items():
            at = Place(place, name)
            if name in _JOINS:
                found.append(self._join(name, given, at, base))
                continue
            if name == "$savedGroup":
                raise RuleTypeError(f"{at}: a saved group is read by $inGroup on an attribute, and not as a condition")
            steps = string(name, place, "a name").split(".")
            if name.startswith("$"):
                hint = did_you_mean(name, _JOINS)
                self._note(
                    at,
                    f"GrowthBook knows no {name} here and takes it for the name of an attribute; {hint}".rstrip("; "),
                )
            if not all(steps):
                raise RuleSyntaxError(f"{at}: a name between two dots is empty")
            if any(step.isdecimal() for step in steps[1:]):
                self._note(at, "a number in a path is read as a name, not as an element of an array")
            found.append(self.value(given, Attribute((*base, *steps)), at))
        return all_of(found)

    def _join(self, name: str, given: Any, place: Place, base: tuple[str, ...]) -> Expression:
        if name == "$not":
            return negate(self.fields(given, place, base))
        if not isinstance(given, list):
            raise RuleSyntaxError(f"{place}: {name} takes a list of conditions, not {json_text(given)}")
        parts = [self.fields(part, Place(place, i), base) for i, part in enumerate(given)]
        if name == "$and":
            return all_of(parts)
        some = any_of(parts) if parts else TRUE  # GrowthBook takes an empty $or for true
        return some if name == "$or" else negate(some)

    def value(self, expected: Any, operand: Operand, place: Place) -> Expression:
        """Return that an operand satisfies a plain value, or an object of operators."""
        match expected:
            case None:
                return has_no_value(operand)
            case bool():
                return self._boolean(operand, expected)
            case str():
                return self._text(operand, string(expected, place, "a value"))
            case int() | float():
                return self._number(operand, "=", number(expected, place, "a value"))
            case list():
                return self._whole(expected, operand, place)
            case Mapping() if expected and all(str(key).startswith("$") for key in expected):
                return all_of(self._operator(key, given, operand, Place(place, key)) for key, given in expected.items())
            case Mapping():
                return self._whole(expected, operand, place)
        raise RuleSyntaxError(f"{place}: a value is one of JSON, not {quoted(expected)}")

    # Plain values.

    def _boolean(self, operand: Operand, expected: bool) -> Expression:
        if not self._coerce:
            return Compare(operand, "=", expected)
        truthy = is_truthy(operand, empty_array=True)
        return truthy if expected else all_of((negate(has_no_value(operand)), negate(truthy)))

    def _text(self, operand: Operand, expected: str) -> Expression:
        same: list[Expression] = [Compare(operand, "=", expected)]
        if self._coerce:  # JavaScript compares the text of the value
            if expected in ("true", "false"):
                same.append(Compare(operand, "=", expected == "true"))
            elif expected == "null":
                same.append(has_no_value(operand))
            elif _PLAIN_NUMBER.fullmatch(expected) and expected != "-0":
                same.append(Compare(operand, "=", float(expected) if "." in expected else int(expected)))
        return any_of(same)

    def _number(self, operand: Operand, op: str, expected: int | float) -> Expression:
        return compare_number(operand, op, expected) if self._coerce else Compare(operand, op, expected)

    def _whole(self, expected: Any, operand: Operand, place: Place) -> Expression:
        """Return that an operand is this array or object: the same elements, or fields, in the same order."""
        if not isinstance(operand, Attribute):
            raise RuleTypeError(f"{place}: a number is never an array or object")
        text = whole_text(expected, limits.current().event_depth)
        if text is None:
            raise RuleTypeError(f"{place}: this nests too deep to be compared")
        return Compare(Call(WHOLE, (operand,)), "=", text)

    # Operators.

    def _operator(self, name: str, given: Any, operand: Operand, place: Place) -> Expression:
        if name in _ORDER:
            return self._order(operand, _ORDER[name], given, place)
        if name in _VERSIONS:
            return self._version(operand, _VERSIONS[name], given, place)
        make = _OPERATORS.get(name)
        if make is None:
            message = f"GrowthBook knows no {name} and takes it for false; {did_you_mean(name, _KNOWN)}"
            self._note(place, message.rstrip("; "))
            return FALSE
        return make(self, given, operand, place)

    def _order(self, operand: Operand, op: str, given: Any, place: Place) -> Expression:
        if self._coerce:
            return compare_order(operand, op, given, place)
        made = string if isinstance(given, str) else number
        return Compare(operand, op, made(given, place, "what is compared with"))

    def _version(self, operand: Operand, op: str, given: Any, place: Place) -> Expression:
        text = str(given) if isinstance(given, int | float) and not isinstance(given, bool) else given
        key = version_key(string(text, place, "a version"))
        plain = "=" if op == "!=" else op
        is_met_by_zero = constants_compare(version_key("0"), plain, key)
        if self._coerce:  # a number is a version too, and a boolean counts as 0, as what is missing does
            same: Expression = Compare(Call("version_key", (Call("cast_string", (operand,)),)), plain, key)
            truth = Compare(Call("typeof", (operand,)), "=", "boolean")
            same = any_of((same, truth)) if is_met_by_zero else all_of((same, negate(truth)))
        else:
            same = Compare(Call("version_key", (operand,)), plain, key)
        same = any_of((same, IsNull(operand) if is_met_by_zero else FALSE))
        return negate(same) if op == "!=" else same

    def equals(self, given: Any, operand: Operand, place: Place) -> Expression:
        """Return `$eq`: the same value of the same type."""
        if isinstance(given, list | Mapping):
            self._note(place, "GrowthBook compares arrays and objects by identity here: they are never equal")
            return FALSE
        return self.among([given], operand, place)

    def among(self, given: Any, operand: Operand, place: Place) -> Expression:
        """Return `$in`: some value is one of a list."""
        constants, found = list[Value](), list[Expression]()
        for value, at in self._list(given, place):
            if value is None:
                found.append(has_no_value(operand))
            elif isinstance(value, bool):
                constants.append(value)
            elif isinstance(value, str):
                constants.append(string(value, at, "a value"))
            elif isinstance(value, int | float):
                constants.append(number(value, at, "a value"))
            else:
                self._note(at, "GrowthBook compares arrays and objects by identity here: they are never equal")
        return any_of((equal(operand, constants), *found))

    def among_any_case(self, given: Any, operand: Operand, place: Place) -> Expression:
        """Return `$ini`: as `$in`, and texts may differ in case."""
        values = self._list(given, place)
        patterns = tuple(plain_like(string(v, at, "a value")) for v, at in values if isinstance(v, str))
        others = self.among([v for v, _ in values if not isinstance(v, str)], operand, place)
        return any_of((Like(operand, patterns, False, True) if patterns else FALSE, others))

    def _list(self, given: Any, place: Place) -> list[tuple[Any, Place]]:
        if not isinstance(given, list):
            raise _NotAListError(f"{place}: a list of values is expected, and GrowthBook takes anything else for false")
        return [(value, Place(place, i)) for i, value in enumerate(given)]

    def contains_all(self, given: Any, operand: Operand, place: Place, any_case: bool = False) -> Expression:
        """Return `$all`: an array has for each value of a list an element that satisfies it."""
        element = Attribute((ELEMENT,))
        found = []
        for value, at in self._list(given, place):
            if isinstance(value, str):
                pattern = plain_like(string(value, at, "a value"))
                found.append(Like(operand, (pattern,), False, True) if any_case else self._text(operand, value))
            else:
                found.append(some_element(operand, partial(self.value, value, element, at)))
        return all_of((is_array(operand), *found))

    def element(self, given: Any, operand: Operand, place: Place) -> Expression:
        """Return `$elemMatch`: some element of an array satisfies operators, or a condition on its fields."""
        if not isinstance(given, Mapping):
            raise RuleSyntaxError(f"{place}: $elemMatch takes an object, not {json_text(given)}")
        element = Attribute((ELEMENT,))
        if given and all(str(key).startswith("$") for key in given) and not set(given) <= set(_JOINS) - {"$not"}:
            body = self.value(given, element, place)
        else:
            body = self.fields(given, place, (ELEMENT,))
        if self._coerce and truth_of(body, {ELEMENT: None}) is True:  # GrowthBook passes over nulls
            body = all_of((negate(has_no_value(element)), body))
        return all_of((is_array(operand), some_element(operand, lambda: body)))

    def size(self, given: Any, operand: Operand, place: Place) -> Expression:
        """Return `$size`: the length of an array is a number, or satisfies operators."""
        if isinstance(given, bool) or not isinstance(given, int | float | Mapping):
            raise RuleSyntaxError(f"{place}: $size takes a number or an object of operators, not {json_text(given)}")
        return all_of((is_array(operand), self.value(given, Call("array_size", (operand,)), place)))

    def regex(self, given: Any, operand: Operand, place: Place, flags: str = "", negated: bool = False) -> Expression:
        """Return `$regex`: a regular expression matches somewhere in a text."""
        pattern = string(given, place, "a regular expression")
        constant = build.Constant(flags + pattern, 1.0, False, 0)
        try:
            found = build.regular_expression(operand, constant, "", 0)
        except RuleError as error:
            if _is_regex(pattern):
                raise type(error)(f"{place}: {error.message}") from None
            self._note(place, "this is not a regular expression, which GrowthBook takes for false")
            return FALSE
        if self._coerce and isinstance(found, Rlike) and isinstance(operand, Attribute):
            found = _of_any_type(found, operand)
        return negate(found) if negated else found

    def type(self, given: Any, operand: Operand, place: Place) -> Expression:
        """Return `$type`: the value is of a type of JSON."""
        test = _TYPES.get(given) if isinstance(given, str) else None
        if test is None:
            self._note(place, f"there is no type {quoted(given)}: it is false; the types are {', '.join(_TYPES)}")
            return FALSE
        if not self._coerce or given not in _SCALARS or not isinstance(operand, Attribute):
            return test(operand)
        return all_of((test(operand), negate(is_array(operand))))  # MongoDB asks the elements of an array as well

    def group(self, given: Any, operand: Operand, place: Place) -> Expression:
        """Return `$inGroup`: the value is in a saved group, which becomes a named condition."""
        name = string(given, place, "the name of a group")
        if name not in self._groups:
            self._note(place, f"there is no saved group {quoted(name)}, and no value is in it")
            return FALSE
        condition = self.among(self._groups[name], operand, place)
        if not isinstance(operand, Attribute) or operand.path[0] == ELEMENT or condition == FALSE:
            return condition  # a named condition is about the event, not about an element
        named = f"{name} of {'.'.join(operand.path)}"
        self._definitions[named] = tree_text(condition)
        return Named(named, condition)


class _NotAListError(RuleSyntaxError):
    """An operator got something else than the list of values that it needs."""


def _false_without_list(
    make: Callable[..., Expression], negated: bool = False
) -> Callable[[_Condition, Any, Operand, Place], Expression]:
    def made(self: _Condition, given: Any, operand: Operand, place: Place) -> Expression:
        try:
            found = make(self, given, operand, place)
        except _NotAListError as error:
            self._note(place, error.message.removeprefix(f"{place}: "))
            return FALSE
        return negate(found) if negated else found

    return made


_OPERATORS: Final[dict[str, Callable[[_Condition, Any, Operand, Place], Expression]]] = {
    "$eq": _Condition.equals,
    "$ne": lambda self, given, operand, place: negate(self.equals(given, operand, place)),
    "$in": _false_without_list(_Condition.among),
    "$nin": _false_without_list(_Condition.among, negated=True),
    "$ini": _false_without_list(_Condition.among_any_case),
    "$nini": _false_without_list(_Condition.among_any_case, negated=True),
    "$all": _false_without_list(_Condition.contains_all),
    "$alli": _false_without_list(partial(_Condition.contains_all, any_case=True)),
    "$exists": lambda _, given, operand, __: negate(has_no_value(operand)) if given else has_no_value(operand),
    "$not": lambda self, given, operand, place: negate(self.value(given, operand, place)),
    "$size": _Condition.size,
    "$elemMatch": _Condition.element,
    "$regex": _Condition.regex,
    "$regexi": partial(_Condition.regex, flags="(?i)"),
    "$notRegex": partial(_Condition.regex, negated=True),
    "$notRegexi": partial(_Condition.regex, flags="(?i)", negated=True),
    "$type": _Condition.type,
    "$inGroup": _Condition.group,
    "$notInGroup": lambda self, given, operand, place: negate(self.group(given, operand, place)),
}
_KNOWN: Final = (*_OPERATORS, *_ORDER, *_VERSIONS)
_TYPES: Final[dict[str, Callable[[Operand], Expression]]] = {
    "string": has_text,
    "number": has_number,
    "boolean": has_boolean,
    "null": has_no_value,
    "array": is_array,
    "object": is_object,
}
_SCALARS: Final = ("string", "number", "boolean")


def _of_any_type(found: Rlike, operand: Attribute) -> Expression:
    """Return that a regular expression matches the text of a value, as JavaScript writes it: null is a text."""
    matched = {text: truth_of(replace(found, operand=_X), {"x": text}) is True for text in ("null", "true", "false")}
    missing = has_no_value(operand) if matched["null"] else FALSE
    if _may_match_number(found.pattern):
        return any_of((replace(found, operand=Call("cast_string", (operand,))), missing))
    named = [Compare(operand, "=", text == "true") for text in ("true", "false") if matched[text]]
    return any_of((found, *named, missing))


def _may_match_number(pattern: str) -> bool:
    """Return False if a regular expression plainly needs a character that is in no number."""
    rest = _CLASS.sub("\\0", pattern.removeprefix("(?i)"))
    rest = _OPTIONAL.sub("", rest)
    return "|" in rest or "(" in rest or not _IN_NO_NUMBER.search(rest)


def _is_regex(pattern: str) -> bool:
    """Return whether this is a regular expression of a larger language than RE2's, as JavaScript's is."""
    try:
        re.compile(pattern.replace("(?<", "(?P<") if "(?<=" not in pattern and "(?<!" not in pattern else pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True
