"""Structs of a table, opened."""

from __future__ import annotations

import pyarrow as pa


def fields_of(table: pa.Table, name: str) -> pa.Table:
    """The fields of the structs in a column, as columns of their own."""
    structs = table[name]
    names = [field.name for field in structs.type]
    return pa.concat_tables([pa.Table.from_arrays(struct.flatten(), names) for struct in structs.chunks])
