"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from ruledex.language.schema import Schema

SchemaOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--schema", metavar="TOML", help="Types of attributes; without it they follow from the rules."),
]
IdOption: TypeAlias = Annotated[str, typer.Option("--id", metavar="NAME", help="The column or key of a rule's id.")]
ExprOption: TypeAlias = Annotated[
    str, typer.Option("--expr", metavar="NAME", help="The column or key of a rule's text.")
]

TrustOption: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--trust/--no-trust",
        help="Use the index as it lies, or compile its rules anew. Unless said: trust what is in files of your own.",
    ),
]


def load_schema(path: Path | None) -> Schema:
    """The schema of an option, or one that declares nothing."""
    return Schema() if path is None else Schema.load(path)
