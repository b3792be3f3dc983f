"""Arguments, options and exit statuses that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from ruledex.errors import InputError
from ruledex.language.schema import Schema

# Exit statuses.
CLEAN: Final = 0
FINDINGS: Final = 1  # some of the input is wrong
UNUSABLE: Final = 2  # the command or a whole file cannot be used
INTERRUPTED: Final = 130  # by Ctrl-C; a shell uses these two for a command that a signal ended
CLOSED: Final = 141  # the reader of the output has closed it, as `head` does

IndexArgument: TypeAlias = Annotated[str, typer.Argument(metavar="DIR", help="An index: a path or URL.")]
FolderArgument: TypeAlias = Annotated[str, typer.Argument(metavar="DIR", help="The folder of an index.")]
RulesArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="RULES", help="A file of rules, as `ruledex check` reads it.")
]
SchemaOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--schema", metavar="TOML", help="A file with the types of attributes; by default the rules decide."),
]
IdOption: TypeAlias = Annotated[
    str, typer.Option("--id", metavar="NAME", help="The column or key that has the ids of rules.")
]
ExprOption: TypeAlias = Annotated[
    str, typer.Option("--expr", metavar="NAME", help="The column or key that has the texts of rules.")
]
TrustOption: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--trust/--no-trust",
        help="Use the index as stored, or recompile its rules. By default, trust files that you own.",
    ),
]
VersionOption: TypeAlias = Annotated[
    str | None, typer.Option("--version", help="A version other than the current one.")
]
EngineOptions: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--engine-option", metavar="NAME=VALUE", help="An option of the engine; repeatable."),
]
DecimalsOption: TypeAlias = Annotated[
    bool, typer.Option("--decimals", help="Read the numbers of JSON and CSV events as decimals: 0.1 is one tenth.")
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Write a JSON object.")]
QuietOption: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Show neither progress nor a summary.")]


class Rank(StrEnum):
    """How the static score and the match score are combined to a rank."""

    SUM = "sum"
    PRODUCT = "product"
    STATIC = "static"


TopOption: TypeAlias = Annotated[
    int | None, typer.Option("--top", min=0, metavar="K", help="Return only the best K rules, ranked.")
]
RankOption: TypeAlias = Annotated[
    Rank | None, typer.Option("--rank", help="What --top ranks by. [default: sum]", show_default=False)
]
CountOption: TypeAlias = Annotated[bool, typer.Option("--count", help="Return only the number of rules that match.")]

WhereOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--where", metavar="CONDITION", help="Ask only the rules whose tags satisfy this, such as \"tenant = 'a'\"."
    ),
]

NowOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--now", metavar="TIME", help="What now() means in rules, such as 2024-12-31T23:59:59Z."),
]

# Of the commands on Spark.
MasterOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--master", metavar="URL", help="The cluster: spark://…, yarn, k8s://…, or sc://… for Spark Connect."),
]
ConfOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark for this session; repeatable."),
]
OverwriteOption: TypeAlias = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")]

EventsArgument: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="EVENTS",
        help="Events: a file, folder or URL of Parquet, JSON lines or CSV, or the name of a table.",
    ),
]
WorkerIndexArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="DIR", help="An index: a path or URL that the workers can read.")
]


def load_schema(path: Path | None) -> Schema:
    """Load the schema that an option names, or return an empty one."""
    return Schema() if path is None else Schema.load(path)


def choose_rank(rank: Rank | None, top: int | None) -> Rank:
    """Return what to rank by. Raises an error if there is nothing to rank."""
    if rank is not None and top is None:
        raise InputError("--rank needs --top: it says how the best K rules are ranked")
    return rank or Rank.SUM
