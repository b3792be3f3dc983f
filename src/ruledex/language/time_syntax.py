"""The syntax of times: DATE '…', TIMESTAMP '…', INTERVAL …, now(), extract(part FROM …), and what they mean.

Now plus or minus intervals is a constant (`Moment`) where it is compared with an attribute. Elsewhere, as in
`datediff(current_date(), x)`, it is a function without attributes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from ruledex.errors import RuleError, RuleSyntaxError, RuleTypeError, did_you_mean
from ruledex.language.functions.calendar import FUNCTION_OF_PART
from ruledex.language.scanner import SKIP, read_string, scan, token_of
from ruledex.language.tree import Between, Call, Compare, In, NullSafe, Operand, Predicate, Value
from ruledex.language.value_types import MICROSECONDS_PER_DAY, Interval, Moment

if TYPE_CHECKING:
    from ruledex.language.build import Constant, Item

_SECOND: Final = 1_000_000
_HOUR: Final = 3600 * _SECOND
_MONTHS: Final = {"year": 12, "month": 1}
_MICROSECONDS: Final = {
    "week": 7 * MICROSECONDS_PER_DAY,
    "day": MICROSECONDS_PER_DAY,
    "hour": _HOUR,
    "minute": 60 * _SECOND,
    "second": _SECOND,
    "millisecond": 1000,
    "microsecond": 1,
}
_UNITS: Final = (*_MONTHS, *_MICROSECONDS)
_OF_DAYS: Final = ("week", "day")
_MOST_MONTHS: Final = 120_000
_LONGEST: Final = 10_000 * 366 * MICROSECONDS_PER_DAY  # all times lie within years 1 to 9999

_NUMBER: Final = r"[0-9]{1,19}+(?:\.[0-9]{0,19}+)?+"
_UNIT: Final = r"[^\W\d]\w*+"
# What may follow INTERVAL: a text without a unit, two units, or parts of a number and a unit each. An attribute may
# have the name `interval`, so that a number needs a unit behind it.
_TEXT_ALONE: Final = re.compile(rf"{SKIP}'([^'\\]*+)'(?!{SKIP}{_UNIT})", re.DOTALL)
_TWO_UNITS: Final = re.compile(rf"{SKIP}([+-]?){SKIP}'([^'\\]*+)'{SKIP}({_UNIT}){SKIP}TO\b{SKIP}({_UNIT})", re.I | re.S)
_PART: Final = re.compile(
    rf"{SKIP}([+-]?+){SKIP}(?:({_NUMBER})(?!\w)|'\s*+([+-]?+)\s*+({_NUMBER})\s*+'){SKIP}({_UNIT})", re.DOTALL
)
_PART_OF_TEXT: Final = re.compile(rf"\s*+([+-]?+)\s*+({_NUMBER})()()\s*+({_UNIT})\s*+")
_AFTER: Final = frozenset(
    ("AND", "OR", "XOR", "XNOR", "NOT", "IN", "BETWEEN", "IS", "LIKE", "ILIKE", "RLIKE", "REGEXP")
)

# The forms with two units, by the first and the last: how the text looks.
_SIGNED: Final = r"\s*([+-]?)"
_CLOCK: Final = {
    ("day", "hour"): r"(?P<day>\d+)\s+(?P<hour>\d{1,2})",
    ("day", "minute"): r"(?P<day>\d+)\s+(?P<hour>\d{1,2}):(?P<minute>\d{1,2})",
    ("day", "second"): r"(?P<day>\d+)\s+(?P<hour>\d{1,2}):(?P<minute>\d{1,2}):(?P<second>\d{1,2}(?:\.\d{1,9})?)",
    ("hour", "minute"): r"(?P<hour>\d+):(?P<minute>\d{1,2})",
    ("hour", "second"): r"(?P<hour>\d+):(?P<minute>\d{1,2}):(?P<second>\d{1,2}(?:\.\d{1,9})?)",
    ("minute", "second"): r"(?P<minute>\d+):(?P<second>\d{1,2}(?:\.\d{1,9})?)",
    ("year", "month"): r"(?P<year>\d+)-(?P<month>\d{1,2})",
}
_MOST: Final = {"hour": 23, "minute": 59, "second": 59, "month": 11}


def read_interval(text: str, position: int, start: int) -> tuple[Interval, int] | None:
    """Return the interval whose word INTERVAL ends at a position, and where it ends; None if this is not an interval.

    `start` is where it begins, for messages.
    """
    if (match := _TWO_UNITS.match(text, position)) is not None:
        return _between_units(match, text, start), match.end()
    if (match := _TEXT_ALONE.match(text, position)) is not None:
        parts, end = [], 0
        content = match[1].strip().removeprefix("interval ").removeprefix("INTERVAL ")
        while end < len(content) and (part := _PART_OF_TEXT.match(content, end)) is not None:
            parts.append(part)
            end = part.end()
        if not parts or end < len(content):
            raise RuleSyntaxError("this is not an interval", text, start, "write INTERVAL '7' DAY or INTERVAL 7 DAYS")
        return _joined(parts, text, start), match.end()
    parts = []
    while (part := _PART.match(text, position)) is not None:
        if part[5].upper() in _AFTER or (parts and _unit(part[5]) is None):
            break
        parts.append(part)
        position = part.end()
    return (_joined(parts, text, start), position) if parts else None


def _unit(word: str) -> str | None:
    unit = word.lower()
    return unit if unit in _UNITS else unit[:-1] if unit[-1:] == "s" and unit[:-1] in _UNITS else None


def _joined(parts: list[re.Match[str]], text: str, start: int) -> Interval:
    months, microseconds, units = 0, Decimal(0), set()
    for part in parts:
        sign, bare, inner_sign, quoted, word = part.groups()
        unit = _unit(word)
        if unit is None:
            hint = did_you_mean(word, (*_UNITS, *(f"{unit}s" for unit in _UNITS)))
            raise RuleSyntaxError(f"there is no unit {word}", text, start, hint or f"the units are {', '.join(_UNITS)}")
        number = Decimal(bare or quoted)
        if number != number.to_integral_value() and unit != "second":
            raise RuleSyntaxError(f"only seconds have a fraction, not {word}", text, start)
        signed = -number if (sign == "-") != (inner_sign == "-") else number
        units.add(unit)
        if unit in _MONTHS:
            months += int(signed) * _MONTHS[unit]
        else:
            microseconds += signed * _MICROSECONDS[unit]
    if units & set(_MONTHS) and units - set(_MONTHS):
        hint = "add one after the other: x + INTERVAL 1 MONTH + INTERVAL 2 DAYS"
        raise RuleSyntaxError("an interval has years and months, or days and less, not both", text, start, hint)
    is_days = units <= set(_OF_DAYS)
    return _checked(Interval(months, int(microseconds), is_days), text, start)


def _between_units(match: re.Match[str], text: str, start: int) -> Interval:
    sign, content, *words = match.groups()
    units = _unit(words[0]) or "", _unit(words[1]) or ""
    form = _CLOCK.get(units)
    if form is None:
        known = ", ".join(f"{first} to {last}" for first, last in _CLOCK)
        raise RuleSyntaxError(f"no interval goes from {words[0]} to {words[1]}", text, start, f"there are {known}")
    found = re.fullmatch(rf"{_SIGNED}{form}\s*", content, re.ASCII)
    parts = {} if found is None else {unit: Decimal(number) for unit, number in found.groupdict().items()}
    if found is None or any(number >= _MOST.get(unit, number) + 1 for unit, number in list(parts.items())[1:]):
        example = {"year": "1-2", "day": "1 02:30:00", "hour": "02:30:00"}.get(units[0], "30:00")
        raise RuleSyntaxError(
            f"this is not an interval from {units[0]} to {units[1]}", text, start, f"such as '{example}'"
        )
    is_negative = (sign == "-") != (found[1] == "-")
    months = sum(int(number) * _MONTHS[unit] for unit, number in parts.items() if unit in _MONTHS)
    microseconds = int(sum(number * _MICROSECONDS[unit] for unit, number in parts.items() if unit in _MICROSECONDS))
    made = Interval(months, microseconds)
    return _checked(made.negated() if is_negative else made, text, start)


def _checked(interval: Interval, text: str, start: int) -> Interval:
    if abs(interval.microseconds) > _LONGEST or abs(interval.months) > _MOST_MONTHS:
        raise RuleSyntaxError("an interval is at most 10,000 years long", text, start)
    return interval


def interval_text(interval: Interval) -> str:
    """Return an interval as text."""
    return f"INTERVAL '{_amount(interval)[0]}' {_amount(interval)[1]}"


def _amount(interval: Interval) -> tuple[str, str]:
    months, microseconds, is_days = interval.months, interval.microseconds, interval.is_days
    if months or (not microseconds and not is_days):
        return (str(months // 12), "YEAR") if months and months % 12 == 0 else (str(months), "MONTH")
    if is_days:
        return str(microseconds // MICROSECONDS_PER_DAY), "DAY"
    for unit in ("hour", "minute"):
        if microseconds % _MICROSECONDS[unit] == 0:
            return str(microseconds // _MICROSECONDS[unit]), unit.upper()
    seconds = f"{Decimal(microseconds) / _SECOND:f}"
    return (seconds.rstrip("0").rstrip(".") if "." in seconds else seconds), "SECOND"


def moment_text(moment: Moment) -> str:
    """Return a moment as text: now, and the intervals that are added to it."""
    start = "current_date()" if moment.is_date else "current_timestamp()"
    return "".join([start, *map(added_text, moment.steps())])


def added_text(interval: Interval) -> str:
    """Return what is written behind a time to add an interval to it."""
    is_negative = interval.months < 0 or interval.microseconds < 0
    return f" {'-' if is_negative else '+'} {interval_text(interval.negated() if is_negative else interval)}"


_CLOCKS: Final = {"now": False, "current_timestamp": False, "current_date": True, "curdate": True}
_TIME_WORDS: Final = frozenset(("DATE", "TIMESTAMP", "INTERVAL", *map(str.upper, _CLOCKS)))
_OF_DATES: Final = ("date_add", "date_sub", "add_months", "date")
# What a constant that is counted from now can begin with.
_MOMENT_WORDS: Final = frozenset((*_CLOCKS, *_OF_DATES, "interval"))
_EXTRACT: Final = re.compile(rf"{SKIP}([^\W\d]\w*+){SKIP}FROM\b", re.IGNORECASE | re.DOTALL)
_ENDS: Final = frozenset(("AND", "OR", "XOR", "XNOR"))


def read_constant(word: str, text: str, position: int, start: int) -> tuple[Value, int] | None:
    """Return the constant whose first word ends at a position, and where the constant ends; None if it is a name."""
    if word not in _TIME_WORDS:
        return None
    if word == "INTERVAL":
        return read_interval(text, position, start)
    following = scan(text, position)
    if word in ("DATE", "TIMESTAMP"):
        if following.lastgroup not in ("string", "raw"):
            return None
        from ruledex.language.build import time_literal

        token, at = token_of(following)
        return time_literal(word, read_string(token, text, at), text, start), following.end()
    closing = scan(text, following.end()) if following["sign"] == "(" else None
    if closing is None or closing["sign"] != ")":
        return None
    return Moment(is_date=_CLOCKS[word.lower()]), closing.end()


def read_moment(text: str, start: int, end: int) -> Item:
    """Return what a part of a text is. Errors have their positions in the whole text."""
    from ruledex.language.parser import parse_item

    try:
        item = parse_item(text[start:end])
    except RuleError as error:
        raise type(error)(error.message, text, start + error.position, error.hint) from None
    if hasattr(item, "weighted"):
        item.position = start  # type: ignore[union-attr]  # a constant
    return item


def read_opening(name: str, text: str, opening: re.Match[str]) -> tuple[str, int]:
    """Return the function of a name before a parenthesis, and where its first argument begins."""
    if name.lower() != "extract":
        return name, opening.end()
    match = _EXTRACT.match(text, opening.end())
    if match is None:
        raise RuleSyntaxError("extract takes a part and a time", text, opening.end(), "write extract(year FROM x)")
    return f"extract {match[1]}", match.end()


def end_of_moment(text: str, first: re.Match[str]) -> int | None:
    """Return where the expression ends whose first token this is; None if it is not one that counts from now.

    It ends before a comma, a parenthesis that was opened before it, AND, OR, and the end of the text.
    """
    word = (first["word"] or "").lower()
    if word not in _MOMENT_WORDS or (word != "interval" and scan(text, first.end())["sign"] != "("):
        return None
    position, depth = first.end(), 0
    while True:
        match = scan(text, position)
        sign = match["sign"]
        if match.lastgroup == "end" or (depth == 0 and (sign in (",", ")") or (match["word"] or "").upper() in _ENDS)):
            return position
        depth += (sign == "(") - (sign == ")")
        position = match.end()


# What calls mean.


def is_of_time(name: str, items: Sequence[Item]) -> bool:
    """Return whether a call of items needs `call`."""
    if name.startswith("extract ") or name.lower() in ("date_part", *_CLOCKS):
        return True
    return any(isinstance(_value(item), Moment | Interval) for item in items)


def time_call(name: str, items: Sequence[Item], text: str, position: int) -> tuple[str, Sequence[Item]] | Constant:
    """Return a constant, or the function and the items that are called instead."""
    from ruledex.language.build import Constant

    name = name.lower()
    if name in _CLOCKS:
        if items:
            raise RuleSyntaxError(f"{name}() takes no arguments", text, position)
        return Constant(Moment(is_date=_CLOCKS[name]), 1.0, False, position)
    if name.startswith("extract "):
        name, items = "date_part", [Constant(name.removeprefix("extract "), 1.0, False, position), *items]
    if name == "date_part" and len(items) == 2 and isinstance(items[0], Constant):
        part = items[0].value
        function = FUNCTION_OF_PART.get(part.lower()) if isinstance(part, str) else None
        if function is not None:
            name, items = function, items[1:]
    left, right = (items[0], items[1]) if len(items) == 2 else (None, None)
    if name in ("+", "-") and left is not None and right is not None:
        if name == "+" and _interval_of(left) is not None:
            left, right = right, left
        interval = _interval_of(right)
        if interval is None and isinstance(_value(left), Moment):
            interval = _days_of(left, right)
        if interval is not None:
            return _sum(left, right, interval if name == "+" else interval.negated(), text, position)
        if type(_value(right)) is int and isinstance(_value(left), Moment):
            raise RuleTypeError("a time and a number have no sum", text, position, "write now() - INTERVAL 1 DAY")
        if name == "-" and (isinstance(_value(left), Moment) or isinstance(_value(right), Moment)):
            hint = "write x < now() - INTERVAL 1 DAY, or datediff(now(), x) > 1"
            raise RuleTypeError("times are not subtracted from each other", text, position, hint)
    elif name in _OF_DATES and items and isinstance(_value(items[0]), Moment):
        folded = _folded(name, items)
        if folded is not None:
            return Constant(folded, 1.0, False, position)
    for item in items:
        if _interval_of(item) is not None and name != "add_interval":
            raise RuleTypeError(f"{name} takes no interval", text, position, "add it to a time: x + INTERVAL 1 DAY")
    return name, list(map(as_operand, items))


def _interval_of(item: Item) -> Interval | None:
    value = _value(item)
    return value if isinstance(value, Interval) else None


def _value(item: Item) -> Value | None:
    """Return the value of a constant. Predicates have values too, and are none."""
    return getattr(item, "value", None) if hasattr(item, "weighted") else None


def as_operand(item: Item) -> Item:
    """Return a moment as a function, and any other item as it is."""
    value = _value(item)
    return operand_of(value) if isinstance(value, Moment) else item


def _days_of(left: Item, right: Item) -> Interval | None:
    """Return the interval of `current_date() + 7`."""
    moment, days = _value(left), _value(right)
    if isinstance(moment, Moment) and moment.is_date and type(days) is int and abs(days) < 2**31:
        return Interval(microseconds=days * MICROSECONDS_PER_DAY, is_days=True)
    return None


def _sum(
    left: Item, right: Item, interval: Interval, text: str, position: int
) -> tuple[str, Sequence[Item]] | Constant:
    from ruledex.language.build import Constant

    if _interval_of(left) is not None:
        raise RuleTypeError("an interval is added to a time", text, position, "write x + INTERVAL 1 DAY")
    assert isinstance(right, Constant)
    if not isinstance(left, Constant):
        if right.weighted:
            raise RuleSyntaxError("an interval takes no weight here", text, right.position)
        return "add_interval", [left, Constant(interval, 1.0, False, right.position)]
    if left.weighted:
        raise RuleSyntaxError("an argument takes no weight", text, left.position)
    value = left.value
    if isinstance(value, Moment):
        folded = plus(value, interval)
        if folded is not None:
            return Constant(folded, right.weight, right.weighted, left.position)
        operand: Item = operand_of(value)
    elif type(value) is date and interval.keeps_dates:
        from ruledex.language.clock import add_interval  # a date needs no zone

        return Constant(add_interval(value, interval, None), right.weight, right.weighted, left.position)  # type: ignore[arg-type]
    else:
        operand = left
    if right.weighted:
        raise RuleSyntaxError("an interval takes no weight here", text, right.position)
    return "add_interval", [operand, Constant(interval, 1.0, False, right.position)]


def _folded(name: str, items: Sequence[Item]) -> Moment | None:
    moment = _value(items[0])
    assert isinstance(moment, Moment)
    if name == "date":
        return _date_of(moment) if len(items) == 1 else None
    amount = _value(items[1]) if len(items) == 2 else None
    start = _date_of(moment)
    if start is None or type(amount) is not int or abs(amount) >= 2**31:
        return None
    if name == "add_months":
        return plus(start, Interval(months=amount))
    days = amount if name == "date_add" else -amount
    return plus(start, Interval(microseconds=days * MICROSECONDS_PER_DAY, is_days=True))


def cast_item(value: Interval | Moment, name: str, text: str, position: int) -> Item:
    """Return a moment that is to be cast to a type: as a constant if it has this type, else as a function."""
    from ruledex.language.build import Constant

    if isinstance(value, Interval):
        raise RuleTypeError("an interval is not cast", text, position, "add it to a time: x + INTERVAL 1 DAY")
    found = _date_of(value) if name == "date" else value if name == "timestamp" and not value.is_date else None
    return operand_of(value) if found is None else Constant(found, 1.0, False, position)


def _date_of(moment: Moment) -> Moment | None:
    """Return the day of a moment, if it is counted from today."""
    if moment.is_date:
        return moment
    return None if moment.microseconds or moment.months else Moment(is_date=True)


def plus(moment: Moment, interval: Interval) -> Moment | None:
    """Return a moment plus an interval as a moment; None if that takes more than months and then the rest.

    One after the other, two intervals are not always their sum: the months that come first may end on another day, and
    the days at another hour.
    """
    months, microseconds, is_date = moment.months, moment.microseconds, moment.is_date
    if interval.months:
        if months or microseconds or abs(interval.months) > _MOST_MONTHS:
            return None
        return Moment(interval.months, 0, is_date)
    if not interval.microseconds:
        return moment
    if is_date:
        days = microseconds + interval.microseconds
        is_short = abs(days) <= _MOST_MONTHS * 31 * MICROSECONDS_PER_DAY
        return Moment(months, days, True) if interval.is_days and is_short else None
    return None if microseconds else Moment(months, interval.microseconds, False)


def operand_of(moment: Moment) -> Operand:
    """Return a moment as a function without attributes."""
    made = Call("current_date" if moment.is_date else "current_timestamp", ())
    for interval in moment.steps():
        made = Call("add_interval", (made, interval))
    return made


def moments_of(predicate: Predicate) -> list[Moment]:
    """Return the moments with which a predicate compares."""
    values: tuple[Value, ...] = ()
    match predicate:
        case Compare(_, _, value) | NullSafe(_, value):
            values = (value,)
        case Between(_, low, high):
            values = (low, high)
        case In(_, listed):
            values = listed
    return [value for value in values if isinstance(value, Moment)]


def operand_of_constant(value: Value) -> Operand | Value:
    """Return a moment as a function, and any other constant as it is."""
    return operand_of(value) if isinstance(value, Moment) else value
