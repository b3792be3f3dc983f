"""The columns of events that a match reads, and those that it hands on.

What no rule looks at is left out before the step that Spark cannot see into, so that a columnar source never reads it.
Within structs only the fields that are needed are taken; lists and maps are taken whole. Columns of one scalar type, if
they are many, go as the elements of one list (events/arrow/packed.py): to be handed to Python, a column costs some 100
ns a row, also where it is null, and an element of a list less than half of that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    CalendarIntervalType,
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
    VariantType,
    YearMonthIntervalType,
)

from ruledex.errors import RuledexError, quoted
from ruledex.spark.worker.layout import (
    EVENT,
    PACKED,
    WHOLE,
    Layout,
)
from ruledex.spark.worker.needs import Path

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

KEPT, WEIGHTS, TIME = "kept", "weights", "time"
NOTHING = "ruledex: nothing"  # beside users' own names, so one that nobody has
LEAST_PACKED: Final = 16  # columns of one type
MOST_PARTS: Final = 16  # of a VARIANT, each of them searched for in every row
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
    is_pinned: bool = False,
    is_packed: bool = True,
) -> tuple[DataFrame, Layout]:
    """Two structs, what rules look at of an event and the columns to keep; and where things lie in the first.

    A struct must have a field: one that needs none has `NOTHING`, always null. Beside them stand the column of weights,
    if one is named, and the time of the micro-batch, where a version is pinned to it: Spark writes it down with the
    micro-batch's offsets, so that it is the same for all tasks and when the micro-batch is run again.
    """
    names = {path[0] for path in paths}
    _require_one(events, [name for name in dict.fromkeys(events.columns) if name in names or name in keep])
    _require_arrow(field for field in events.schema.fields if field.name in names or field.name in keep)
    variants: list[Path] = []
    packed = _packs(events.schema, names) if is_packed else ()
    packed_names = {name for names in packed for name in names}
    others = [path for path in paths if path[0] not in packed_names]
    read = _fields(events.schema, others, lambda name: functions.col(_quoted(name)), (), variants)
    read += [_called("array", names).alias(f"{PACKED}{number}") for number, names in enumerate(packed)]
    nothing = functions.lit(None).cast("boolean").alias(NOTHING)
    kept = _called("struct", keep) if keep else functions.struct(nothing)
    columns = [functions.struct(*(read or [nothing])).alias(EVENT), kept.alias(KEPT)]
    if weights is not None:
        columns.append(functions.col(_quoted(weights)).alias(WEIGHTS))
    if is_pinned:
        columns.append(functions.current_timestamp().alias(TIME))
    return events.select(*columns), Layout(tuple(variants), packed)


def _packs(kind: StructType, needed: Collection[str]) -> tuple[tuple[str, ...], ...]:
    """The needed columns that are packed, those of one type together."""
    by_type: dict[DataType, list[str]] = {}
    for field in kind.fields:
        if field.name in needed and isinstance(field.dataType, _SCALARS):
            by_type.setdefault(field.dataType, []).append(field.name)
    return tuple(tuple(names) for names in by_type.values() if len(names) >= LEAST_PACKED)


def paths_outside(kind: StructType, planned: Iterable[Path], needed: Iterable[Path]) -> list[Path]:
    """The needed paths that lead to what events of this type have, but that `project_events` leaves out by its own paths."""
    planned = list(planned)
    return [path for path in needed if not _is_within(kind, planned, path)]


def _is_within(kind: StructType, planned: Sequence[Path], path: Path) -> bool:
    kinds = {part.name: part.dataType for part in kind.fields}
    if path[0] not in kinds:
        return True  # no event has it
    inner, rest = kinds[path[0]], path[1:]
    below = [other[1:] for other in planned if other[0] == path[0]]
    if () in below or not below:
        return bool(below)
    if isinstance(inner, VariantType):
        return _is_whole(below) or (rest != () and rest[0] in {other[0] for other in below})
    if not isinstance(inner, StructType):
        return True
    return rest != () and _is_within(inner, below, rest)


def columns_to_keep(events: DataFrame, keep: Sequence[str] | None, added: Sequence[str]) -> list[str]:
    """The columns that are handed on: all, or those named. None may have the name of what is added."""
    if isinstance(keep, str):
        raise RuledexError(f"columns are named by a list: [{quoted(keep)}], not {quoted(keep)}")
    names = list(events.columns) if keep is None else list(keep)
    require_columns(events, names)
    _require_one(events, names)
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise RuledexError(f"the column {quoted(repeated[0])} is named twice")
    # By default Spark takes capital letters for small ones.
    alike = [name for name in names if name.lower() in added]
    taken = [name for name in alike if name in added or not _is_case_sensitive(events)]
    if taken:
        raise RuledexError(
            f"the events have a column {quoted(taken[0])}, as the result has: rename it, or leave it out of `keep`"
        )
    return names


def require_columns(events: DataFrame, names: Iterable[str]) -> None:
    """An error unless the events have all these columns."""
    known = dict.fromkeys(events.columns)
    missing = [name for name in names if name not in known]
    if missing:
        raise RuledexError(f"the events have no column {quoted(missing[0])}; they have {', '.join(known)}")


def refuse_stream(events: DataFrame) -> None:
    """Raise an error if the events are a stream, for jobs that need all events."""
    if events.isStreaming:
        raise RuledexError("the events are a stream, whose counts would never be complete: read them as a table")


def _require_one(events: DataFrame, names: Iterable[str]) -> None:
    """An error where one of these names stands for several columns, as after a join."""
    same, alike = Counter(events.columns), Counter(name.lower() for name in events.columns)
    for name in names:
        if same[name] > 1 or (alike[name.lower()] > 1 and not _is_case_sensitive(events)):
            raise RuledexError(
                f"the events have several columns that {quoted(name)} may mean: rename them, or leave them out"
            )


def _is_case_sensitive(events: DataFrame) -> bool:
    return events.sparkSession.conf.get("spark.sql.caseSensitive") == "true"


def _require_arrow(fields: Iterable[StructField]) -> None:
    """An error where a column cannot be handed to Python."""
    for field in fields:
        if _has_months(field.dataType):
            raise RuledexError(
                f"the column {quoted(field.name)} has intervals of months, which Arrow cannot hand to Python: "
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
    """Those fields of a struct, or columns of a table, that lie on one of the paths, each with what is needed of it."""
    kinds = {part.name: part.dataType for part in kind.fields}
    needed: dict[str, list[Path]] = {}
    for path in paths:
        if path[0] in kinds:
            needed.setdefault(path[0], []).append(path[1:])
    return [
        _pruned(field(name), kinds[name], below, (*above, name), variants).alias(name) for name, below in needed.items()
    ]


def _pruned(column: Column, kind: DataType, below: Sequence[Path], here: Path, variants: list[Path]) -> Column:
    """What is needed of a column, of which the paths below it are looked at, and itself if one of them is empty."""
    if isinstance(kind, VariantType):
        if _is_whole(below):
            variants.append(here)
            return functions.to_json(column)
        # A part is taken whole: what lies deeper is found in its JSON.
        names = list(dict.fromkeys(path[0] for path in below))
        parts = {name: functions.variant_get(column, _json_path(name), "variant") for name in names}
        # An array has no parts, but its elements have: no path leads to them all.
        parts[WHOLE] = functions.when(functions.variant_get(column, "$[0]", "variant").isNotNull(), column)
        variants.extend((*here, name) for name in parts)
        return functions.struct(*(functions.to_json(part).alias(name) for name, part in parts.items()))
    if not isinstance(kind, StructType) or () in below:
        return column
    fields = _fields(kind, below, column.getField, here, variants)
    # Where no event can have what rules look for, nothing is read at all.
    return functions.struct(*fields) if fields else functions.lit(None).cast("boolean")


def _is_whole(below: Sequence[Path]) -> bool:
    """Whether a VARIANT is taken whole: if it is asked for itself, for a part that no path can name, or for many."""
    is_asked = any(not path or {"'", '"'} <= set(path[0]) for path in below)
    return is_asked or len({path[0] for path in below}) > MOST_PARTS


def _called(function: str, names: Sequence[str]) -> Column:
    """A function of columns, as one text: a thousand Columns would be fourteen thousand calls to the JVM."""
    text = f"{function}({', '.join(map(_quoted, names))})"
    if "${" in text:  # which in a text stands for a setting of the session
        return functions.call_function(function, *(functions.col(_quoted(name)) for name in names))
    return functions.expr(text)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _json_path(name: str) -> str:
    quote = '"' if "'" in name else "'"
    return f"$[{quote}{name}{quote}]"
