"""Read events inside a task, out of the structs in which `project_events` lays them out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

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
    from ruledex.events.arrow.packed import with_packed

    names: dict[str, Sequence[str]] = {f"{PACKED}{number}": names for number, names in enumerate(layout.packed)}
    return with_packed(fields_of(table, EVENT), names)


def events_of_block(table: pa.Table, layout: Layout) -> pa.Table | list[dict[str, Any]]:
    """Return the events of a block as the index takes them: as mappings if there are VARIANTs, else as columns."""
    from ruledex.spark.worker.variants import with_variants

    return with_variants(event_table(table, layout), layout.variants)


def fields_of(table: pa.Table, name: str) -> pa.Table:
    """Return the fields of a struct column as a table."""
    structs = table[name]
    names = [field.name for field in structs.type]
    return pa.concat_tables([pa.Table.from_arrays(struct.flatten(), names) for struct in structs.chunks])
