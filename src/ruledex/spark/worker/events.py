"""Read events inside a task, out of the structs in which `project_events` lays them out.

Events become mappings where columns are not enough: for VARIANTs and for weights. Spark passes the parts of a VARIANT
as JSON. VARIANTs within arrays, maps and structs that are read whole come in their stored form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson
import pyarrow as pa

from ruledex.errors import EventError
from ruledex.events.arrow.packed import unpacked, with_packed

if TYPE_CHECKING:
    from ruledex.spark.worker.needs import Path

EVENT: Final = "event"  # the struct of what rules look at
PACKED: Final = "ruledex: packed "  # stands beside users' names, so a name that nobody uses; a number follows
WHOLE: Final = "ruledex: whole"  # stands beside the parts of a VARIANT: all of it, if it is an array


class Layout(NamedTuple):
    """How events are laid out: plain values, which travel with the plan."""

    variants: tuple[Path, ...]  # paths of JSON that was a VARIANT
    packed: tuple[tuple[str, ...], ...]  # the columns in each packed field


def event_table(table: pa.Table, layout: Layout) -> pa.Table:
    """Return the events of a block as columns."""
    names: dict[str, Sequence[str]] = {f"{PACKED}{number}": names for number, names in enumerate(layout.packed)}
    return with_packed(fields_of(table, EVENT), names)


def events_of_block(table: pa.Table, layout: Layout) -> pa.Table | list[dict[str, Any]]:
    """Return the events of a block as the index takes them: as mappings if there are VARIANTs, else as columns."""
    return with_variants(event_table(table, layout), layout.variants)


def fields_of(table: pa.Table, name: str) -> pa.Table:
    """Return the fields of a struct column as a table."""
    structs = table[name]
    schema = pa.schema(list(structs.type))  # with what may be null, which a result says of the columns that it keeps
    return pa.concat_tables([pa.Table.from_arrays(struct.flatten(), schema=schema) for struct in structs.chunks])


# Mappings.


def with_variants(events: pa.Table, variants: Sequence[Path]) -> pa.Table | list[dict[str, Any]]:
    """Return the events with the JSON at these paths parsed. The paths lead through structs.

    Each value of a VARIANT has its own type, and an Arrow column has one type, so such events become mappings.
    """
    if not variants and not any(has_variant(field.type) for field in events.schema):
        return events
    rows = mappings(events)
    for path in variants:
        for row in rows:
            _read(row, path)
    return rows


def mappings(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a table as mappings. Decodes stored VARIANTs and maps, which Arrow gives as lists of pairs."""
    table = unpacked(table)
    try:
        rows: list[dict[str, Any]] = table.to_pylist()
    except (OverflowError, ValueError) as error:
        raise EventError(
            "events with weights or a VARIANT, and those that ratify draws, can only have dates and times of the years "
            f"1 to 9999 in UTC: {error}"
        ) from error
    for field in table.schema:
        if _is_encoded(field.type):
            for row in rows:
                row[field.name] = _decode(row[field.name], field.type)
    return rows


def has_variant(kind: pa.DataType) -> bool:
    """Return whether values of this type contain a VARIANT in its stored form."""
    return _is_variant(kind) or any(has_variant(kind.field(n).type) for n in range(kind.num_fields))


def _read(row: dict[str, Any], path: Path) -> None:
    *above, name = path
    inner: Any = row
    outer, place = row, ""
    for step in above:
        outer, place = inner, step
        inner = inner.get(step) if inner is not None else None
    if inner is None:
        return
    text = inner.pop(name) if name == WHOLE else inner.get(name)
    if text is None:
        return
    if name == WHOLE:
        outer[place] = orjson.loads(text)
    else:
        inner[name] = orjson.loads(text)


def _is_variant(kind: pa.DataType) -> bool:
    """Return whether this is how Spark passes a VARIANT: a struct of two binaries, of which one is marked."""
    if not pa.types.is_struct(kind) or {field.name for field in kind} != {"value", "metadata"}:
        return False
    return any((field.metadata or {}).get(b"variant") == b"true" for field in kind)


def _is_encoded(kind: pa.DataType) -> bool:
    return (
        pa.types.is_map(kind)
        or _is_variant(kind)
        or any(_is_encoded(kind.field(n).type) for n in range(kind.num_fields))
    )


def _decode(value: Any, kind: pa.DataType) -> Any:
    if value is None or not _is_encoded(kind):
        return value
    if _is_variant(kind):
        from pyspark.sql.types import VariantVal

        return VariantVal(value["value"], value["metadata"]).toPython()
    if pa.types.is_map(kind):
        return {key: _decode(item, kind.item_type) for key, item in value}
    if pa.types.is_struct(kind):
        return {field.name: _decode(value[field.name], field.type) for field in kind}
    return [_decode(item, kind.value_type) for item in value]
