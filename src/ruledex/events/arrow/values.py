"""Read the values of one Arrow array: which are present, as numbers in NumPy, and distinct ones as Python values."""

from __future__ import annotations

from datetime import UTC, date, datetime, tzinfo
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.errors import EventError
from ruledex.events.arrow.buffers import BYTE, bitmap_of, take_doubles, take_integers, there, view_buffer
from ruledex.events.arrow.clocks import FIRST_MOMENT, LAST_MOMENT, moments_of_years, time_at_end
from ruledex.events.arrow.columns import is_text
from ruledex.events.arrow.taking import Array

OPAQUE: Final[dict[str, Any]] = {}  # a value that no rule can name, such as a struct

_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_MILLISECONDS_PER_DAY: Final = 86_400_000
_NUMBERS: Final = {
    kind.id: np.dtype(kind.to_pandas_dtype())
    for kind in (
        *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        *(pa.float16(), pa.float32(), pa.float64()),
    )
}
_TIMES: Final = {
    pa.date32().id: np.dtype(np.int32),
    pa.date64().id: np.dtype(np.int64),
    pa.timestamp("us").id: np.dtype(np.int64),
}
_WIDTHS: Final = _NUMBERS | _TIMES
_SPARK_TYPES: Final = {
    **{kind.id: "int" for kind in (pa.int8(), pa.int16(), pa.int32())},
    **{kind.id: "float" for kind in (pa.float16(), pa.float32())},
}
_NO_BITMAP: Final = np.frombuffer(b"", np.uint8)
_NO_SINGLES: Final = np.frombuffer(b"", np.float32)
_NO_DOUBLES: Final = np.frombuffer(b"", np.float64)
_UNITS_PER_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


class Distinct(NamedTuple):
    """Values by their codes."""

    codes: NDArray[np.int64]  # one per value; -1 for null
    values: Array  # by code, not necessarily all different; null may be among them


def present(array: Array) -> NDArray[np.int64]:
    """Return the places of the values that are neither null nor NaN."""
    return take_numbers(array)[0] if pa.types.is_floating(array.type) else there(array)


def numbers(array: Array) -> NDArray[Any]:
    """Return the values of an array as they lie in its buffer. What stands in place of a null has no meaning."""
    return view_buffer(array.buffers()[1], _WIDTHS[array.type.id], array.offset, len(array))


def is_number(kind: Any) -> bool:
    """Whether a type is an integer or floating type."""
    return kind.id in _NUMBERS


def spark_type_of(kind: Any) -> str:
    """Return Spark's name for the type of a column of numbers, or "" if a number by itself says enough."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return _SPARK_TYPES.get(kind.id, "")


def take_numbers(array: Array) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the places of the numbers that are neither null nor NaN, and the numbers, with 64 bits each.

    Unsigned integers that are too large for a signed one of 64 bits become negative.
    """
    length, offset = len(array), array.offset
    n_there = length - array.null_count
    places = np.empty(n_there, np.int64)
    if n_there == 0:
        return places, np.empty(0, np.int64)
    bitmap = _NO_BITMAP if n_there == length else bitmap_of(array)
    width = _NUMBERS[array.type.id]
    if width.kind != "f":
        size = width.itemsize
        data = view_buffer(array.buffers()[1], BYTE, offset * size, length * size)
        integers = np.empty(n_there, np.int64)
        take_integers(bitmap, offset, length, data, size, width.kind == "i", places, integers)
        return places, integers
    given = numbers(array)
    if width.itemsize < 4:
        given = given.astype(np.float32)
        given.flags.writeable = False
    singles, doubles = (_NO_SINGLES, given) if width.itemsize == 8 else (given, _NO_DOUBLES)
    out = np.empty(n_there, np.float64)
    n_taken = take_doubles(bitmap, offset, length, singles, doubles, places, out)
    return places[:n_taken], out[:n_taken]


def distinct(array: Array) -> Distinct:
    """Return the distinct values of an array of scalars."""
    kind = array.type
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        array = array.cast(pa.decimal128(kind.precision, kind.scale))
    if not pa.types.is_dictionary(kind):
        try:
            array = array.dictionary_encode()
        except pa.ArrowNotImplementedError:
            raise EventError(f"values of the Arrow type {kind} cannot be read") from None
    places = there(array.indices)
    codes = np.full(len(array), -1)
    codes[places] = numbers(array.indices)[places]
    values = array.dictionary
    if pa.types.is_string_view(values.type):
        values = values.cast(pa.large_string())
    if len(values) > len(array) and not pa.types.is_binary_view(values.type):
        used, codes[places] = np.unique(codes[places], return_inverse=True)  # only what is used here
        values = values.take(pa.array(used))
    return Distinct(codes, values)


def to_python(values: Array, zone: tzinfo = UTC) -> list[Any]:
    """Return scalars as Python values. Times are cut as `timestamp_microseconds` does."""
    kind = values.type
    if pa.types.is_timestamp(kind):
        return _times(values, zone)
    if pa.types.is_date(kind):
        return _dates(values)
    try:
        listed: list[Any] = values.to_pylist()
    except UnicodeDecodeError as error:
        raise EventError(f"a text is not UTF-8: {error}") from None
    return listed


def _times(values: Array, zone: tzinfo) -> list[datetime | None]:
    places = there(values)
    moments = np.zeros(len(values), np.int64)
    moments[places] = timestamp_microseconds(values, places, zone)
    near = np.clip(moments, FIRST_MOMENT, LAST_MOMENT)
    kind = pa.timestamp("us", "UTC" if values.type.tz else None)
    times: list[datetime | None] = pa.array(near, kind, mask=_mask(len(values), places)).to_pylist()
    for place in np.flatnonzero(near != moments).tolist():
        times[place] = time_at_end(int(moments[place]), zone)
    return times


def _mask(length: int, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    mask = np.ones(length, np.bool_)
    mask[places] = False
    return mask


def _dates(values: Array) -> list[date | None]:
    places = there(values)
    dates: list[date | None] = [None] * len(values)
    for place, day in zip(places.tolist(), day_numbers(values, places).tolist(), strict=True):
        dates[place] = date.fromordinal(_EPOCH_DAY + day)
    return dates


def day_numbers(values: Array, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return some dates as days since 1970. A date outside the years 1 to 9999 becomes their first or last day."""
    days: NDArray[np.int64] = numbers(values)[places].astype(np.int64)
    if pa.types.is_date64(values.type):
        days //= _MILLISECONDS_PER_DAY
    return np.clip(days, date.min.toordinal() - _EPOCH_DAY, date.max.toordinal() - _EPOCH_DAY)


def timestamp_microseconds(array: Array, places: NDArray[np.int64], zone: tzinfo = UTC) -> NDArray[np.int64]:
    """Return some timestamps as microseconds since 1970, of a local clock if their type has no zone.

    Finer units are cut off. A time outside the years 1 to 9999, the range of Python, becomes their first or last
    moment. The last hours of these years by the clock of the index's zone may be in the year 10,000 of UTC.
    """
    first, last = (FIRST_MOMENT, LAST_MOMENT) if array.type.tz is None else moments_of_years(zone)
    moments: NDArray[np.int64] = numbers(array)[places]
    per_second = _UNITS_PER_SECOND[array.type.unit]
    if per_second > 1_000_000:
        moments = moments // (per_second // 1_000_000)
    elif per_second < 1_000_000:
        factor = 1_000_000 // per_second
        moments = np.clip(moments, -(-first // factor), last // factor) * factor
    return np.clip(moments, first, last)


def is_nameless(kind: Any) -> bool:
    """Whether no rule can name values of a type: a rule can only ask whether they are present."""
    return not (
        pa.types.is_boolean(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_date(kind)
        or pa.types.is_timestamp(kind)
        or pa.types.is_null(kind)
        or is_text(kind)
    )
