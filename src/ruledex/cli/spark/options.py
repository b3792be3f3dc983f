"""Arguments and options that the commands on Spark share."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

MasterOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--master", metavar="URL", help="The cluster: spark://…, yarn, k8s://…, or sc://… for Spark Connect."),
]
ConfOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark for this session; repeatable."),
]
OverwriteOption: TypeAlias = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")]

EVENTS_HELP = "Events: a file, folder or URL of Parquet, JSON lines or CSV, or the name of a table."
EventsArgument: TypeAlias = Annotated[str, typer.Argument(metavar="EVENTS", help=EVENTS_HELP)]
WorkerIndexArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="DIR", help="An index: a path or URL that the workers can read.")
]
