"""`ruledex spark profile`: collect statistics of past events, for later builds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from ruledex.cli.arguments import ConfOption, EventsArgument, MasterOption, QuietOption
from ruledex.cli.spark.session import session, show_stages
from ruledex.cli.spark.tables import read_table
from ruledex.cli.terminal import console

if TYPE_CHECKING:
    from rich.table import Table

    from ruledex.events.statistics import AttributeStatistics, EventStatistics

_MOST_SHOWN: Final = 40  # attributes
_HEAVY_SHOWN: Final = 3


def spark_profile_command(
    events: EventsArgument,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write JSON for --stats of a build."),
    ] = None,
    columns: Annotated[
        list[str] | None, typer.Option("--column", metavar="NAME", help="Look only at this column; repeatable.")
    ] = None,
    heavy: Annotated[
        int, typer.Option("--heavy", min=1, help="How many frequent values to count per attribute.")
    ] = 512,
    master: MasterOption = None,
    conf: ConfOption = None,
    quiet: QuietOption = False,
) -> None:
    """Collect how often each attribute is present, its most frequent values, and quantiles, in one pass over events.

    Examples:

        ruledex spark profile events.parquet -o index/statistics.json

        ruledex spark profile warehouse.events --master spark://host:7077 -o statistics.json
    """
    with session(master, "ruledex profile", conf) as spark:
        from ruledex.spark import profile

        frame = read_table(spark, events)
        with show_stages(spark, "profiling", not quiet):
            found = profile(frame, columns, heavy=heavy)
    if output is not None:
        found.save(output)
    if not quiet:
        console().print(_table(found))
        where = "" if output is None else f", in {output}"
        typer.echo(f"{found.n_events:,} events, {len(found.attributes):,} attributes{where}")


def _table(found: EventStatistics) -> Table:
    from rich.table import Table

    from ruledex.language.text import path_text

    table = Table(box=None)
    for name in ("attribute", "present", "types", "most frequent", "median"):
        table.add_column(name)
    shown = sorted(found.attributes.items(), key=lambda item: (-item[1].n_present, item[0]))
    for path, attribute in shown[:_MOST_SHOWN]:
        part = attribute.n_present / found.n_events if found.n_events else 0.0
        table.add_row(path_text(path), f"{part:.1%}", *_of_values(attribute))
    if len(shown) > _MOST_SHOWN:
        table.add_row(f"… and {len(shown) - _MOST_SHOWN:,} more")
    return table


def _of_values(attribute: AttributeStatistics) -> tuple[str, str, str]:
    types = ", ".join(values.type for values in attribute.values)
    heavy = [pair for values in attribute.values for pair in values.heavy]
    frequent = sorted(heavy, key=lambda pair: -pair[1])[:_HEAVY_SHOWN]
    medians = [str(median) for values in attribute.values for median in values.quantiles(2)]
    return types, ", ".join(f"{value} ({count:,})" for value, count in frequent), ", ".join(medians)
