"""Turns what Python programs hold into the values that rules are about.

A rule tests booleans, numbers, texts, dates and times. An event may hold them as NumPy scalars, members of enums,
objects of a user's own class and so on. `plain` turns each into a plain value, by its type alone:

    subclasses of int, float, str, Decimal, date and datetime    the value of the base type
    members of enums                                             their value
    NumPy's and Arrow's scalars, pandas' times                   the Python value; times are cut to microseconds
    NaT, NA, the masked value                                    None
    UUIDs, IP addresses and networks, pandas' periods            their text
    sets, deques, arrays and series                              a list, which stands for several values
    dataclasses, pydantic, attrs, msgspec objects, namedtuples   a mapping of their fields

All else is `Untyped`: present, but no rule can name it. No library is imported for this.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any, Final
from uuid import UUID

from ruledex.errors import RuledexWarning, one_line, quoted
from ruledex.language.value_types import MavenVersion, Network, Version

SCALARS: Final = frozenset((str, int, float, bool, type(None), Decimal, date, datetime, Version, MavenVersion, Network))
PLAIN: Final = SCALARS | {dict, list, tuple}
Reader = Callable[[Any], Any]

_MOST_KINDS: Final = 1_000  # types whose reader is kept
_MOST_TOLD: Final = 1_000  # warnings


class Untyped:
    """A value that is present, but that no rule can name."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return quoted(self.value)


def plain(value: Any) -> Any:
    """Return a value as a scalar, a list or tuple, a mapping, or `Untyped`. What these contain is not converted."""
    kind = type(value)
    if kind in PLAIN:
        return value
    read = _readers.get(kind)
    if read is None:
        read = _reader_of(kind)
        if len(_readers) >= _MOST_KINDS:
            _readers.clear()
        _readers[kind] = read
    return read(value)


def plain_leaves(value: Any, path: tuple[str, ...]) -> Any:
    """Return what is at the end of a path, as `plain` does, with the elements of a list plain too.

    A value that is `Untyped` is named in a warning, once for its type and the path.
    """
    value = plain(value)
    if isinstance(value, list | tuple):
        for element in value:
            if type(element) not in PLAIN:
                return [_told(plain(element), path) for element in value]
        return value
    return _told(value, path)


def is_record(value: Any) -> bool:
    """Return whether a value is a mapping, or an object with named fields such as a dataclass's."""
    kind = type(value)
    return issubclass(kind, Mapping) or (kind not in PLAIN and _fields_reader_of(kind) is not None)


_readers: dict[type, Reader] = {}


def _reader_of(kind: type) -> Reader:
    """Return what reads values of a type. It asks the type alone: an object may raise at any question."""
    library = str(getattr(kind, "__module__", "")).partition(".")[0]
    if (library, kind.__name__) in _NULLS:
        return _read_null
    if issubclass(kind, Enum) and not issubclass(kind, int | str | float):
        return lambda value: plain(value._value_)
    if issubclass(kind, Mapping) or kind is Untyped:
        return _read_same
    for base, read in _BASES:
        if issubclass(kind, base):
            return read
    if (read_fields := _fields_reader_of(kind)) is not None:
        return read_fields
    if issubclass(kind, list | tuple | Set) or (issubclass(kind, Sequence) and not issubclass(kind, _BYTES)):
        return list
    return _LIBRARIES.get(library, _no_reader)(kind) or Untyped


def _no_reader(_: type) -> None:
    return None


def _read_null(_: Any) -> None:
    return None


def _read_same(value: Any) -> Any:
    return value


def _read_datetime(value: Any) -> datetime:
    """Return a time of a subclass. One beyond the years 1 to 9999, which pandas has, is the first or last moment."""
    year = value.year
    if not 1 <= year <= 9999:
        return (datetime.min if year < 1 else datetime.max).replace(tzinfo=value.tzinfo)
    clock = (value.hour, value.minute, value.second, value.microsecond)
    return datetime(year, value.month, value.day, *clock, tzinfo=value.tzinfo, fold=value.fold)


_NULLS: Final = {("pandas", "NAType"), ("pandas", "NaTType"), ("numpy", "MaskedConstant")}
_BYTES: Final = (bytes, bytearray, memoryview)
_BASES: Final[tuple[tuple[type | tuple[type, ...], Reader], ...]] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    (Decimal, Decimal),
    (datetime, _read_datetime),
    (date, lambda value: date(value.year, value.month, value.day)),
    ((UUID, IPv4Address, IPv6Address, IPv4Network, IPv6Network), str),
)


# Objects with fields.


def _fields_reader_of(kind: type) -> Reader | None:
    """Return what reads objects with named fields as mappings, or None if a type has none."""
    if hasattr(kind, "__dataclass_fields__"):
        return _fields_reader(tuple(kind.__dataclass_fields__))
    if hasattr(kind, "__attrs_attrs__"):
        return _fields_reader(tuple(attribute.name for attribute in kind.__attrs_attrs__))
    if hasattr(kind, "__struct_fields__"):  # msgspec
        return _fields_reader(tuple(kind.__struct_fields__))
    if hasattr(kind, "__pydantic_fields__"):
        return _pydantic_reader(kind)
    if issubclass(kind, tuple) and not kind.__module__.startswith("pyarrow"):
        if hasattr(kind, "_fields"):
            return lambda value: dict(zip(kind._fields, value, strict=True))
        if kind.__name__ == "Row" and hasattr(kind, "asDict"):  # Spark's
            return lambda value: dict(zip(value.__fields__, value, strict=True))
    return None


def _fields_reader(names: tuple[str, ...]) -> Reader:
    # A field may have no value yet.
    return lambda value: {name: getattr(value, name, None) for name in names}


def _pydantic_reader(kind: Any) -> Reader:
    names = (*kind.__pydantic_fields__, *getattr(kind, "__pydantic_computed_fields__", ()))
    read = _fields_reader(names)
    return lambda value: read(value) | (getattr(value, "__pydantic_extra__", None) or {})


# What libraries have.


def _numpy_reader(kind: type) -> Reader | None:
    bases = {f"{base.__module__}.{base.__name__}" for base in kind.__mro__}
    if "numpy.ndarray" in bases:
        return _read_array
    if "numpy.datetime64" in bases:
        return _read_datetime64
    if "numpy.timedelta64" in bases:
        return lambda value: None if value != value else Untyped(value)  # only NaT differs from itself
    if "numpy.void" in bases:
        return lambda value: {n: value[n] for n in value.dtype.names} if value.dtype.names else Untyped(value)
    if "numpy.floating" in bases:
        return float
    return (lambda value: value.item()) if bases & {"numpy.integer", "numpy.bool", "numpy.bool_"} else None


def _read_array(value: Any) -> Any:
    """Return the elements of an array, or the element of one without dimensions."""
    if value.ndim == 0:
        return plain(value[()])
    # tolist() makes Python values at once; of times and records it makes integers and tuples.
    return value.tolist() if value.dtype.kind in "biufUO" else list(value)


def _read_datetime64(value: Any) -> date | datetime | None:
    """Return NumPy's time, a date if it has no time of day, within the years 1 to 9999."""
    if value != value:
        return None
    first, last, is_date = datetime.min, datetime.max, value.dtype.str.endswith(("[Y]", "[M]", "[W]", "[D]"))
    year = int(value.astype("datetime64[Y]").astype("int64")) + 1970
    if not 1 <= year <= 9999:
        edge = first if year < 1 else last
        return edge.date() if is_date else edge
    found: date | datetime = value.astype("datetime64[D]" if is_date else "datetime64[us]").item()
    return found


def _pandas_reader(kind: type) -> Reader | None:
    if kind.__name__ == "Period":
        return str
    # A series, an index and what they hold their values in.
    return (lambda value: value.tolist()) if hasattr(kind, "tolist") and hasattr(kind, "__array__") else None


def _pyarrow_reader(kind: type) -> Reader | None:
    if hasattr(kind, "as_py"):
        return lambda value: plain(_arrow_value(value))
    return (lambda value: value.to_pylist()) if hasattr(kind, "to_pylist") and not hasattr(kind, "schema") else None


def _arrow_value(scalar: Any) -> Any:
    return scalar.as_py(maps_as_pydicts="lossy")


def _polars_reader(kind: type) -> Reader | None:
    return (lambda value: value.to_list()) if kind.__name__ == "Series" else None


_LIBRARIES: Final[dict[str, Callable[[type], Reader | None]]] = {
    "numpy": _numpy_reader,
    "pandas": _pandas_reader,
    "polars": _polars_reader,
    "pyarrow": _pyarrow_reader,
}


# Warnings.

_told_of: set[tuple[str, tuple[str, ...]]] = set()


def _told(value: Any, path: tuple[str, ...]) -> Any:
    """Return the value, and warn if it is untyped."""
    if type(value) is Untyped:
        warn_untyped(type_name(type(value.value)), path)
    return value


def warn_untyped(kind: str, path: tuple[str, ...]) -> None:
    """Warn of values of a type at the end of a path, once for both."""
    if (kind, path) in _told_of or len(_told_of) >= _MOST_TOLD:
        return
    _told_of.add((kind, path))
    message = (
        f"{one_line('.'.join(path), 100)} has a value of the type {kind}, which no rule can test but by IS NULL: rules "
        "are about booleans, numbers, texts, dates and times. This is said once per type and attribute"
    )
    warnings.warn(message, RuledexWarning, stacklevel=level_of_caller())


def level_of_caller() -> int:
    """Return how far down the stack the code of the user is, as `warnings` counts it for `warn_untyped`."""
    level, frame = 2, sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "ruledex":
        level, frame = level + 1, frame.f_back
    return level


def type_name(kind: type) -> str:
    """Return the name of a type as messages say it."""
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
