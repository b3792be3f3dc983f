"""The columns of events that a match reads, and those that it hands on.

What no rule looks at is left out before the step that Spark cannot see into, so that a columnar source never reads it.
Within structs only the fields that are needed are taken; lists and maps are taken whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions
from pyspark.sql.types import DataType, StructType, VariantType

from ruledex.errors import RuledexError
from ruledex.spark.needs import Path

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

EVENT, KEPT, NOTHING = "event", "kept", "nothing"


def projected(events: DataFrame, paths: Iterable[Path], keep: Sequence[str]) -> tuple[DataFrame, tuple[Path, ...]]:
    """Two structs, what rules look at of an event and the columns to keep; and where JSON lies that was a VARIANT.

    A struct must have a field: one that needs none has `NOTHING`, always null.
    """
    variants: list[Path] = []
    read = _fields(events.schema, paths, lambda name: functions.col(_quoted(name)), (), variants)
    kept = [functions.col(_quoted(name)) for name in keep]
    nothing = [functions.lit(None).cast("boolean").alias(NOTHING)]
    both = events.select(
        functions.struct(*(read or nothing)).alias(EVENT), functions.struct(*(kept or nothing)).alias(KEPT)
    )
    return both, tuple(variants)


def columns_to_keep(events: DataFrame, keep: Sequence[str] | None, added: Sequence[str]) -> list[str]:
    """The columns that are handed on: all, or those named. None may have the name of what is added."""
    names = list(events.columns) if keep is None else list(keep)
    missing = [name for name in names if name not in events.columns]
    if missing:
        raise RuledexError(f"the events have no column {missing[0]!r}; they have {', '.join(events.columns)}")
    taken = [name for name in names if name in added]
    if taken:
        raise RuledexError(
            f"the events have a column {taken[0]!r}, as the result has: rename it, or leave it out of `keep`"
        )
    return names


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
        # A path cannot name what has quotes of both kinds in it.
        if any(not path or {"'", '"'} <= set(path[0]) for path in below):
            variants.append(here)
            return functions.to_json(column)
        # A part is taken whole: what lies deeper is found in its JSON.
        names = list(dict.fromkeys(path[0] for path in below))
        variants.extend((*here, name) for name in names)
        parts = {name: functions.variant_get(column, _json_path(name), "variant") for name in names}
        return functions.struct(*(functions.to_json(part).alias(name) for name, part in parts.items()))
    if not isinstance(kind, StructType) or () in below:
        return column
    fields = _fields(kind, below, column.getField, here, variants)
    # Where no event can have what rules look for, nothing is read at all.
    return functions.struct(*fields) if fields else functions.lit(None).cast("boolean")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _json_path(name: str) -> str:
    quote = '"' if "'" in name else "'"
    return f"$[{quote}{name}{quote}]"
