"""Pre-operations: what happens to a value before it is tested.

Each of them changes values of one type and leaves all others as they are: `ADDITION` changes numbers, `LENGTH` texts.
So a predicate is about several alternatives, of which an event's value has one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from typing import Any, Final

from ruledex.errors import RuleSyntaxError, did_you_mean
from ruledex.formats.conditions import ELEMENT, all_of, is_present, number, string
from ruledex.formats.mustang.paths import Location
from ruledex.formats.rules import Note
from ruledex.language.functions.time_texts import PatternRefusedError, compile_pattern
from ruledex.language.lambdas import lambda_of
from ruledex.language.structured_parts import Place, json_text
from ruledex.language.tree import Attribute, Between, Call, Expression, Is, IsNull, Like, Not, Operand


def check_keys(given: Mapping[str, Any], known: Iterable[str], what: str, place: Place, notes: list[Note]) -> None:
    """Raise if a key is nearly one of Mustang. Add a note about all others that it does not have."""
    names = tuple(known)
    for key, value in given.items():
        if key in names or value is None or value == []:
            continue
        hint = did_you_mean(str(key), names)
        if hint:
            raise RuleSyntaxError(f"{Place(place, key)}: {what} has no {key!r}", hint=hint)
        notes.append(Note(str(Place(place, key)), f"{what} has no {key!r} in Mustang, and it says nothing here"))


NUMBER: Final = "number"
TEXT: Final = "text"
BOOLEAN: Final = "boolean"
_ALL: Final = frozenset((NUMBER, TEXT, BOOLEAN))
_INT32: Final = (-(2**31), 2**31 - 1)
_JAVA_LETTERS: Final = frozenset("GuyDMLdQqYwWEecFaBhKkHmsSAnNVvzOXxZpg")
_KEYS: Final[dict[str, tuple[str, ...]]] = {  # beside the type
    **dict.fromkeys(("ADDITION", "SUBTRACTION", "MULTIPLICATION", "DIVISION", "MODULO"), ("rhs",)),
    "SUBSTRING": ("beginIndex", "endIndex"),
    "TO_DATETIME": ("dateTimeFormat",),
    "DATETIME": ("extract",),
}
_QUOTED: Final = re.compile(r"'[^']*'")
_ZONES: Final = frozenset("XxZzVO")


@dataclass(frozen=True, slots=True)
class Alternative:
    """A value after some operations, for the values of the event that have the `kinds` and pass the `guards`.

    `steps` are additions and multiplications that are still to be done. `time` is the operand as a time, if the value
    is its milliseconds. `is_whole`: the value is a whole number.
    """

    location: Location
    kinds: frozenset[str] = _ALL
    guards: tuple[Expression, ...] = ()
    steps: tuple[tuple[str, Decimal], ...] = ()
    time: Operand | None = None
    is_whole: bool = False

    @property
    def operand(self) -> Operand:
        """The operand with all steps done."""
        operand = self.location.operand
        for op, constant in self.steps:
            operand = Call(op, (operand, plain_number(constant)))
        return operand

    def changed(self, operand: Operand, kind: str, is_whole: bool = False, time: Operand | None = None) -> Alternative:
        """Return the alternative for what a function makes of the operand."""
        location = replace(self.location, operand=operand)
        return Alternative(location, frozenset((kind,)), self.guards, (), time, is_whole)

    def solved(self, constant: Decimal) -> tuple[Decimal, bool] | None:
        """Return the number from which the steps lead to a constant, and whether they turn the order around.

        None if a decimal cannot say the number.
        """
        turned = False
        with localcontext() as context:
            context.prec = 40
            for op, argument in reversed(self.steps):
                if op == "*":
                    if not argument:
                        return None
                    quotient = constant / argument
                    if quotient * argument != constant or len(quotient.as_tuple().digits) > 17:
                        return None
                    constant, turned = quotient, turned != (argument < 0)
                else:
                    constant = constant - argument if op == "+" else constant + argument
        return constant, turned

    @property
    def has_fractions(self) -> bool:
        """Whether a step has a number that is not whole."""
        return any(argument != int(argument) for _, argument in self.steps)


def plain_number(constant: Decimal) -> int | float:
    """Return a number as a rule has it: an integer if it is whole and fits 64 bits."""
    is_whole = constant == constant.to_integral_value() and abs(constant) < 2**63
    return int(constant) if is_whole else float(constant)


def alternatives_of(
    operations: Any, location: Location, place: Place, notes: list[Note]
) -> tuple[list[Alternative], bool]:
    """Return the alternatives for a value after a chain of operations, and whether it has counted elements."""
    if not isinstance(operations, list):
        raise RuleSyntaxError(f"{place}: pre-operations are a list, not {json_text(operations)}")
    found, is_counted = [Alternative(location)], False
    for i, given in enumerate(operations):
        at = Place(place, i)
        if not isinstance(given, Mapping) or not isinstance(given.get("type"), str):
            raise RuleSyntaxError(f"{at}: a pre-operation is an object with a type, not {json_text(given)}")
        kind = given["type"].upper()
        if kind in (*_OPERATIONS, "SIZE", "IDENTITY"):
            check_keys(given, ("type", *_KEYS.get(kind, ())), f"the pre-operation {kind}", at, notes)
        if kind == "SIZE":
            found, is_counted = [new for one in found for new in _counted(one, at, notes)], True
        elif kind == "IDENTITY":
            continue
        elif (applied := _OPERATIONS.get(kind)) is None:
            hint = did_you_mean(kind, (*_OPERATIONS, "SIZE", "IDENTITY"))
            raise RuleSyntaxError(f"{at}: there is no pre-operation {given['type']!r}", hint=hint)
        else:
            takes, change = applied
            made = change(given, at, notes)
            found = [new for one in found for new in _applied(one, takes, made)]
    return found, is_counted


Change = Callable[[Alternative], list[Alternative]]


def _applied(one: Alternative, takes: str, change: Change | None) -> list[Alternative]:
    """Return what a change makes of an alternative, and the rest of it as it is."""
    if change is None or takes not in one.kinds:
        return [one]
    rest = replace(one, kinds=one.kinds - {takes})
    return change(replace(one, kinds=frozenset((takes,)))) + ([rest] if rest.kinds else [])


# Numbers.


def _step(op: str) -> Callable[[Mapping[str, Any], Place, list[Note]], Change]:
    def made(given: Mapping[str, Any], place: Place, _: list[Note]) -> Change:
        rhs = Decimal(repr(number(given.get("rhs", 0), Place(place, "rhs"), "rhs")))
        return lambda one: [replace(one, steps=(*one.steps, (op, rhs)), time=None)]

    return made


def _whole_rhs(given: Mapping[str, Any], place: Place) -> int:
    return int(number(given.get("rhs", 0), Place(place, "rhs"), "rhs"))


def _division(given: Mapping[str, Any], place: Place, _: list[Note]) -> Change | None:
    rhs = _whole_rhs(given, place)
    if not rhs:
        return None
    return lambda one: [one.changed(Call("div", (one.operand, rhs)), NUMBER, is_whole=True)]


def _modulo(given: Mapping[str, Any], place: Place, _: list[Note]) -> Change | None:
    rhs = _whole_rhs(given, place)
    if not rhs:
        return None

    def change(one: Alternative) -> list[Alternative]:
        operand = one.operand if one.is_whole else Call("div", (one.operand, 1))  # a fraction is cut off first
        return [one.changed(Call("%", (operand, rhs)), NUMBER, is_whole=True)]

    return change


def _binary(_: Mapping[str, Any], __: Place, ___: list[Note]) -> Change:
    def change(one: Alternative) -> list[Alternative]:
        operand = one.operand
        bits = Call("substring", (Call("lpad", (Call("bin", (operand,)), 64, "0")), 33))
        changed = one.changed(bits, TEXT)
        return [replace(changed, guards=(*one.guards, Between(operand, *_INT32, 0.0)))]

    return change


# Texts.


def _length(_: Mapping[str, Any], __: Place, ___: list[Note]) -> Change:
    return lambda one: [one.changed(Call("length", (one.operand,)), NUMBER, is_whole=True)]


def _substring(given: Mapping[str, Any], place: Place, _: list[Note]) -> Change | None:
    begin, end = (int(number(given.get(key, 0), Place(place, key), key)) for key in ("beginIndex", "endIndex"))
    if begin < 0:
        raise RuleSyntaxError(f"{Place(place, 'beginIndex')}: an index is not negative")
    if begin > end:
        return None
    return lambda one: [one.changed(Call("substring", (one.operand, begin + 1, end - begin)), TEXT)]


def _to_datetime(given: Mapping[str, Any], place: Place, notes: list[Note]) -> Change:
    at = Place(place, "dateTimeFormat")
    pattern = string(given.get("dateTimeFormat"), at, "a format").replace("uuuu", "yyyy")
    letters = {character for character in _QUOTED.sub("", pattern) if character.isascii() and character.isalpha()}
    if not pattern or letters - _JAVA_LETTERS or set("{}#") & set(_QUOTED.sub("", pattern)):
        notes.append(Note(str(at), "Java has no such pattern, and Mustang then reads times of ISO 8601; so it is here"))
        return lambda one: _read_as_time(one, Call("cast_timestamp", (one.operand,)))
    try:
        compile_pattern(pattern)
    except PatternRefusedError as error:
        raise RuleSyntaxError(f"{at}: {error}") from None
    if not letters & _ZONES:
        notes.append(Note(str(at), "without a zone Mustang reads no time at all; here it is in the zone of the schema"))
    return lambda one: _read_as_time(one, Call("to_timestamp", (one.operand, pattern)))


def _read_as_time(one: Alternative, time: Call) -> list[Alternative]:
    seconds = Call("*", (Call("unix_seconds", (time,)), 1000))
    unread = replace(one, guards=(*one.guards, IsNull(time)))
    return [one.changed(seconds, NUMBER, is_whole=True, time=time), unread]


# Times.


def _datetime(given: Mapping[str, Any], place: Place, notes: list[Note]) -> Change:
    at = Place(place, "extract")
    extract = given.get("extract")
    if not isinstance(extract, str) or extract.upper() not in EXTRACTS:
        known = did_you_mean(extract, EXTRACTS) if isinstance(extract, str) else ""
        raise RuleSyntaxError(f"{at}: there is nothing to extract that is called {json_text(extract)}", hint=known)
    kind = extract.upper()
    if kind in ("ZONE_OFFSET", "DST_OFFSET"):
        raise RuleSyntaxError(f"{at}: a rule cannot ask for the offset of a time zone")
    if kind not in ("DIFF_WITH_EPOCH", "MILLISECOND", "SECOND"):
        weeks = ", and with weeks as in the US," if kind.startswith("WEEK") else ""
        note = f"Mustang takes the time zone of its machine; here times are{weeks} in the zone of the schema"
        notes.append(Note(str(at), note))
    result = TEXT if kind in ("ERA", "AM_PM") else NUMBER

    def change(one: Alternative) -> list[Alternative]:
        if kind == "DIFF_WITH_EPOCH":
            now = Call("unix_millis", (Call("current_timestamp", ()),))
            return [one.changed(Call("-", (now, one.operand)), NUMBER, is_whole=True)]
        if kind == "MILLISECOND":
            return [one.changed(Call("pmod", (one.operand, 1000)), NUMBER, is_whole=True)]
        return [one.changed(EXTRACTS[kind](_time_of(one)), result, is_whole=result == NUMBER)]

    return change


def _time_of(one: Alternative) -> Operand:
    if one.time is not None:
        return one.time
    return Call("timestamp_millis", (one.operand if one.is_whole else Call("div", (one.operand, 1)),))


def _part(function: str) -> Callable[[Operand], Operand]:
    return lambda time: Call(function, (time,))


def _week_of_year(time: Operand) -> Operand:
    """Return the week that has the next Saturday, counted from that of the first Saturday."""
    saturday = Call("date_add", (time, Call("-", (7, Call("dayofweek", (time,))))))
    return Call("+", (Call("div", (Call("-", (Call("dayofyear", (saturday,)), 1)), 7)), 1))


def _week_of_month(time: Operand) -> Operand:
    day = Call("day", (time,))
    first = Call("pmod", (Call("-", (Call("dayofweek", (time,)), day)), 7))  # of the week, counted from 0
    return Call("+", (Call("div", (Call("+", (Call("-", (day, 1)), first)), 7)), 1))


def _week_in_month(time: Operand) -> Operand:
    return Call("+", (Call("div", (Call("-", (Call("day", (time,)), 1)), 7)), 1))


def _half_of_day(time: Operand) -> Operand:
    half = Call("bin", (Call("div", (Call("hour", (time,)), 12)),))
    return Call("replace", (Call("replace", (half, "0", "AM")), "1", "PM"))


def _era(time: Operand) -> Operand:
    """Return AD: no time of a rule lies before the year 1 or after the year 9999."""
    return Call("replace", (Call("bin", (Call("div", (Call("year", (time,)), 10_000)),)), "0", "AD"))


EXTRACTS: Final[dict[str, Callable[[Operand], Operand]]] = {
    "ERA": _era,
    "YEAR": _part("year"),
    "MONTH": _part("month"),
    "WEEK_OF_YEAR": _week_of_year,
    "WEEK_OF_MONTH": _week_of_month,
    "DATE": _part("day"),
    "DAY_OF_YEAR": _part("dayofyear"),
    "DAY_OF_MONTH": _part("day"),
    "DAY_OF_WEEK": _part("dayofweek"),
    "DAY_OF_WEEK_IN_MONTH": _week_in_month,
    "AM_PM": _half_of_day,
    "HOUR": lambda time: Call("%", (Call("hour", (time,)), 12)),
    "HOUR_OF_DAY": _part("hour"),
    "MINUTE": _part("minute"),
    "SECOND": _part("second"),
    "MILLISECOND": lambda time: time,  # of the number itself
    "ZONE_OFFSET": lambda time: time,
    "DST_OFFSET": lambda time: time,
    "DIFF_WITH_EPOCH": lambda time: time,
}


# Arrays.


def _counted(one: Alternative, place: Place, notes: list[Note]) -> list[Alternative]:
    """Return the number of elements for arrays, and other values as they are."""
    if one.operand != one.location.operand or one.kinds != _ALL:
        return [one]  # the result of another operation, which is no array
    location = one.location
    if location.filters:
        return [one_of_filter(location, place)]
    size = Call("array_size", (location.operand,))
    counted = Alternative(Location(size), frozenset((NUMBER,)), one.guards, is_whole=True)
    if location.is_list:
        return [counted]
    guard = array_test(location.operand)
    if guard is None:
        notes.append(Note(str(place), "a single value at a place of an array counts as an array of one, too"))
        return [counted, one]
    return [replace(counted, guards=(*one.guards, guard)), replace(one, guards=(*one.guards, guard.child))]


def one_of_filter(location: Location, place: Place) -> Alternative:
    """Return the number of elements that a filter lets pass."""
    if len(location.filters) > 1 or not isinstance(location.operand, Attribute):
        raise RuleSyntaxError(f"{place}: the elements of one filter can be counted, not those of several")
    ((array, passes),) = location.filters
    is_there = () if location.operand == Attribute((ELEMENT,)) else (is_present(location.operand),)
    body = all_of((passes, *is_there))
    size = Call("array_size", (Call("filter", (lambda_of(array, ELEMENT, body, 0),)),))  # type: ignore[arg-type]
    return Alternative(Location(size), frozenset((NUMBER,)), is_whole=True)


def array_test(operand: Operand) -> Not | None:
    """Return that an attribute is an array, without a score. Of other operands a rule cannot say it."""
    if not isinstance(operand, Attribute):
        return None
    # One of mixed types has no type that Spark could name.
    return Not(Is(Not(Like(Call("typeof", (operand,)), ("array%",))), True))


_OPERATIONS: Final[dict[str, tuple[str, Callable[[Mapping[str, Any], Place, list[Note]], Change | None]]]] = {
    "ADDITION": (NUMBER, _step("+")),
    "SUBTRACTION": (NUMBER, _step("-")),
    "MULTIPLICATION": (NUMBER, _step("*")),
    "DIVISION": (NUMBER, _division),
    "MODULO": (NUMBER, _modulo),
    "BINARY_CONVERSION": (NUMBER, _binary),
    "LENGTH": (TEXT, _length),
    "SUBSTRING": (TEXT, _substring),
    "TO_DATETIME": (TEXT, _to_datetime),
    "DATETIME": (NUMBER, _datetime),
}
