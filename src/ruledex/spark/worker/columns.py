"""Choose the columns of events that a job reads, and those that it passes on to the result.

Attributes that no rule looks at are left out before the step that Spark cannot see into, so a columnar source never
reads them. Of structs only the needed fields are read; lists and maps are read whole. Many columns of one scalar type
are packed into one list (events/arrow/packed.py): passing a column to Python costs some 100 ns per row, even if it is
null, and an element of a list costs less than half of that.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from pyspark.sql import functions
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    CalendarIntervalType,
    CharType,
    DataType,
    DateType,
    DayTimeIntervalType,
    MapType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
    VariantType,
    YearMonthIntervalType,
)

from ruledex.errors import InputError, RuledexError, quoted
from ruledex.language.any_text import WHOLE_EVENT
from ruledex.spark.worker.events import EVENT, PACKED, WHOLE, Layout
from ruledex.spark.worker.needs import Path

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

KEPT, WEIGHTS, TIME = "kept", "weights", "time"
NOTHING = "ruledex: nothing"  # stands beside users' names, so a name that nobody uses
MATCHES = "ruledex: matches"  # lists of matches, before the plan explodes them
LEAST_PACKED: Final = 16  # columns of one type
MOST_PARTS: Final = 16  # of a VARIANT; each is searched for in every row
_SCALARS: Final = (
    *(BooleanType, NumericType, StringType, BinaryType, DateType),
    *(TimestampType, TimestampNTZType, DayTimeIntervalType),
)


def project_events(
    events: DataFrame,
    paths: Collection[Path],
    keep: Sequence[str],
    weights: str | None = None,
    *,
    with_time: bool = False,
    is_packed: bool = True,
) -> tuple[DataFrame, Layout]:
    """Return the events as two structs, and the layout of the first: what rules look at, and the columns to keep.

    A struct must have a field: one that needs none has `NOTHING`, which is always null. If `weights` names a column, it
    stands beside the structs. If `with_time`, so does the time of the micro-batch: Spark stores that time with the
    micro-batch's offsets, so it is the same for all tasks, and when the micro-batch runs again.
    """
    paths = with_texts(events.schema, paths)
    names = {path[0] for path in paths}
    _require_one(events, [name for name in dict.fromkeys(events.columns) if name in names or name in keep])
    require_arrow(field for field in events.schema.fields if field.name in names or field.name in keep)
    variants: list[Path] = []
    packed = _packs(events.schema, names) if is_packed else ()
    packed_names = {name for names in packed for name in names}
    others = [path for path in paths if path[0] not in packed_names]
    read = _fields(events.schema, others, lambda name: functions.col(quote_name(name)), (), variants)
    read += [_call("array", names).alias(f"{PACKED}{number}") for number, names in enumerate(packed)]
    nothing = functions.lit(None).cast("boolean").alias(NOTHING)
    kept = _call("struct", keep) if keep else functions.struct(nothing)
    columns = [functions.struct(*(read or [nothing])).alias(EVENT), kept.alias(KEPT)]
    if weights is not None:
        columns.append(functions.col(quote_name(weights)).alias(WEIGHTS))
    if with_time:
        columns.append(functions.current_timestamp().alias(TIME))
    return events.select(*columns), Layout(tuple(variants), packed)


def _packs(kind: StructType, needed: Collection[str]) -> tuple[tuple[str, ...], ...]:
    """Return the names of the needed columns to pack, grouped by type."""
    by_type: dict[DataType, list[str]] = {}
    for field in kind.fields:
        if field.name in needed and isinstance(field.dataType, _SCALARS):
            by_type.setdefault(field.dataType, []).append(field.name)
    return tuple(tuple(names) for names in by_type.values() if len(names) >= LEAST_PACKED)


def paths_outside(kind: StructType, planned: Iterable[Path], needed: Iterable[Path]) -> list[Path]:
    """Return the needed paths that events of this type have, but that a projection to the planned paths leaves out."""
    planned = with_texts(kind, planned)
    return [path for path in needed if not all(_is_within(kind, planned, one) for one in with_texts(kind, [path]))]


def pruned_type(kind: StructType, paths: Iterable[Path]) -> StructType:
    """Return the type of events of which only these paths are read. Of a VARIANT it has all or nothing."""
    needed: dict[str, list[Path]] = {}
    for path in with_texts(kind, paths):
        needed.setdefault(path[0], []).append(path[1:])
    fields = []
    for field in kind.fields:
        below = needed.get(field.name, [])
        if isinstance(field.dataType, StructType) and below and () not in below:
            fields.append(StructField(field.name, pruned_type(field.dataType, below)))
        elif below:
            fields.append(field)
    return StructType(fields)


def with_texts(kind: StructType, paths: Iterable[Path]) -> list[Path]:
    """Return the paths, with that of `*` replaced by those of all texts that events of this type can have."""
    given = list(paths)
    if WHOLE_EVENT not in given:
        return given
    return list(dict.fromkeys([*(path for path in given if path != WHOLE_EVENT), *_text_paths(kind, ())]))


def _text_paths(kind: DataType, here: Path) -> Iterator[Path]:
    if isinstance(kind, StructType):
        for field in kind.fields:
            yield from _text_paths(field.dataType, (*here, field.name))
    elif _holds_text(kind):
        yield here


def _holds_text(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return any(_holds_text(field.dataType) for field in kind.fields)
    if isinstance(kind, ArrayType):
        return _holds_text(kind.elementType)
    if isinstance(kind, MapType):
        return _holds_text(kind.valueType)
    return isinstance(kind, StringType | CharType | VarcharType | VariantType)


def _is_within(kind: StructType, planned: Sequence[Path], path: Path) -> bool:
    kinds = {part.name: part.dataType for part in kind.fields}
    if path[0] not in kinds:
        return True  # no event has this attribute
    inner, rest = kinds[path[0]], path[1:]
    below = [other[1:] for other in planned if other[0] == path[0]]
    if () in below or not below:
        return bool(below)
    if isinstance(inner, VariantType):
        return _is_whole(below) or (rest != () and rest[0] in {other[0] for other in below})
    if not isinstance(inner, StructType):
        return True
    return rest != () and _is_within(inner, below, rest)


def all_columns(events: DataFrame, names: Sequence[str]) -> list[str]:
    """Return the names of columns that are given as a list, or all for "*"."""
    if isinstance(names, str) and names != "*":
        raise RuledexError(f'give columns as a list: [{quoted(names)}], or all of them as "*", not {quoted(names)}')
    return list(events.columns) if names == "*" else list(names)


def columns_to_keep(events: DataFrame, keep: Sequence[str] | None, added: Sequence[str]) -> list[str]:
    """Return the names of the columns to keep: all, or those named. None may be the name of an added column."""
    names = list(events.columns) if keep is None else all_columns(events, keep)
    require_columns(events, names)
    _require_one(events, names)
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise RuledexError(f"the column {quoted(repeated[0])} is named twice")
    # By default Spark ignores case in names.
    alike = [name for name in names if name.lower() in added]
    taken = [name for name in alike if name in added or not _is_case_sensitive(events)]
    if taken:
        raise RuledexError(
            f"the events have a column {quoted(taken[0])}, and so has the result: rename it, or leave it out of `keep`"
        )
    return names


def spark_frame(given: DataFrame, what: str = "the events") -> DataFrame:
    """Return a DataFrame of Spark as it is, and a pandas-on-Spark one without its index; else raise an InputError."""
    if hasattr(given, "mapInArrow"):
        return given
    if type(given).__module__.startswith("pyspark.pandas") and hasattr(given, "to_spark"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the index, which rules cannot look at
            found: DataFrame = cast("Any", given).to_spark()
        return found
    kind = f"{type(given).__module__}.{type(given).__qualname__}".removeprefix("builtins.")
    raise InputError(f"{what} are a {kind}, not a Spark DataFrame: make one with spark.createDataFrame")


def require_columns(events: DataFrame, names: Iterable[str]) -> None:
    """Raise an error if the events lack one of these columns."""
    known = dict.fromkeys(events.columns)
    names = list(names)
    for name in names:
        if not isinstance(name, str):
            hint = "for an expression, add it to the events with withColumn first"
            raise RuledexError(f"columns are given by their names, not as {quoted(str(name))}; {hint}")
    missing = [name for name in names if name not in known]
    if missing:
        raise RuledexError(f"the events have no column {quoted(missing[0])}; they have {', '.join(known)}")


def refuse_stream(events: DataFrame) -> None:
    """Raise an error if the events are a stream, for jobs that need all events."""
    if events.isStreaming:
        raise RuledexError("the events are a stream, whose counts would never be complete: read them as a table")


def _require_one(events: DataFrame, names: Iterable[str]) -> None:
    """Raise an error if one of these names stands for several columns, as after a join."""
    same, alike = Counter(events.columns), Counter(name.lower() for name in events.columns)
    for name in names:
        if same[name] > 1 or (alike[name.lower()] > 1 and not _is_case_sensitive(events)):
            raise RuledexError(f"the events have several columns named {quoted(name)}: rename them, or leave them out")


def _is_case_sensitive(events: DataFrame) -> bool:
    return events.sparkSession.conf.get("spark.sql.caseSensitive") == "true"


def require_arrow(fields: Iterable[StructField]) -> None:
    """Raise an error if a column cannot be passed to Python."""
    for field in fields:
        if _has_months(field.dataType):
            raise RuledexError(
                f"the column {quoted(field.name)} has intervals of months, which Arrow cannot pass to Python: "
                "leave it out, or cast it to a string"
            )


def _has_months(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return any(_has_months(field.dataType) for field in kind.fields)
    if isinstance(kind, ArrayType):
        return _has_months(kind.elementType)
    if isinstance(kind, MapType):
        return _has_months(kind.keyType) or _has_months(kind.valueType)
    return isinstance(kind, YearMonthIntervalType | CalendarIntervalType)


def _fields(
    kind: StructType, paths: Iterable[Path], field: Callable[[str], Column], above: Path, variants: list[Path]
) -> list[Column]:
    """Return the fields of a struct, or columns of a table, that lie on one of the paths, pruned to what is needed."""
    kinds = {part.name: part.dataType for part in kind.fields}
    needed: dict[str, list[Path]] = {}
    for path in paths:
        if path[0] in kinds:
            needed.setdefault(path[0], []).append(path[1:])
    return [
        _prune(field(name), kinds[name], below, (*above, name), variants).alias(name) for name, below in needed.items()
    ]


def _prune(column: Column, kind: DataType, below: Sequence[Path], here: Path, variants: list[Path]) -> Column:
    """Return what is needed of a column: the paths below it, or all of it if one of them is empty."""
    if isinstance(kind, VariantType):
        if _is_whole(below):
            variants.append(here)
            return functions.to_json(column)
        # A part is read whole; what lies deeper is found in its JSON.
        names = list(dict.fromkeys(path[0] for path in below))
        parts = {name: functions.variant_get(column, _json_path(name), "variant") for name in names}
        # The elements of an array have parts, but no one path leads to all of them.
        parts[WHOLE] = functions.when(functions.variant_get(column, "$[0]", "variant").isNotNull(), column)
        variants.extend((*here, name) for name in parts)
        return functions.struct(*(functions.to_json(part).alias(name) for name, part in parts.items()))
    if not isinstance(kind, StructType) or () in below:
        return column
    fields = _fields(kind, below, column.getField, here, variants)
    # If no event can have what rules look for, nothing is read at all.
    return functions.struct(*fields) if fields else functions.lit(None).cast("boolean")


def _is_whole(below: Sequence[Path]) -> bool:
    """Return whether to read a VARIANT whole: if rules look at all of it, at many parts, or at one that has no path."""
    is_asked = any(not path or {"'", '"'} <= set(path[0]) for path in below)
    return is_asked or len({path[0] for path in below}) > MOST_PARTS


def _call(function: str, names: Sequence[str]) -> Column:
    """Call a SQL function on columns, as one text: a thousand Columns would be fourteen thousand calls to the JVM."""
    text = f"{function}({', '.join(map(quote_name, names))})"
    if "${" in text:  # Spark would replace it by a setting of the session
        return functions.call_function(function, *(functions.col(quote_name(name)) for name in names))
    return functions.expr(text)


def quote_name(name: str) -> str:
    """Return the name of a column or field, quoted for Spark SQL."""
    return "`" + name.replace("`", "``") + "`"


def _json_path(name: str) -> str:
    quote = '"' if "'" in name else "'"
    return f"$[{quote}{name}{quote}]"
