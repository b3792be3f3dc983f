"""`ruledex spark ratify`: compare an index with the reference evaluator and Spark SQL, on samples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import orjson
import typer

from ruledex.cli.arguments import (
    CLEAN,
    FINDINGS,
    ConfOption,
    EventsArgument,
    MasterOption,
    NowOption,
    QuietOption,
    TrustOption,
    VersionOption,
    WorkerIndexArgument,
)
from ruledex.cli.spark.session import session, show_stages
from ruledex.cli.spark.tables import read_table
from ruledex.errors import quoted
from ruledex.outputs import whole_file
from ruledex.ratify.report import difference_words
from ruledex.sources.lines import convert_file_errors

if TYPE_CHECKING:
    from ruledex.spark.jobs.ratify.job import AnswerDifference, Ratification

_MOST_SHOWN: Final = 10


def spark_ratify_command(
    index: WorkerIndexArgument,
    events: EventsArgument,
    rules_sample: Annotated[int, typer.Option("--rules", min=1, help="How many rules to draw.")] = 100,
    events_sample: Annotated[int, typer.Option("--events", min=1, help="How many events to draw.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="A different seed draws different samples.")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the whole report as JSON.")
    ] = None,
    version: VersionOption = None,
    now: NowOption = None,
    trust: TrustOption = None,
    master: MasterOption = None,
    conf: ConfOption = None,
    quiet: QuietOption = False,
) -> None:
    """Ask the index, the reference evaluator and Spark SQL about the same rules and events, and show where they differ.

    Examples:

        ruledex spark ratify index events.parquet

        ruledex spark ratify index events.parquet --rules 500 --events 5000 --seed 7 -o report.json

    Documented differences between rules and Spark SQL do not count. The exit status is 1 if there are others.
    """
    with session(master, "ruledex ratify", conf) as spark:
        from ruledex.spark import ratify

        frame = read_table(spark, events)
        with show_stages(spark, "ratifying", not quiet):
            found = ratify(index, frame, rules_sample, events_sample, seed, version=version, trust=trust, now=now)
    if output is not None:
        options = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
        with convert_file_errors(str(output)), whole_file(output) as file:
            file.write(orjson.dumps(found.to_dict(), default=str, option=options))
    if not quiet:
        _tell(found)
    raise typer.Exit(CLEAN if found.passed else FINDINGS)


def _tell(found: Ratification) -> None:
    typer.echo(found)
    for refusal in found.refusals[:_MOST_SHOWN]:
        typer.echo(f"Spark SQL cannot be asked about rule {quoted(refusal.rule)}: {refusal.reason}", err=True)
    if len(found.refusals) > _MOST_SHOWN:
        typer.echo(f"… and {len(found.refusals) - _MOST_SHOWN:,} more rules", err=True)
    for difference in found.unexplained[:_MOST_SHOWN]:
        typer.echo(_line(difference))
    if len(found.unexplained) > _MOST_SHOWN:
        typer.echo(f"… and {len(found.unexplained) - _MOST_SHOWN:,} more differences")


def _line(difference: AnswerDifference) -> str:
    who = "the index" if difference.asked == "index" else "Spark SQL"
    found = difference.rule, difference.text, difference.event
    return difference_words(*found, who, reference=difference.reference)
