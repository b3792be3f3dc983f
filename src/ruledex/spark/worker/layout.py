"""Structs of a table, opened.

Events as `project_events` lays them out for a task, and in the task as the index takes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

if TYPE_CHECKING:
    import pyarrow as pa

    from ruledex.spark.worker.needs import Path


def fields_of(table: pa.Table, name: str) -> pa.Table:
    """The fields of the structs in a column, as columns of their own."""
    structs = table[name]
    names = [field.name for field in structs.type]
    return pa.concat_tables([pa.Table.from_arrays(struct.flatten(), names) for struct in structs.chunks])


EVENT: Final = "event"  # the struct of what rules look at
PACKED: Final = "ruledex: packed "  # beside users' own names, so one that nobody has; a number follows
WHOLE: Final = "ruledex: whole"  # beside the parts of a VARIANT: all of it, where it is an array


class Layout(NamedTuple):
    """Where things lie in events: plain values, which travel with the plan."""

    variants: tuple[Path, ...]  # JSON that was a VARIANT
    packed: tuple[tuple[str, ...], ...]  # for each packed field the columns in it


def event_table(table: pa.Table, layout: Layout) -> pa.Table:
    """The events of a block, as columns."""
    from ruledex.events.arrow.packed import with_packed

    names: dict[str, Sequence[str]] = {f"{PACKED}{number}": names for number, names in enumerate(layout.packed)}
    return with_packed(fields_of(table, EVENT), names)


def events_of_block(table: pa.Table, layout: Layout) -> pa.Table | list[dict[str, Any]]:
    """The events of a block, as the index takes them: where there are VARIANTs as mappings, else as columns."""
    from ruledex.spark.worker.variants import with_variants

    return with_variants(event_table(table, layout), layout.variants)
