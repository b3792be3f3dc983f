"""What the comparisons of a CEL expression are about: fields, constants, arithmetic, and times."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final, TypeAlias

from ruledex.errors import RuleError, RuleSyntaxError, quoted
from ruledex.formats.cel.syntax import Element, Invocation, Literal, Member, Name, Operation, Part, refusal
from ruledex.formats.conditions import string
from ruledex.formats.rules import Note
from ruledex.language import build
from ruledex.language.structured_parts import Place
from ruledex.language.tree import Attribute, Call, Expression, Operand, Value
from ruledex.language.value import INT64_MAX, INT64_MIN
from ruledex.language.value_types import MICROSECONDS_PER_DAY, Interval

Item: TypeAlias = "Operand | Literal"

_PARTS_OF_TIMES: Final = {  # the function, and what is taken from its result
    "getFullYear": ("year", 0),
    "getMonth": ("month", 1),
    "getDate": ("day", 0),
    "getDayOfMonth": ("day", 1),
    "getDayOfWeek": ("dayofweek", 1),
    "getDayOfYear": ("dayofyear", 1),
    "getHours": ("hour", 0),
    "getMinutes": ("minute", 0),
    "getSeconds": ("second", 0),
}
_CASTS: Final = {"int": "cast_bigint", "double": "cast_double"}
_CASES: Final = {"lowerAscii": "lower", "upperAscii": "upper"}
FUNCTIONS: Final = (*_PARTS_OF_TIMES, *_CASTS, *_CASES, "timestamp", "duration", "dyn")
_RFC3339: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})", re.ASCII)
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?|\.\d+)(h|ms|us|ns|m|s)", re.ASCII)
_LENGTHS: Final = {"h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "ms": 1000, "us": 1}


class Operands:
    """Reads the operands of one expression. `text` is the expression, for errors."""

    def __init__(self, text: str, notes: list[Note], root: str, now: tuple[str, ...], typed: bool) -> None:
        self._text = text
        self._notes = notes
        self._root = root
        self._now = now
        self._typed = typed
        self._variables: dict[str, Item] = {}

    def refuse(self, at: int, why: str) -> RuleSyntaxError:
        """Return an error with the column."""
        return refusal(self._text, at, why)

    def note(self, at: int, message: str) -> None:
        """Say once what a part means here."""
        note = Note(refusal(self._text, at, "").message.rstrip(": "), message)
        if all(other.message != message for other in self._notes):
            self._notes.append(note)

    def expect_single(self, at: int, *items: Item) -> None:
        """Say what a comparison means if a field is a list or a map after all."""
        if not self._typed and any(not isinstance(item, Literal) for item in items):
            message = "a list is compared by its elements here, and in CEL as a whole, and maps are not compared"
            self.note(at, f"{message}; typed=True says that there are none")

    def expect_list(self, at: int) -> None:
        """Say what an operation on a list means if a field is no list after all."""
        if not self._typed:
            message = "a single value is a list of one here, and the keys of a map are not elements"
            self.note(at, f"{message}; typed=True says that this is a list")

    @contextmanager
    def bound(self, name: str, item: Item) -> Iterator[None]:
        """Give a variable of a macro its meaning, inside of the macro."""
        before = dict(self._variables)
        self._variables[name] = item
        try:
            yield
        finally:
            self._variables = before

    def placed(self, at: int, make: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a constructor of the language makes. Its errors get the column."""
        try:
            return make(*arguments, "", 0)
        except RuleError as error:
            raise type(error)(self.refuse(at, error.message).message, hint=error.hint) from None

    # Fields.

    def attribute(self, part: Part) -> Operand:
        """Return a field. Raises if a part is something else."""
        found = self.item(part)
        if isinstance(found, Literal):
            raise self.refuse(part.at, "a field is expected here")
        return found

    def item(self, part: Part) -> Item:
        """Return an operand or a constant."""
        match part:
            case Literal():
                return part
            case Name() | Member() | Element():
                found = self._path(part)
                if found == ():
                    raise self.refuse(part.at, "the whole event cannot be compared")
                if not isinstance(found, tuple):
                    return found
                return Call("current_timestamp", ()) if found == self._now else Attribute(found)
            case Operation("-x", (operand,), at):
                given = self.item(operand)
                if isinstance(given, Literal):
                    raise self.refuse(at, "only a number has a negative")
                return Call("negative", (given,))
            case Operation("+" | "-" | "*" | "/" | "%" as op, (left, right), at):
                return self.calculated(op, self.item(left), self.item(right), at)
            case Invocation():
                return self._invoked(part)
        raise self.refuse(part.at, "this cannot be compared in the language of ruledex")

    def _path(self, part: Part) -> tuple[str, ...] | Item:
        match part:
            case Name(name):
                if name in self._variables:
                    found = self._variables[name]
                    return found.path if isinstance(found, Attribute) else found
                return () if name == self._root else (name,)
            case Member(operand, field, at):
                string(field, Place(), "a name")
                if not field:
                    raise self.refuse(at, "a field has a name")
                inner = self._path(operand)
                if isinstance(inner, tuple):
                    return *inner, field
                if isinstance(inner, Literal):
                    raise self.refuse(at, "a constant has no fields")
                return Call(".", (inner, field))
            case Element(operand, index, at):
                inner, place = self._path(operand), self.item(index)
                if not isinstance(place, Literal) or not isinstance(place.value, int) or not 0 <= place.value < 1 << 31:
                    raise self.refuse(at, "an element has a constant as its number, from 0, and a field a string")
                if inner == () or isinstance(inner, Literal):
                    raise self.refuse(at, "only a field has elements")
                self.expect_list(at)
                return Call("[]", (Attribute(inner) if isinstance(inner, tuple) else inner, place.value))
        found = self.item(part)
        return found.path if isinstance(found, Attribute) else found

    # Constants.

    def constant(self, value: Any, at: int) -> Value:
        """Return a constant of the language."""
        if isinstance(value, str):
            return string(value, Place(), "a constant")
        if isinstance(value, float) and not math.isfinite(value):
            raise self.refuse(at, "a number is finite")
        if isinstance(value, int) and not INT64_MIN <= value <= INT64_MAX:
            return Decimal(value)
        made: Value = value
        return made

    def build_item(self, item: Item, at: int) -> Operand | build.Constant:
        """Return an item as the constructors of the language take it."""
        if not isinstance(item, Literal):
            return item
        return build.Constant(None if item.value is None else self.constant(item.value, at), 1.0, False, 0)

    def comparison(self, left: Item, op: str, right: Item, at: int) -> Expression:
        """Return a comparison of two items, of which one is an operand."""
        made: Expression = self.placed(at, build.comparison, self.build_item(left, at), op, self.build_item(right, at))
        return made

    # Arithmetic and functions.

    def calculated(self, op: str, left: Item, right: Item, at: int) -> Item:
        """Return the result of an operator."""
        if isinstance(left, Literal) and isinstance(right, Literal):
            return Literal(self._folded(op, left.value, right.value, at), at)
        kinds = [operand_kind(item.value) for item in (left, right) if isinstance(item, Literal)]
        if kinds == ["string"] and op == "+":
            items = [self.build_item(item, at) for item in (left, right)]
            made: Item = self.placed(at, build.call, "concat", items)
            return made
        is_of_time = kinds == ["duration"] or is_time(left) or is_time(right)
        if any(
            isinstance(item, Literal) and isinstance(item.value, Interval) and item.value.is_days
            for item in (left, right)
        ):
            self.note(at, "24 hours are one day in the time zone of the index, which daylight saving changes")
        if not is_of_time and kinds not in ([], ["number"]):
            raise self.refuse(at, f"{op} is for numbers here")
        if op == "/":
            if kinds == [] or not isinstance(right, Literal) or right.value == 0:
                raise self.refuse(at, "/ takes a constant other than 0 here: the types of fields decide what it means")
            op = "div" if isinstance(right.value, int) else "/"
        if not is_of_time:
            self.note(at, "CEL refuses to calculate with an integer and a double, and here the result is a number")
        made = self.placed(at, build.call, op, [self.build_item(item, at) for item in (left, right)])
        if isinstance(made, build.Constant):
            return Literal(made.value, at)
        return made

    def _folded(self, op: str, left: Any, right: Any, at: int) -> Any:
        kind = {type(left), type(right)}
        if kind == {str} and op == "+":
            return left + right
        if kind <= {datetime, Interval}:
            return self._folded_time(op, left, right, at)
        if kind not in ({int}, {float}) or (op == "%" and kind == {float}):
            kinds = f"{_shown_kind(left)} and {_shown_kind(right)}"
            raise self.refuse(at, f"CEL has no {op} for {kinds}")
        if op in "/%" and right == 0:
            raise self.refuse(at, "a division by 0 is an error of CEL")
        match op:
            case "+":
                found = left + right
            case "-":
                found = left - right
            case "*":
                found = left * right
            case "/":
                found = left / right if kind == {float} else abs(left) // abs(right) * (1 if left * right >= 0 else -1)
            case _:
                found = int(math.copysign(abs(left) % abs(right), left))
        if isinstance(found, int) and not INT64_MIN <= found <= INT64_MAX:
            raise self.refuse(at, "the result is beyond 64 bits")
        return found

    def _folded_time(self, op: str, left: Any, right: Any, at: int) -> datetime | Interval:
        """Return a sum or a difference of constants that are times or durations."""
        try:
            match op, left, right:
                case (("+" | "-"), datetime(), Interval()):
                    return left + length_of(right) if op == "+" else left - length_of(right)
                case "+", Interval(), datetime():
                    return right + length_of(left)
                case "-", datetime(), datetime():
                    return _interval((left - right) // timedelta(microseconds=1))
                case (("+" | "-"), Interval(), Interval()):
                    return _interval(left.microseconds + (right if op == "+" else right.negated()).microseconds)
        except OverflowError:
            raise self.refuse(at, "the result is no time from the year 1 to 9999") from None
        raise self.refuse(at, f"CEL has no {op} for {_shown_kind(left)} and {_shown_kind(right)}")

    def _invoked(self, call: Invocation) -> Item:
        name, at = call.function, call.at
        arguments = call.arguments if call.target is None else (call.target, *call.arguments)
        if name in _PARTS_OF_TIMES and call.target is not None:
            return self._part_of_time(name, arguments, at)
        if name not in FUNCTIONS or len(arguments) != 1:
            raise self.refuse(at, f"the function {quoted(name)} cannot be compared in the language of ruledex")
        given = self.item(arguments[0])
        if name == "dyn":
            return given
        if isinstance(given, Literal):
            return Literal(self._constant_of(name, given.value, at), at)
        if name == "timestamp":
            if is_time(given):
                return given
            if not self._typed:
                self.note(at, "a text that is a time, but not of RFC 3339, is an error of CEL, and a time here")
            return Call("cast_timestamp", (given,))
        if name in _CASES:
            self.note(at, f"{name} changes the letters of ASCII only, and here those of all alphabets")
            return Call(_CASES[name], (given,))
        if name == "duration":
            raise self.refuse(at, "a duration is a constant here")
        self.note(at, f"{name}() of a text or a boolean goes by Spark's CAST here: CEL takes fewer of them")
        return Call(_CASTS[name], (given,))

    def _part_of_time(self, name: str, arguments: tuple[Part, ...], at: int) -> Item:
        function, taken = _PARTS_OF_TIMES[name]
        time = self.item(arguments[0])
        if len(arguments) != 1 or isinstance(time, Literal):
            raise self.refuse(at, f"{name} is for a field, and takes no time zone here: the index has one")
        self.note(at, "parts of times are in the time zone of the index, and in CEL in UTC")
        made: Operand = Call(function, (time,))
        return Call("-", (made, taken)) if taken else made

    def _constant_of(self, name: str, given: Any, at: int) -> Any:
        match name, given:
            case "timestamp", str() if _RFC3339.fullmatch(given):
                try:
                    return datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", given).replace("Z", "+00:00"))
                except ValueError as error:
                    raise self.refuse(at, f"{quoted(given)} is no time: {error}") from None
            case "duration", str():
                return self._duration(given, at)
            case (("lowerAscii" | "upperAscii"), str()):
                return given.lower() if name == "lowerAscii" else given.upper()
            case "int", int() | float() if not isinstance(given, bool) and abs(given) < 1 << 63:
                return int(given)
            case "double", int() | float() if not isinstance(given, bool):
                return float(given)
        wanted = "a time of RFC 3339 such as 2024-02-29T10:30:00Z" if name == "timestamp" else "another constant"
        raise self.refuse(at, f"{name}() takes {wanted}, not {quoted(given)}")

    def _duration(self, text: str, at: int) -> Interval:
        sign, digits = (-1, text[1:]) if text[:1] == "-" else (1, text)
        found = _DURATION.findall(digits)
        if not found or "".join(number + unit for number, unit in found) != digits or len(digits) > 30:
            raise self.refuse(at, f"{quoted(text)} is no duration such as 1h30m or 2.5s")
        length = sum(Decimal(number) * _LENGTHS.get(unit, Decimal("0.001")) for number, unit in found)
        if length != int(length) or length > INT64_MAX:
            raise self.refuse(at, "a duration has no parts of microseconds here, and fits 64 bits")
        return _interval(sign * int(length))


def _interval(microseconds: int) -> Interval:
    return Interval(microseconds=microseconds, is_days=microseconds % MICROSECONDS_PER_DAY == 0)


def length_of(interval: Interval) -> timedelta:
    """Return a duration as Python has it."""
    return timedelta(microseconds=interval.microseconds)


def _shown_kind(value: Any) -> str:
    names = {int: "an integer", float: "a double", bool: "a boolean", str: "a string", datetime: "a time"}
    return names.get(type(value), "a duration" if isinstance(value, Interval) else "null")


def operand_kind(value: Any) -> str:
    """Return what constants compare with: numbers with numbers, and each other kind with itself."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return {str: "string", Interval: "duration", datetime: "time"}.get(type(value), "null")


def is_time(item: Item) -> bool:
    """Return whether an operand is known to give a time."""
    if isinstance(item, Literal):
        return isinstance(item.value, datetime)
    return isinstance(item, Call) and item.function in ("cast_timestamp", "current_timestamp", "add_interval")
