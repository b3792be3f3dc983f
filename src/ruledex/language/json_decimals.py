"""Reads JSON with its numbers as decimals, exactly as they are written: 0.1 is one tenth.

0.1, 1.50, 2e3        the decimals 0.1, 1.50 and 2000
5                     the integer 5; a decimal if it does not fit 64 bits
more than 38 digits   a double, as without this option, since a decimal has at most 38
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sized
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from ruledex.errors import EventError
from ruledex.language.scanner import MAX_DIGITS
from ruledex.language.value import INT64_MAX, INT64_MIN

_SHORT: Final = 18  # so many characters of an integer always fit 64 bits


def load_decimals(data: str | bytes | bytearray | memoryview) -> Any:
    """Return the value of a JSON text. Raises orjson's JSONDecodeError for the same texts as orjson does."""
    import orjson  # not needed to read rules

    orjson.loads(data)  # what is valid is decided in one place
    text = data if isinstance(data, str) else bytes(data).decode("utf-8")
    try:
        return json.loads(text, parse_float=read_decimal, parse_int=_read_integer)
    except RecursionError:
        raise EventError("the JSON nests too deep") from None


def read_decimal(digits: str) -> Decimal | float:
    """Return the number of a JSON text with a fraction or an exponent, or of an integer that is too long for one."""
    try:
        number = Decimal(digits)
    except InvalidOperation:  # the exponent is far too large
        return float(digits)
    _, found, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    # Digits before and behind the point, as a decimal without an exponent has them.
    if max(len(found), len(found) + exponent, -exponent) > MAX_DIGITS:
        return float(digits)
    return Decimal(f"{number:f}") if exponent > 0 else number


def _read_integer(digits: str) -> int | Decimal | float:
    if len(digits) <= _SHORT or (len(digits) <= MAX_DIGITS and INT64_MIN <= int(digits) <= INT64_MAX):
        return int(digits)
    return read_decimal(digits)


def decimal_event(event: Any) -> Any:
    """Return a JSON text as its value, with decimals, and any other event as it is."""
    if not isinstance(event, str | bytes | bytearray | memoryview):
        return event
    import orjson

    try:
        return load_decimals(event)
    except orjson.JSONDecodeError as error:
        raise EventError(f"an event is not JSON: {error}") from None


def decimal_events(events: Any) -> Any:
    """Return events with JSON texts read with decimals. A table, and a single event, which is refused later, stay."""
    if isinstance(events, str | bytes) or hasattr(events, "__arrow_c_stream__") or hasattr(events, "__arrow_c_array__"):
        return events
    if not isinstance(events, Iterable):
        return events
    read = map(_numbered, enumerate(events))
    return list(read) if isinstance(events, Sized) else read


def _numbered(event: tuple[int, Any]) -> Any:
    try:
        return decimal_event(event[1])
    except EventError as error:
        raise error.at(event[0]) from None
