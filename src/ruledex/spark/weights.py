"""Events' own weights from a column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ruledex.errors import RuledexError, quoted

if TYPE_CHECKING:
    from pyspark.sql.types import DataType


def require_weights(name: str, kind: DataType) -> None:
    """An error unless a column of this type can hold weights."""
    from pyspark.sql.types import MapType, NumericType, StringType, StructType

    def is_weight(inner: DataType) -> bool:
        return isinstance(inner, NumericType) or (
            isinstance(inner, MapType) and isinstance(inner.valueType, NumericType)
        )

    if isinstance(kind, StructType) and all(is_weight(field.dataType) for field in kind.fields):
        return
    if isinstance(kind, MapType) and isinstance(kind.keyType, StringType) and is_weight(kind.valueType):
        return
    raise RuledexError(
        f"the column {quoted(name)} is {kind.simpleString()}; weights are a map or a struct, in which each attribute "
        "has a number, or a map from its values to numbers"
    )
