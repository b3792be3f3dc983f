"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from ruledex.language.schema import Schema

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


def load_schema(path: Path | None) -> Schema:
    """Load the schema that an option names, or return an empty one."""
    return Schema() if path is None else Schema.load(path)
