"""`ruledex serve`: answer over HTTP from the indexes of a folder. `ruledex token`: make a token for it."""

from __future__ import annotations

import os
import shlex
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final

import typer

from ruledex.errors import InputError, RuledexError, did_you_mean, quoted

_DEMO: Final = "demo"
_DEMO_RULES: Final = 10_000
_DEMO_EVENTS: Final = 500
_NEEDED: Final = ("uvicorn", "uvloop", "httptools", "msgspec", "prometheus_client")


def serve_command(
    root: Annotated[str | None, typer.Argument(metavar="ROOT", help="A folder of indexes, or one index.")] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve rules to try, in a folder that is removed at the end.")
    ] = False,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 for any.")] = 8080,
    workers: Annotated[int, typer.Option("--workers", min=0, max=256, help="Processes; by default one per core.")] = 0,
    tokens: Annotated[
        str | None, typer.Option("--tokens", metavar="FILE", help="Who may ask: a file made by `ruledex token`.")
    ] = None,
    open_to_all: Annotated[
        bool, typer.Option("--open-to-all", help="Allow an address other than loopback without tokens.")
    ] = False,
    cors: Annotated[
        list[str] | None, typer.Option("--cors", metavar="ORIGIN", help="Pages that may ask; repeatable.")
    ] = None,
    events: Annotated[
        list[str] | None,
        typer.Option(
            "--events", metavar="[INDEX=]FILE", help="Recent events to begin with, to try rules on; repeatable."
        ),
    ] = None,
    mask: Annotated[
        list[str] | None,
        typer.Option("--mask", metavar="FIELD", help="Make a field of kept events null, as user.email; repeatable."),
    ] = None,
    decisions: Annotated[
        str | None, typer.Option("--decisions", metavar="FOLDER", help="Log which rules were found for which event.")
    ] = None,
    decisions_format: Annotated[
        str, typer.Option("--decisions-format", metavar="jsonl|parquet", help="The format of the decision log.")
    ] = "jsonl",
    decisions_sample: Annotated[
        float, typer.Option("--decisions-sample", min=0.0, max=1.0, help="Log this part of the events.")
    ] = 1.0,
    decisions_event_id: Annotated[
        str | None,
        typer.Option("--decisions-event-id", metavar="FIELD", help="The field that has an event's id."),
    ] = None,
    decisions_events: Annotated[
        bool, typer.Option("--decisions-events", help="Log the events, too, with masked fields as null.")
    ] = False,
    sources: Annotated[
        str | None, typer.Option("--sources", metavar="DIR", help="Where builds may read files of rules.")
    ] = None,
    compact_changes: Annotated[
        int, typer.Option("--compact-changes", min=0, help="Compact after so many changes; 0 for never.")
    ] = 20_000,
    quiet_hours: Annotated[
        str | None, typer.Option("--quiet-hours", metavar="2-5", help="Compact in these hours of the day.")
    ] = None,
    keep_versions: Annotated[
        int | None, typer.Option("--keep-versions", min=1, help="Versions to keep of those that compaction made.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any other setting (docs/service.md); repeatable."),
    ] = None,
    telemetry: Annotated[
        bool, typer.Option("--telemetry", help="Send spans to OpenTelemetry, as the OTEL_* variables say.")
    ] = False,
    log_requests: Annotated[bool, typer.Option("--log-requests", help="Log every request, not only failures.")] = False,
) -> None:
    """Serve the indexes of ROOT over HTTP, until interrupted.

    Examples:

        ruledex serve --demo

        ruledex serve indexes

        ruledex serve indexes --host 0.0.0.0 --tokens tokens.json --workers 8

    Logs are JSON lines on standard error; the line `serving` has the address of the page, where people can see
    and change the rules. `GET /v1/openapi.json` describes all endpoints.
    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise RuledexError(f"the service needs {', '.join(missing)}: pip install 'ruledex[service]'")
    if (root is None) is not demo:
        raise InputError("give a folder of indexes, or --demo")
    import msgspec

    from ruledex.service.settings import Settings
    from ruledex.service.supervisor import Supervisor

    given = {
        "root": root or "",
        "host": host,
        "port": port,
        "workers": workers or os.cpu_count() or 1,
        "tokens": tokens,
        "open_to_all": open_to_all,
        "cors": tuple(cors or ()),
        "events": tuple(events or ()),
        "mask": tuple(mask or ()),
        "decisions": decisions,
        "decisions_format": decisions_format,
        "decisions_sample": decisions_sample,
        "decisions_event_id": decisions_event_id,
        "decisions_events": decisions_events,
        "sources": sources,
        "compact_changes": compact_changes,
        "quiet_hours": quiet_hours,
        "keep_versions": keep_versions,
        "telemetry": telemetry,
        "log_requests": log_requests,
    }
    for setting in settings or []:
        name, equals, value = setting.partition("=")
        known = [field for field in Settings.__struct_fields__ if field not in ("root", "runtime")]
        if not equals:
            raise RuledexError(f"a setting is NAME=VALUE, not {quoted(setting)}; the names are {', '.join(known)}")
        if name not in known:
            hint = did_you_mean(name, known) or f"the names are {', '.join(known)}"
            raise RuledexError(f"there is no setting {quoted(name)}; {hint}")
        given[name] = value
    try:
        wanted = msgspec.convert(given, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise RuledexError(f"a setting is wrong: {error}") from None
    if wanted.telemetry:
        from ruledex.service.telemetry import check_telemetry

        check_telemetry()
    if root is not None:
        raise typer.Exit(Supervisor(wanted).run())
    with tempfile.TemporaryDirectory(prefix="ruledex-demo-") as folder:
        _build_demo(Path(folder) / _DEMO, wanted.port)
        seeds = wanted.events or (f"{_DEMO}={_write_events(Path(folder))}",)
        raise typer.Exit(Supervisor(msgspec.structs.replace(wanted, root=folder, events=seeds)).run())


def _build_demo(root: Path, port: int) -> None:
    """Build the index of the demo, and say how to ask it."""
    import orjson

    from ruledex.index import Index
    from ruledex.workloads import workload

    drawn = workload(_DEMO)
    Index.build(drawn.rules(_DEMO_RULES)).save(root)
    path = f"http://localhost:{port}/v1/indexes/{_DEMO}"
    typer.echo(f"the page: http://localhost:{port}/", err=True)
    typer.echo(f"the index {_DEMO} has {_DEMO_RULES:,} rules; ask it with", err=True)
    for event in drawn.events(2):
        body = shlex.quote(orjson.dumps(event).decode())
        typer.echo(f"curl '{path}/match' -H 'content-type: application/json' -d {body}", err=True)
    typer.echo(f"curl '{path}/rules?limit=3'", err=True)


def _write_events(folder: Path) -> Path:
    """Write events of the demo to a file."""
    import orjson

    from ruledex.workloads import workload

    path = folder / "events.jsonl"
    path.write_bytes(b"".join(orjson.dumps(event) + b"\n" for event in workload(_DEMO).events(_DEMO_EVENTS)))
    return path


def token_command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file of tokens; it is made if it does not exist.")],
    name: Annotated[str, typer.Option("--name", help="Who will use the token.")],
    scope: Annotated[
        list[str],
        typer.Option("--scope", metavar="SCOPE[:INDEX]", help="read, write or admin, of one index or all; repeatable."),
    ],
    rate: Annotated[
        float | None, typer.Option("--rate", min=0.001, help="Requests per second that the token allows.")
    ] = None,
) -> None:
    """Make a token, add its hash to FILE, and print it. It cannot be printed again.

    Examples:

        ruledex token tokens.json --name dashboards --scope read

        ruledex token tokens.json --name ads-team --scope write:ads --scope read --rate 50
    """
    from ruledex.service.tokens import EVERY, add_token

    scopes = {}
    for given in scope:
        level, _, index = given.partition(":")
        scopes[index or EVERY] = level
    typer.echo(add_token(file, name, scopes, rate))
