"""Functions of what stands at the place of an attribute, whatever it is: present(x) and typeof(x).

Other functions see the values of an attribute. These see null, empty arrays and objects too.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

from ruledex import limits
from ruledex.language.functions.signature import Function, Parameter
from ruledex.language.plain import plain
from ruledex.language.value import Family

_VOID: Final = "void"
_NAMES: Final[dict[type, str]] = {bool: "boolean", int: "bigint", float: "double", str: "string", date: "date"}


def _present(event: Mapping[str, Any], path: tuple[str, ...], _: str) -> bool:
    """Return whether an event has an attribute, be it null or an empty array; of an array's elements, some has it."""
    found: list[Any] = [event]
    for name in path:
        found = [value[name] for value in _objects(found) if name in value]
        if not found:
            return False
    return True


def _objects(values: list[Any]) -> list[Mapping[str, Any]]:
    """Return the mappings among values, with arrays opened, to the depth that the limits allow."""
    opened: list[Any] = [plain(value) for value in values]
    for _ in range(limits.current().event_depth):
        if not any(isinstance(value, list | tuple) for value in opened):
            break
        opened = [
            plain(element) for value in opened for element in (value if isinstance(value, list | tuple) else (value,))
        ]
    return [value for value in opened if isinstance(value, Mapping)]


def type_of(event: Mapping[str, Any], path: tuple[str, ...], number: str) -> str | None:
    """Return Spark's name for the type of what an event has at a path; `number` is that of its numbers, if declared."""
    value: Any = event
    for step, name in enumerate(path):
        value = plain(value)
        if isinstance(value, list | tuple):
            rest = path[step:]
            return _array([type_of(element, rest, number) if _is_object(element) else _VOID for element in value])
        value = value.get(name) if isinstance(value, Mapping) else None
    return _type_name(value, number, limits.current().event_depth)


def _is_object(value: Any) -> bool:
    return isinstance(plain(value), Mapping)


def _array(elements: list[str | None]) -> str | None:
    """Return the type of an array with elements of given types, or None if they have no type in common."""
    kinds = set(elements) - {_VOID}
    if None in kinds or len(kinds) > 1:
        return None
    return f"array<{kinds.pop() if kinds else _VOID}>"


def _type_name(given: Any, number: str, depth: int) -> str | None:
    value = plain(given)
    if value is None or value != value:  # NaN counts as missing
        return _VOID
    if isinstance(value, bool | str):
        return _NAMES[type(value)]
    if isinstance(value, int | float | Decimal) and number:
        return number
    if isinstance(value, Decimal):
        return _decimal_name(value)
    if isinstance(value, datetime):
        return "timestamp"
    if depth and isinstance(value, list | tuple):
        return _array([_type_name(element, number, depth - 1) for element in value])
    if depth and isinstance(value, Mapping):
        fields = [(str(name), _type_name(field, "", depth - 1)) for name, field in value.items()]
        return None if any(kind is None for _, kind in fields) else f"struct<{','.join(map(':'.join, fields))}>"  # type: ignore[arg-type]
    return _NAMES.get(type(value))


def _decimal_name(value: Decimal) -> str | None:
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        return None
    scale = max(0, -exponent)
    return f"decimal({max(value.adjusted() + 1 + scale, scale, 1)},{scale})"


_ATTRIBUTE: Final = Parameter("x", Family.ANY)

FUNCTIONS: tuple[Function, ...] = (
    Function(
        name="present",
        parameters=(_ATTRIBUTE,),
        result=Family.BOOLEAN,
        call=_present,
        summary="Whether the event has the attribute, be it null or an empty array; never unknown. A column of Arrow "
        'or Spark is present in every row, unless the schema has `null_columns = "absent"`.',
        example="present(deleted_at)",
        spark=None,
        of_path=True,
    ),
    Function(
        name="typeof",
        parameters=(_ATTRIBUTE,),
        result=Family.STRING,
        call=type_of,
        summary="Spark's name for the type of the attribute: `string`, `bigint`, `double`, `boolean`, `timestamp`, "
        "`array<bigint>`, `struct<a:string>`; `void` for null and what is missing, unknown for an array of mixed "
        "types.",
        example="typeof(zip) = 'string'",
        spark="typeof({0})",
        of_path=True,
    ),
)
