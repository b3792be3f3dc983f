"""VARIANT columns: Spark hands the parts that rules look at to Python as JSON, and here they are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pyarrow as pa

from ruledex.spark.needs import Path


def with_variants(events: pa.Table, variants: Sequence[Path]) -> pa.Table | list[dict[str, Any]]:
    """The events with JSON read where it lies at one of the paths, which lead through structs.

    Values of a VARIANT are of a type each, which a column of Arrow is not: such events become mappings.
    """
    if not variants:
        return events
    rows: list[dict[str, Any]] = events.to_pylist()
    for path in variants:
        for row in rows:
            _read(row, path)
    return rows


def _read(row: dict[str, Any], path: Path) -> None:
    *above, name = path
    inner: dict[str, Any] | None = row
    for step in above:
        inner = inner.get(step) if inner is not None else None
    if inner is not None and inner.get(name) is not None:
        inner[name] = orjson.loads(inner[name])
