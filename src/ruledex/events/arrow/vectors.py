"""Values of one operand for all events of a batch at once, as arrays.

What a function of the language means for one value is said by its Python definition. The functions of vectors give the
same, or say of an event that they cannot tell: such an event is *odd*, and its value is computed by that definition.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import date, datetime, tzinfo
from decimal import Decimal
from enum import Enum, auto
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ruledex.events.arrow.clocks import unsafe_moments, utc_of_wall
from ruledex.events.arrow.columns import Leaves, is_text
from ruledex.events.arrow.decimals import is_narrow_decimal, take_decimals
from ruledex.events.arrow.taking import Array, take
from ruledex.events.arrow.values import day_numbers, is_number, present, take_numbers, timestamp_microseconds
from ruledex.language.value import INT64_MAX, INT64_MIN

Mask: TypeAlias = NDArray[np.bool_]

_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_USUAL_SCALE: Final = 6  # to which decimals of 128 bits are brought if nothing is lost


class UnvectoredError(Exception):
    """There is no vector for an operand: its values are computed one by one."""


class Of(Enum):
    """What the values of a vector are."""

    INTEGER = auto()  # of 64 bits
    DECIMAL = auto()  # integers of 64 bits, divided by 10**scale
    DOUBLE = auto()  # none is NaN
    TEXT = auto()  # an Arrow array of texts, or one text
    BOOLEAN = auto()
    MOMENT = auto()  # microseconds since 1970 in UTC
    DAY = auto()  # days since 1970
    NOTHING = auto()  # all are missing


NUMBERS: Final = frozenset((Of.INTEGER, Of.DECIMAL, Of.DOUBLE))
TIMES: Final = frozenset((Of.MOMENT, Of.DAY))


class Vector(NamedTuple):
    """One value per event, or one for all of them. What stands where a value is missing or odd has no meaning."""

    of: Of
    values: Any
    missing: Mask | None = None
    odd: Mask | None = None
    scale: int = 0
    is_constant: bool = False


NOTHING: Final = Vector(Of.NOTHING, None)


def either(*masks: Mask | None) -> Mask | None:
    """Return where one of the masks is set. None stands for a mask that is set nowhere."""
    joined: Mask | None = None
    for mask in masks:
        if mask is not None:
            joined = mask if joined is None else joined | mask
    return joined


def mask_of(is_set: Any) -> Mask | None:
    """Return a mask, or None if it is set nowhere."""
    return is_set if np.any(is_set) else None


def vector_of_constant(value: Any) -> Vector:
    """Return a constant of a rule. Raises UnvectoredError if no vector has such values."""
    if isinstance(value, bool):
        return Vector(Of.BOOLEAN, np.array(value), is_constant=True)
    if isinstance(value, int) and INT64_MIN <= value <= INT64_MAX:
        return Vector(Of.INTEGER, np.array(value, np.int64), is_constant=True)
    if isinstance(value, float) and value == value:
        return Vector(Of.DOUBLE, np.array(value, np.float64), is_constant=True)
    if isinstance(value, str):
        return Vector(Of.TEXT, value, is_constant=True)
    if isinstance(value, Decimal) and value.is_finite():
        _, _, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        scale = max(0, -exponent)
        if scale <= 18 and value.adjusted() + scale <= 17:
            return Vector(Of.DECIMAL, np.array(int(value.scaleb(scale)), np.int64), None, None, scale, is_constant=True)
    if isinstance(value, date) and not isinstance(value, datetime):
        return Vector(Of.DAY, np.array(value.toordinal() - _EPOCH_DAY, np.int64), is_constant=True)
    raise UnvectoredError


def _decoded(array: pa.DictionaryArray) -> pa.Array:
    """Return the values that a dictionary stands for. Arrow cannot take views of texts by their places."""
    values = array.dictionary
    if pa.types.is_string_view(values.type):
        values = values.cast(pa.large_string())
    return values.take(array.indices)


def vector_of_leaves(leaves: Leaves, n_events: int, zone: tzinfo) -> Vector:
    """Return the values on a path. Raises UnvectoredError if an event may have several, or if their type has none."""
    if leaves.events is not None and leaves.nulls is not None:
        raise UnvectoredError
    array = leaves.values
    if pa.types.is_dictionary(array.type):
        array = _decoded(array)
    kind = array.type
    if pa.types.is_null(kind):
        return NOTHING
    if is_text(kind):
        return _texts(array, leaves.events, n_events)
    if is_number(kind):
        places, numbers = take_numbers(array)
        of = Of.DOUBLE if numbers.dtype.kind == "f" else Of.INTEGER
        values, missing = _spread(numbers, places, leaves.events, n_events)
        is_wrapped = mask_of(values < 0) if pa.types.is_uint64(kind) else None
        return Vector(of, values, missing, is_wrapped)
    if is_narrow_decimal(kind):
        return _decimals(array, leaves.events, n_events)
    places = present(array)
    if pa.types.is_boolean(kind):
        given = pc.fill_null(array, False).to_numpy(zero_copy_only=False)[places]
        return Vector(Of.BOOLEAN, *_spread(given, places, leaves.events, n_events))
    if pa.types.is_timestamp(kind):
        moments = timestamp_microseconds(array, places, zone)
        if kind.tz is None:
            moments = utc_of_wall(moments, zone)
        values, missing = _spread(moments, places, leaves.events, n_events)
        return Vector(Of.MOMENT, values, missing, unsafe_moments(values))
    if pa.types.is_date(kind):
        return Vector(Of.DAY, *_spread(day_numbers(array, places), places, leaves.events, n_events))
    raise UnvectoredError


def _spread(
    given: NDArray[Any], places: NDArray[np.int64], events: NDArray[np.int64] | None, n_events: int
) -> tuple[NDArray[Any], Mask | None]:
    """Return one value per event, and which events have none."""
    if len(places) == n_events and events is None:
        return given, None
    owners = places if events is None else events[places]
    values, missing = np.zeros(n_events, given.dtype), np.ones(n_events, np.bool_)
    values[owners], missing[owners] = given, False
    return values, missing


def _decimals(array: Array, events: NDArray[np.int64] | None, n_events: int) -> Vector:
    places = present(array)
    found = take_decimals(array, places)
    if found.high is not None and found.scale > _USUAL_SCALE:
        with suppress(pa.ArrowInvalid):  # digits would be lost
            found = take_decimals(array.cast(pa.decimal128(38, _USUAL_SCALE)), places)
    odd = None
    if found.high is not None:
        odd, _ = _spread(found.high != found.low >> 63, places, events, n_events)
    return Vector(Of.DECIMAL, *_spread(found.low, places, events, n_events), odd, found.scale)


def _texts(array: Array, events: NDArray[np.int64] | None, n_events: int) -> Vector:
    if pa.types.is_string_view(array.type):
        array = array.cast(pa.large_string())
    if not pc.all(pc.string_is_ascii(array), min_count=0).as_py():
        large = pa.types.is_large_string(array.type)
        try:  # the errors of texts that are not UTF-8 are those of single values
            array.cast(pa.large_binary() if large else pa.binary()).cast(array.type)
        except pa.ArrowInvalid:
            raise UnvectoredError from None
    if events is not None:
        places = np.full(n_events, -1)
        places[events] = np.arange(len(array))
        array = take(array, places)
    return text_vector(array)


def text_vector(array: Array, odd: Mask | None = None) -> Vector:
    """Return an array of texts as a vector."""
    missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    return Vector(Of.TEXT, array, missing, odd)
