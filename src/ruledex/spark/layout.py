"""Events as `projected` lays them out for a task, and in the task as the index takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

    from ruledex.spark.needs import Path

EVENT: Final = "event"  # the struct of what rules look at
PACKED: Final = "ruledex: packed "  # beside users' own names, so one that nobody has; a number follows
WHOLE: Final = "ruledex: whole"  # beside the parts of a VARIANT: all of it, where it is an array


class Layout(NamedTuple):
    """Where things lie in events: plain values, which travel with the plan."""

    variants: tuple[Path, ...]  # JSON that was a VARIANT
    packed: tuple[tuple[str, ...], ...]  # for each packed field the columns in it


def event_table(table: pa.Table, layout: Layout) -> pa.Table:
    """The events of a block, as columns."""
    from ruledex.encode.arrow_packed import with_packed
    from ruledex.spark.structs import fields_of

    names: dict[str, Sequence[str]] = {f"{PACKED}{number}": names for number, names in enumerate(layout.packed)}
    return with_packed(fields_of(table, EVENT), names)


def events_of_block(table: pa.Table, layout: Layout) -> pa.Table | list[dict[str, Any]]:
    """The events of a block, as the index takes them: where there are VARIANTs as mappings, else as columns."""
    from ruledex.spark.variants import with_variants

    return with_variants(event_table(table, layout), layout.variants)
