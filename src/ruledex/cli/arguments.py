"""Arguments, options and exit statuses that several commands share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from ruledex.errors import InputError, RuledexError, quoted
from ruledex.formats import FORMATS, ForeignRules, hint_of, read
from ruledex.language.schema import Schema
from ruledex.sources.lines import STANDARD_INPUT

# Exit statuses.
CLEAN: Final = 0
FINDINGS: Final = 1  # some of the input is wrong
UNUSABLE: Final = 2  # the command or a whole file cannot be used
INTERRUPTED: Final = 130  # by Ctrl-C; a shell uses these two for a command that a signal ended
CLOSED: Final = 141  # the reader of the output has closed it, as `head` does

_LONGEST_NUMBER: Final = 20  # digits and a sign; longer values stay text

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
FormatOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help=f"The rules are those of another system: {', '.join(FORMATS)}, or auto if the file shows it.",
    ),
]
FormatOptions: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--format-option", metavar="NAME=VALUE", help="An option of the format; repeatable."),
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


def foreign_rules(rules: str, format: str | None, options: list[str] | None) -> ForeignRules | None:  # noqa: A002
    """Read rules of another system if a format is named. Without one, an unreadable file gets a hint at its format."""
    if format is not None:
        return read(rules, format, **named_options(options or [], "format"))
    if options:
        raise InputError("--format-option needs --format: each format has options of its own")
    return None


@contextmanager
def hint_at_format(rules: str | None) -> Iterator[None]:
    """Name the format of a file in the error that it cannot be read, if it is plainly in one. None has no format."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{error}{'' if rules is None else format_hint(rules)}") from None


def format_hint(rules: str) -> str:
    """Return what to add to an error of a file that is plainly in a format of another system, or ""."""
    hint = "" if rules == STANDARD_INPUT else hint_of(rules)
    return f"; {hint} (--format)" if hint else ""


def named_options(given: list[str], what: str) -> dict[str, int | str | bool]:
    """Parse options of the form NAME=VALUE. Whole numbers become int; true and false become bool."""
    options: dict[str, int | str | bool] = {}
    for option in given:
        name, equals, value = option.partition("=")
        if not (name and equals):
            raise RuledexError(f"write an option of the {what} as NAME=VALUE, not {quoted(option)}")
        if name in options:
            raise RuledexError(f"the option {quoted(name)} of the {what} is given twice")
        is_number = value.removeprefix("-").isdecimal() and value.isascii() and len(value) < _LONGEST_NUMBER
        options[name] = int(value) if is_number else {"true": True, "false": False}.get(value.lower(), value)
    return options


def load_schema(path: Path | None) -> Schema:
    """Load the schema that an option names, or return an empty one."""
    return Schema() if path is None else Schema.load(path)


def choose_rank(rank: Rank | None, top: int | None) -> Rank:
    """Return what to rank by. Raises an error if there is nothing to rank."""
    if rank is not None and top is None:
        raise InputError("--rank needs --top: it says how the best K rules are ranked")
    return rank or Rank.SUM
