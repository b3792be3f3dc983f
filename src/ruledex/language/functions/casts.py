"""Conversions: CAST(x AS type), with the results of Spark's try_cast. What cannot be converted is unknown.

language/operand_syntax.py reads the syntax. Each target is a function of its own (`cast_int`), so that a cast is a
derived attribute as any other function is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

from ruledex.language.functions.arithmetic import DECIMAL_DIGITS, as_decimal, as_integer, truncated
from ruledex.language.functions.signature import Constants, Function, Parameter
from ruledex.language.functions.text import INT32_MAX, INT32_MIN
from ruledex.language.functions.time_texts import BLANKS, read_day, read_time_text
from ruledex.language.tree import Value
from ruledex.language.value import Family, as_double, instant, localize

PREFIX: Final = "cast_"
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,40}", re.ASCII)
_DOUBLE: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?", re.ASCII)
_HEXADECIMAL: Final = re.compile(r"[+-]?0[xX][0-9A-Fa-f]*\.?[0-9A-Fa-f]*[pP][+-]?[0-9]+[fFdD]?", re.ASCII)
_DECIMAL: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,9})?")  # digits of any script, as in Java
_NAMED_DOUBLES: Final = dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), math.inf) | dict.fromkeys(
    ("-inf", "-infinity"), -math.inf
)
_JAVA_BLANKS: Final = "".join(map(chr, range(33)))
_TRUE: Final = frozenset(("t", "true", "y", "yes", "1"))
_FALSE: Final = frozenset(("f", "false", "n", "no", "0"))
_WIDE: Final = Context(prec=400)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = 1_000_000  # microseconds
_LONGEST_NUMBER: Final = 1000  # characters: no longer text is read as a number


def cast_to_bigint(value: Value, *, zone: tzinfo) -> int | None:
    """Return a value as a whole number of 64 bits: of a time, the seconds since 1970."""
    if isinstance(value, str):
        text = value.strip(BLANKS)
        return as_integer(int(text)) if _WHOLE.fullmatch(text) else None
    if isinstance(value, datetime):
        return instant(value, zone) // _SECOND
    return truncated(value) if isinstance(value, int | float | Decimal) else None


def cast_to_int(value: Value, *, zone: tzinfo) -> int | None:
    """Return a value as a whole number of 32 bits."""
    found = cast_to_bigint(value, zone=zone)
    return found if found is not None and INT32_MIN <= found <= INT32_MAX else None


def cast_to_double(value: Value, *, zone: tzinfo) -> float | None:
    """Return a value as a double: of a time, the seconds since 1970."""
    if isinstance(value, str):
        return _read_double(value.strip(_JAVA_BLANKS))
    if isinstance(value, datetime):
        return instant(value, zone) / _SECOND
    return as_double(value) if isinstance(value, int | float | Decimal) else None


def _read_double(text: str) -> float | None:
    if len(text) > _LONGEST_NUMBER:
        return None
    if _DOUBLE.fullmatch(text):
        return float(text.rstrip("fFdD"))
    if _HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(text.rstrip("fFdD") if text[-1] in "fFdD" else text)
        except OverflowError:
            return -math.inf if text[0] == "-" else math.inf
        except ValueError:
            return None
    return _NAMED_DOUBLES.get(text.lower())


def cast_to_decimal(value: Value, precision: int, scale: int, *, zone: tzinfo) -> Decimal | None:
    """Return a value as a decimal of so many digits, rounded half away from zero to those after the point."""
    if isinstance(value, str):
        text = value.strip(_JAVA_BLANKS)
        number = Decimal(text) if len(text) <= _LONGEST_NUMBER and _DECIMAL.fullmatch(text) else None
    elif isinstance(value, float):
        number = Decimal(repr(value)) if math.isfinite(value) else None
    elif isinstance(value, datetime):
        number = Decimal(repr(instant(value, zone) / _SECOND))
    elif isinstance(value, Decimal):
        number = as_decimal(value)
    else:
        number = Decimal(value) if isinstance(value, int) else None
    if number is None or (number and number.adjusted() >= precision - scale):
        return None
    if number.adjusted() < -scale - 1:
        number = Decimal(0)  # so small that its digits are not worth writing out
    rounded = number.quantize(Decimal((0, (1,), -scale)), rounding=ROUND_HALF_UP, context=_WIDE)
    if not rounded:
        return abs(rounded)  # zero has no sign
    return None if rounded.adjusted() >= precision - scale else rounded


def _check_decimal(constants: Constants) -> str | None:
    precision, scale = constants[1:]
    if not isinstance(precision, int) or not isinstance(scale, int) or not 1 <= precision <= DECIMAL_DIGITS:
        return f"a DECIMAL has from 1 to {DECIMAL_DIGITS} digits: write DECIMAL(10, 2)"
    if not 0 <= scale <= precision:
        return f"a DECIMAL of {precision} digits has from 0 to {precision} of them after the point"
    return None


def cast_to_string(value: Value, *, zone: tzinfo) -> str | None:
    """Return a value as text, in the form that Spark writes it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if as_integer(value) is not None else None
    if isinstance(value, float):
        return java_double(value)
    if isinstance(value, Decimal):
        return None if as_decimal(value) is None else f"{value if value else abs(value):f}"
    if isinstance(value, datetime):
        local = localize(value, zone)
        fraction = f".{local.microsecond:06}".rstrip("0").rstrip(".")
        return f"{local.replace(tzinfo=None, microsecond=0, fold=0).isoformat(sep=' ')}{fraction}"
    return value.isoformat() if isinstance(value, date) else None


def java_double(value: float) -> str:
    """Return a double as Java writes it: 0.001 and 1234567.0 in full, all that is smaller or larger as 1.0E10."""
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    shortest = Decimal(repr(abs(value)))
    if len(shortest.normalize(_WIDE).as_tuple().digits) == 1:
        # Java writes two digits at least, those that come closest: 4.9E-324, where Python has 5e-324.
        two = f"{abs(value):.1e}"
        shortest = Decimal(two) if float(two) == abs(value) else shortest
    digits = "".join(map(str, shortest.as_tuple().digits)).rstrip("0")
    exponent = shortest.adjusted()
    sign = "-" if value < 0 else ""
    if not 1e-3 <= abs(value) < 1e7:
        return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    digits = digits.ljust(exponent + 1, "0")
    return f"{sign}{digits[: exponent + 1]}.{digits[exponent + 1 :] or '0'}"


def cast_to_boolean(value: Value, *, zone: tzinfo) -> bool | None:  # noqa: ARG001  # all casts take it
    """Return a number as whether it is not zero, and a text such as yes or F as what it says."""
    if isinstance(value, str):
        text = value.strip(BLANKS).lower()
        return True if text in _TRUE else False if text in _FALSE else None
    return bool(value) if isinstance(value, int | float | Decimal) else None


def cast_to_date(value: Value, *, zone: tzinfo) -> date | None:
    """Return the day of a time, or the day that a text names."""
    if isinstance(value, str):
        return read_day(value)
    if isinstance(value, datetime):
        return localize(value, zone).date()
    return value if isinstance(value, date) else None


def cast_to_timestamp(value: Value, *, zone: tzinfo) -> datetime | None:
    """Return the midnight of a day, the time that a text names, or the time so many seconds after 1970."""
    if isinstance(value, str):
        moment = read_time_text(value)
        return None if moment is None else localize(moment, zone)
    if isinstance(value, datetime):
        return localize(value, zone)
    if isinstance(value, date):  # whose midnight may be beyond the years 1 to 9999 of UTC
        return _at(instant(value, zone), zone) or datetime(value.year, value.month, value.day, tzinfo=zone)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    if isinstance(value, Decimal):
        return None if as_decimal(value) is None else _at(int(_WIDE.multiply(value, Decimal(_SECOND))), zone)
    microseconds = truncated(value * _SECOND)
    return None if microseconds is None else _at(microseconds, zone)


def _at(microseconds: int, zone: tzinfo) -> datetime | None:
    try:
        return localize(_EPOCH + timedelta(microseconds=microseconds), zone)
    except OverflowError:  # beyond the years 1 to 9999
        return None


def fold_cast(function: Function, value: Value, *sizes: int) -> Value | None:
    """Return the cast of a constant. A text without a zone stays a time without one. Raises ValueError for a time."""
    if isinstance(value, datetime):
        raise ValueError("a time is cast by the zone of the index: cast an attribute")
    if function.name == "cast_timestamp":
        if isinstance(value, str):
            return read_time_text(value)
        if isinstance(value, date):
            return datetime(value.year, value.month, value.day)
    result = function.call(value, *sizes, zone=UTC)
    assert not isinstance(result, tuple)
    return None if isinstance(result, float) and math.isnan(result) else result


_ANY: Final = Parameter("x", Family.ANY)


def _cast(target: str, result: Family, call: Callable[..., Value | None], summary: str, example: str) -> Function:
    return Function(
        name=f"{PREFIX}{target}",
        parameters=(_ANY,),
        result=result,
        call=call,
        summary=f"{summary} Written `CAST(x AS {target.upper()})`, `try_cast` or `x::{target.upper()}`.",
        example=example,
        spark=f"try_cast({{0}} as {target})",
        zoned=True,
    )


FUNCTIONS: tuple[Function, ...] = (
    _cast(
        "int",
        Family.NUMBER,
        cast_to_int,
        "The whole number of 32 bits that a value is or a string names; a fraction of a number is cut off, a string "
        "with one is unknown.",
        "CAST(code AS INT) > 400",
    ),
    _cast(
        "bigint",
        Family.NUMBER,
        cast_to_bigint,
        "The same with 64 bits; of a time, the seconds since 1970.",
        "id::BIGINT < 9",
    ),
    _cast(
        "double",
        Family.NUMBER,
        cast_to_double,
        "The double that a value is or a string names; of a time, the seconds since 1970.",
        "CAST(price AS DOUBLE) >= 9.5",
    ),
    Function(
        name=f"{PREFIX}decimal",
        parameters=(
            _ANY,
            Parameter("precision", Family.NUMBER, literal=True, default=10),
            Parameter("scale", Family.NUMBER, literal=True, default=0),
        ),
        result=Family.NUMBER,
        call=cast_to_decimal,
        summary="The decimal of so many digits, and so many of them after the point, that a value is or a string "
        "names; unknown if it has more. Written `CAST(x AS DECIMAL(10, 2))`.",
        example="CAST(amount AS DECIMAL(10, 2)) = 0.30",
        spark="try_cast({0} as decimal({1}, {2}))",
        zoned=True,
        check=_check_decimal,
    ),
    _cast(
        "string",
        Family.STRING,
        cast_to_string,
        "The text of a value, as Spark writes it: a double as `1.0E10`, a time in the zone of the index.",
        "CAST(code AS STRING) LIKE '4%'",
    ),
    _cast(
        "boolean",
        Family.BOOLEAN,
        cast_to_boolean,
        "Whether a number is not zero, or what a string such as `yes`, `T` or `0` says.",
        "CAST(consent AS BOOLEAN)",
    ),
    _cast(
        "date",
        Family.TIME,
        cast_to_date,
        "The day of a time, or the one that a string such as `2024-1-5` names.",
        "CAST(born AS DATE) < DATE '2000-01-01'",
    ),
    _cast(
        "timestamp",
        Family.TIME,
        cast_to_timestamp,
        "The time that a string names, or so many seconds after 1970.",
        "CAST(at AS TIMESTAMP) > TIMESTAMP '2024-01-01 00:00:00'",
    ),
)
ALIASES: Final = {
    target: f"{PREFIX}{target}" for target in ("int", "bigint", "double", "decimal", "string", "boolean", "timestamp")
}
