"""The types of an event's columns, as Spark, Arrow, pandas or Polars has them: what rules can find there.

Columns become declared attributes (`declared_types`), or are looked up by the paths of rules (`find_column`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from ruledex.errors import SchemaError, did_you_mean, quoted
from ruledex.language.text import path_text
from ruledex.language.value import Family

_ANYTHING: Final = frozenset((Family.ANY,))
_NOTHING: Final[frozenset[Family]] = frozenset()
_TEXTS: Final = frozenset((Family.STRING, Family.TIME))  # a text that has the form of a date or time is read as one


@dataclass(frozen=True)
class ColumnType:
    """The type of a column, field or element: its name, and which values rules find in it.

    `families` are those of its plain values; one with ANY may have any value. A struct has `fields`, a map `values`.
    `declared` is the type that a schema has for it, or "" if it has none. An array has the type of its elements, with
    `is_array`.
    """

    name: str
    families: frozenset[Family] = _NOTHING
    declared: str = ""
    fields: Mapping[str, ColumnType] = field(default_factory=dict)
    values: ColumnType | None = None
    is_array: bool = False

    @property
    def is_open(self) -> bool:
        """Whether it may have fields of any name and any type."""
        return Family.ANY in self.families


ColumnTypes = Mapping[str, ColumnType]

_SCALARS: Final = {
    "boolean": frozenset((Family.BOOLEAN,)),
    **dict.fromkeys(("integer", "int", "float", "double", "decimal"), frozenset((Family.NUMBER,))),
    "string": _TEXTS,
    **dict.fromkeys(("date", "timestamp"), frozenset((Family.TIME,))),
}


def _scalar(name: str, declared: str) -> ColumnType:
    return ColumnType(name, _SCALARS.get(declared, _ANYTHING), declared)


def _array(name: str, element: ColumnType) -> ColumnType:
    return ColumnType(name, element.families, element.declared, element.fields, element.values, is_array=True)


# Of Spark.

_SPARK: Final = {
    "boolean": "boolean",
    **dict.fromkeys(("byte", "short", "integer", "tinyint", "smallint", "int"), "int"),
    **dict.fromkeys(("long", "bigint"), "integer"),
    "float": "float",
    "double": "double",
    "decimal": "decimal",
    **dict.fromkeys(("string", "char", "varchar"), "string"),
    "date": "date",
    **dict.fromkeys(("timestamp", "timestamp_ntz"), "timestamp"),
}


def spark_columns(schema: Any) -> dict[str, ColumnType]:
    """Return the columns of a Spark schema: a StructType, or a DataFrame."""
    schema = getattr(schema, "schema", schema)
    if not hasattr(schema, "fields") or not hasattr(schema, "simpleString"):
        raise SchemaError(f"from_spark takes the schema of a Spark DataFrame, df.schema, not {quoted(schema)}")
    return {each.name: _of_spark(each.dataType) for each in schema.fields}


def _of_spark(kind: Any) -> ColumnType:
    name = kind.simpleString()
    match kind.typeName():
        case "struct":
            return ColumnType(name, fields=spark_columns(kind))
        case "map":
            return ColumnType(name, values=_of_spark(kind.valueType))
        case "array":
            return _array(name, _of_spark(kind.elementType))
        case plain:
            return _scalar(name, _SPARK.get(plain, ""))


# Of Arrow, pandas and Polars.


def arrow_columns(schema: Any) -> dict[str, ColumnType]:
    """Return the columns of an Arrow schema, table, record batch, reader or data set."""
    import pyarrow as pa

    schema = getattr(schema, "schema", schema)
    if not isinstance(schema, pa.Schema):
        raise SchemaError(f"from_arrow takes an Arrow schema or table, not {quoted(schema)}")
    return {each.name: _of_arrow(each.type) for each in schema}


def pandas_columns(frame: Any) -> dict[str, ColumnType]:
    """Return the columns of a pandas DataFrame. Columns of objects have the types that Arrow finds in their values."""
    import pyarrow as pa

    if not hasattr(frame, "dtypes") or not hasattr(frame, "columns"):
        raise SchemaError(f"from_pandas takes a pandas DataFrame, not {quoted(frame)}")
    try:
        return arrow_columns(pa.Schema.from_pandas(frame, preserve_index=False))
    except pa.ArrowException as error:
        raise SchemaError(f"the columns of the DataFrame have no types that Arrow knows: {error}") from None


def polars_columns(frame: Any) -> dict[str, ColumnType]:
    """Return the columns of a Polars DataFrame, LazyFrame or schema."""
    if hasattr(frame, "collect_schema"):
        frame = frame.collect_schema()
    if hasattr(frame, "to_frame"):
        frame = frame.to_frame()
    if not hasattr(frame, "to_arrow"):
        raise SchemaError(f"from_polars takes a Polars DataFrame, LazyFrame or Schema, not {quoted(frame)}")
    return arrow_columns(frame.head(0).to_arrow())


def _of_arrow(kind: Any) -> ColumnType:
    from pyarrow import types

    name = str(kind)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _of_arrow(kind.value_type)
    if types.is_map(kind):
        return ColumnType(name, values=_of_arrow(kind.item_type))
    if types.is_struct(kind):
        return ColumnType(name, fields={each.name: _of_arrow(each.type) for each in kind})
    if any(is_list(kind) for is_list in (types.is_list, types.is_large_list, types.is_fixed_size_list, _is_list_view)):
        return _array(name, _of_arrow(kind.value_type))
    return _scalar(name, next((declared for declared, holds in _ARROW.items() if holds(kind)), ""))


def _is_list_view(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_list_view(kind) or types.is_large_list_view(kind))


def _is_int32(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_int8(kind) or types.is_int16(kind) or types.is_int32(kind))


def _is(name: str) -> Any:
    def holds(kind: Any) -> bool:
        from pyarrow import types

        return bool(getattr(types, f"is_{name}")(kind))

    return holds


# In the order in which they are asked.
_ARROW: Final[dict[str, Any]] = {
    "boolean": _is("boolean"),
    "int": _is_int32,
    "integer": _is("integer"),
    "double": _is("float64"),
    "float": _is("floating"),
    "decimal": _is("decimal"),
    "string": lambda kind: _is("string")(kind) or _is("large_string")(kind) or _is("string_view")(kind),
    "date": _is("date"),
    "timestamp": _is("timestamp"),
}


def columns_of(given: Any) -> ColumnTypes:
    """Return the columns of a schema or table of Spark, Arrow, pandas or Polars."""
    match type(given).__module__.partition(".")[0]:
        case "pyspark":
            return spark_columns(given)
        case "pandas":
            return pandas_columns(given)
        case "polars":
            return polars_columns(given)
        case "pyarrow":
            return arrow_columns(given)
    raise SchemaError(f"columns are a schema or table of Arrow, Spark, pandas or Polars, not {quoted(given)}")


# Declaring.


def declared_types(columns: ColumnTypes) -> dict[str, tuple[str, bool]]:
    """Return the type of each attribute by its text, and whether it has at most one value. Maps declare nothing."""
    return {path_text(path): (kind.declared, single) for path, kind, single in _leaves(columns, (), True)}


def _leaves(
    columns: ColumnTypes, above: tuple[str, ...], single: bool
) -> Iterator[tuple[tuple[str, ...], ColumnType, bool]]:
    for name, kind in columns.items():
        is_single = single and not kind.is_array
        if kind.declared:
            yield (*above, name), kind, is_single
        yield from _leaves(kind.fields, (*above, name), is_single)


# Finding.


class FoundColumn(NamedTuple):
    """What the path of a rule leads to: a type, or what is wrong, and a suggestion. `column` is "" if there is none."""

    column: str
    type: ColumnType | None = None
    fault: str = ""  # "missing" or "case"
    suggestion: str = ""


def find_column(columns: ColumnTypes, path: tuple[str, ...]) -> FoundColumn:
    """Return what a path leads to, through structs, maps and the elements of arrays."""
    fields, kind, column = columns, None, ""
    for at, step in enumerate(path):
        if kind is not None:
            if kind.is_open:
                return FoundColumn(column, kind)
            if kind.values is not None:
                kind = kind.values
                continue
            fields = kind.fields
        if step not in fields:
            return _missing(fields, path, at, column)
        kind, column = fields[step], column or step
    assert kind is not None
    return FoundColumn(column, kind)


def _missing(fields: ColumnTypes, path: tuple[str, ...], at: int, column: str) -> FoundColumn:
    """Return what is wrong with a path whose step `at` is not among the fields there."""
    step, above = path[at], path[:at]
    if not at and len(path) > 1 and (joined := ".".join(path)) in fields:
        return FoundColumn(joined, fault="missing", suggestion=f"write {path_text((joined,))}, as the column is called")
    for name in fields:
        if name.lower() == step.lower():
            return FoundColumn(column or name, fault="case", suggestion=f"write {path_text((*above, name))}")
    hint = did_you_mean(step, fields)
    near = hint.removeprefix("did you mean ").removesuffix("?")
    return FoundColumn(column, fault="missing", suggestion=f"did you mean {path_text((*above, near))}?" if hint else "")
