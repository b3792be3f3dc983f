"""Events as mappings, where columns are not enough: VARIANTs, whose parts Spark hands over as JSON, and weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pyarrow as pa

from ruledex.encode.arrow_packed import unpacked
from ruledex.spark.needs import Path


def with_variants(events: pa.Table, variants: Sequence[Path]) -> pa.Table | list[dict[str, Any]]:
    """The events with JSON read where it lies at one of the paths, which lead through structs.

    Values of a VARIANT are of a type each, which a column of Arrow is not: such events become mappings.
    """
    if not variants:
        return events
    rows = mappings(events)
    for path in variants:
        for row in rows:
            _read(row, path)
    return rows


def mappings(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of a table as mappings, maps within them included, which Arrow gives as lists of pairs."""
    table = unpacked(table)
    rows: list[dict[str, Any]] = table.to_pylist()
    for field in table.schema:
        if _has_map(field.type):
            for row in rows:
                row[field.name] = _with_maps(row[field.name], field.type)
    return rows


def _read(row: dict[str, Any], path: Path) -> None:
    *above, name = path
    inner: dict[str, Any] | None = row
    for step in above:
        inner = inner.get(step) if inner is not None else None
    if inner is not None and inner.get(name) is not None:
        inner[name] = orjson.loads(inner[name])


def _has_map(kind: pa.DataType) -> bool:
    return pa.types.is_map(kind) or any(_has_map(kind.field(n).type) for n in range(kind.num_fields))


def _with_maps(value: Any, kind: pa.DataType) -> Any:
    if value is None or not _has_map(kind):
        return value
    if pa.types.is_map(kind):
        return {key: _with_maps(item, kind.item_type) for key, item in value}
    if pa.types.is_struct(kind):
        return {field.name: _with_maps(value[field.name], field.type) for field in kind}
    return [_with_maps(item, kind.value_type) for item in value]
