"""Indexes and their versions: describe, build, compact, roll back."""

from __future__ import annotations

import secrets
import shutil
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec
import orjson

from ruledex.artifact import current_version, list_versions, locate, read_manifest, written_at
from ruledex.errors import ArtifactError
from ruledex.index import is_index_name
from ruledex.service.indexes import ServedIndex, full_version
from ruledex.service.messages import (
    BuildIn,
    Described,
    IndexList,
    IndexSummary,
    Published,
    RollbackIn,
    SchemaOut,
    VersionDetails,
    Versions,
)
from ruledex.service.problems import Problem
from ruledex.service.request import JSON, NDJSON, Request
from ruledex.service.rules import index_etag, text_of

if TYPE_CHECKING:
    from ruledex.service.worker import Worker

UPLOADS: Final = {
    NDJSON: ".jsonl",
    "text/csv": ".csv",
    "text/plain": ".txt",
    "application/vnd.apache.parquet": ".parquet",
}
_MOST_DETAILED: Final = 100
_SUFFIXES: Final = (".jsonl", ".ndjson", ".csv", ".txt", ".parquet", ".gz")


class VersionEndpoints:
    """The handlers of indexes as a whole."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    async def list_indexes(self, request: Request) -> None:
        """Answer the indexes that the caller may read."""
        served = [one for name, one in sorted(self._worker.indexes.served.items()) if request.caller.may("read", name)]
        summaries = [IndexSummary(one.name, one.version, len(one.index), one.index.engine) for one in served]
        await request.answer(200, IndexList(summaries))

    async def describe(self, request: Request) -> None:
        """Answer an index in numbers."""
        served = self._worker.indexes.get(request.index)
        etag = index_etag(served.index)  # before the rest: if there is a change meanwhile, it is not that of now
        description = await self._worker.long_work.run(served.index.describe)
        told = Described(served.name, served.version, etag, description)
        data = orjson.dumps(msgspec.to_builtins(told), default=str, option=orjson.OPT_SERIALIZE_NUMPY)
        await request.answer(200, data, [(b"etag", etag.encode())])

    async def versions(self, request: Request) -> None:
        """Answer the versions on disk."""
        served = self._worker.indexes.get(request.index)
        await request.answer(200, await self._worker.long_work.run(_detailed_versions, served))

    async def schema(self, request: Request) -> None:
        """Answer the types of attributes."""
        served = self._worker.indexes.get(request.index)
        schema = (await self._worker.long_work.run(lambda: served.index.schema)).to_mapping()
        told = SchemaOut(
            served.version, schema.get("time_zone", "UTC"), schema.get("attributes", {}), schema.get("definitions", {})
        )
        await request.answer(200, orjson.dumps(msgspec.to_builtins(told), default=str))

    async def build(self, request: Request) -> None:
        """Build an index from an upload, from rules in the request, or from a file of the server."""
        if not is_index_name(request.index):
            told = "a name has letters, digits and . _ -, and does not begin with a point"
            raise Problem(422, "name", "The name of the index cannot be used", told)
        content_type = request.content_type
        if content_type == JSON:
            if request.has_query:
                told = "options of rules in JSON stand in the body; those behind the question mark are for uploads"
                raise Problem(400, "query", "A parameter is not taken here", told)
            given = await request.read(BuildIn)
            await self._build(request, given, *_source(request, given))
        elif content_type in UPLOADS:
            query = request.query
            on_error = query.get("on_error", "raise")
            if on_error not in ("raise", "skip"):
                raise Problem(400, "query", "A parameter is wrong", "on_error is raise or skip")
            given = BuildIn(
                engine=query.get("engine", "auto"),
                schema=_schema(query.get("schema")),
                on_error=cast(Any, on_error),
                id_column=query.get("id_column", "id"),
                expr_column=query.get("expr_column", "expr"),
            )
            # In a folder of its own, so that messages can name the file without a name of ours.
            folder = Path(request.settings.runtime) / f"upload-{secrets.token_hex(8)}"
            spool = folder / f"upload{UPLOADS[content_type]}"
            try:
                folder.mkdir()
                with spool.open("xb") as file:
                    async for chunk in request.chunks(request.settings.upload_bytes):
                        await self._worker.long_work.run(file.write, chunk)
                await self._build(request, given, str(spool), None)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        else:
            request.refuse_type(JSON, *UPLOADS)

    async def _build(self, request: Request, given: BuildIn, path: str | None, rows: list[Any] | None) -> None:
        options = {
            "engine": given.engine,
            "schema": given.schema,
            "definitions": given.definitions,
            "on_error": given.on_error,
            "columns": [given.id_column, given.expr_column],
        }
        asked = {"kind": "build", "path": path, "rows": rows, **options}
        await request.answer(200, msgspec.convert(await self._worker.change(request, asked, new=True), Published))

    async def compact(self, request: Request) -> None:
        """Build a new version from base and delta."""
        self._worker.indexes.get(request.index)
        await request.answer(200, msgspec.convert(await self._worker.change(request, {"kind": "compact"}), Published))

    async def roll_back(self, request: Request) -> None:
        """Make an older version the current one."""
        given = await request.read(RollbackIn)
        served = self._worker.indexes.get(request.index)
        version = await self._worker.long_work.run(full_version, served.root, given.version)
        answer = await self._worker.change(request, {"kind": "rollback", "version": version})
        await request.answer(200, msgspec.convert(answer, Published))


def _versions(served: ServedIndex) -> Versions:
    return Versions(current_version(served.root), list_versions(served.root))


def _detailed_versions(served: ServedIndex) -> Versions:
    """Return the versions, and of the newest what their manifests say."""
    found = _versions(served)
    written: dict[str, float] = {}
    for version in found.versions:
        with suppress(OSError):  # it was removed this very moment
            written[version] = written_at(served.root, version)
    store = locate(served.root)
    for version in sorted(written, key=lambda name: written[name], reverse=True)[:_MOST_DETAILED]:
        with suppress(OSError, ArtifactError):
            manifest = read_manifest(store, version)
            n_rules = int(manifest.metadata.get("counts", {}).get("rules", 0))
            at = datetime.fromtimestamp(written[version], UTC).isoformat(timespec="seconds")
            found.details.append(VersionDetails(version, n_rules, manifest.n_bytes, at))
    return found


def _schema(given: str | None) -> dict[str, Any] | None:
    if given is None:
        return None
    try:
        return msgspec.json.decode(given, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise Problem(400, "query", "A parameter is wrong", f"schema is a JSON object: {error}") from None


def _source(request: Request, given: BuildIn) -> tuple[str | None, list[Any] | None]:
    """Return the path or the rows to build from."""
    if (given.path is None) is (given.rules is None):
        raise Problem(422, "body", "The body is not as expected", "give either rules or a path")
    if given.rules is not None:
        most = request.settings.rule_characters
        return None, [[row.id, text_of(row, most), row.score, row.tags] for row in given.rules]
    assert given.path is not None
    if request.settings.sources is None:
        raise Problem(403, "path", "Paths are not taken", "the service has no folder of sources")
    folder = Path(request.settings.sources).resolve()
    try:
        path = (folder / given.path).resolve()
    except (OSError, ValueError, RuntimeError):
        path = folder
    if folder not in path.parents or path.suffix.lower() not in _SUFFIXES or not path.is_file():
        raise Problem(404, "path", "There is no such file of rules in the folder of sources")
    return str(path), None
