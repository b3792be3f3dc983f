"""The type that Spark gives an operand, as far as it is known: hash() hashes an INT and a BIGINT differently."""

from __future__ import annotations

from typing import Final

from ruledex.language.functions.text import INT32_MAX, INT32_MIN
from ruledex.language.schema import Schema
from ruledex.language.tree import Attribute, Call, Operand, Value

# Functions whose result is an INT in Spark. All other whole numbers that a function returns are BIGINT here.
_PARTS: Final = ("year", "quarter", "month", "weekofyear", "dayofyear", "day", "dayofweek", "hour", "minute", "second")
_OF_32_BITS: Final = frozenset((*_PARTS, "cast_int", "date_diff", "hash", "instr", "length", "size"))
_DECLARED: Final = {"int": "int", "float": "float", "double": "double"}


def spark_type(argument: Operand | Value, schema: Schema) -> str:
    """Return Spark's name for the type of an argument, or "" if the value alone says what it is."""
    if isinstance(argument, Attribute):
        return schema.column_types.get(argument.path) or _DECLARED.get(schema.of(argument).type, "")
    if isinstance(argument, Call) and argument.function == "cast_decimal":
        sizes = [*argument.arguments[1:], 10, 0]
        precision, scale = sizes[0], sizes[1] if len(argument.arguments) == 3 else 0
        return f"decimal({precision},{scale})"
    if isinstance(argument, Call):
        return "int" if argument.function in _OF_32_BITS else ""
    is_int = type(argument) is int and INT32_MIN <= argument <= INT32_MAX
    return "int" if is_int else ""  # as Spark reads a constant
