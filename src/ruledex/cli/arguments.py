"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from ruledex.language.schema import Schema

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
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Write a JSON object.")]
QuietOption: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Show neither progress nor a summary.")]


def load_schema(path: Path | None) -> Schema:
    """Load the schema that an option names, or return an empty one."""
    return Schema() if path is None else Schema.load(path)
