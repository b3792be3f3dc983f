"""The writer: the one process of a service that changes indexes. It owns their journals and publishes their versions.

Changes of one index are made one after the other, so the check of a tag and the change it guards are one step. Those
that wait at the same time go to disk together, and each is answered when it is there. Builds and compactions run beside
changes.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import msgspec

from ruledex.artifact import collect_garbage, list_versions, publish_existing
from ruledex.errors import ArtifactError, RuledexError, RulesError
from ruledex.index import Index, RuleReader, changes_together, index_roots
from ruledex.language.schema import Schema
from ruledex.service.channel import frame, read_frame
from ruledex.service.definitions import change_definition
from ruledex.service.indexes import warm_kernels
from ruledex.service.messages import Changed, ChangedRules, Defined, Published, RuleOut
from ruledex.service.problems import Problem, fault_of, problem_of
from ruledex.service.recent import RecentEvent, RecentEvents
from ruledex.service.rules import check_index_etag, index_etag, preview, rule_out
from ruledex.service.settings import Settings
from ruledex.service.supervisor import settings_of_process, stop_with_parent
from ruledex.service.telemetry import METRICS_FOLDER, Metrics, log, log_failure, name_process, resident_bytes
from ruledex.sources import Columns

_THREADS: Final = 4
_QUIET_CHECK_SECONDS: Final = 60.0
_MOST_FAULTS: Final = 100
_MOST_TRIES: Final = 4  # to change an index while others publish versions
_MOST_TOGETHER: Final = 256  # changes that go to disk at once: the first of them waits for the last

Made: TypeAlias = Changed | ChangedRules | Defined


class WrittenIndex:
    """An index that the writer has open."""

    def __init__(self, name: str, root: Path) -> None:
        self.name = name
        self.root = root
        self.index: Index | None = None
        self.turn = asyncio.Lock()  # held by whoever changes what is on disk
        self.waiting: list[tuple[dict[str, Any], asyncio.Future[Made]]] = []  # changes, in the order in which they came
        self.is_changing = False  # whether somebody takes them from there
        self.publishing = asyncio.Lock()  # one build, compaction or rollback at a time
        self.n_changes = 0  # since the version was published, as far as this process knows
        self.versions: list[str] = []  # that this process published, the oldest first

    def opened(self, trust: bool | None) -> Index:
        """Return the index, opened at its first use."""
        if self.index is None:
            self.index = Index.open(self.root, trust=trust)
            self.n_changes = int(self.index.describe()["changes"].get("journal_records", 0))
        return self.index


class Writer:
    """Makes changes for workers."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._root = Path(settings.root)
        self._threads = ThreadPoolExecutor(_THREADS, "change")
        self._builders = ThreadPoolExecutor(1, "build")
        self._written: dict[str, WrittenIndex] = {}
        self._workers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._recent = RecentEvents(settings)
        self._hidden = (settings.root, settings.runtime, settings.sources or settings.root)
        self.stopping = asyncio.Event()

    async def run(self, listener: socket.socket) -> None:
        """Serve workers until told to stop. Changes under way are finished first."""
        server = await asyncio.start_unix_server(self._serve, sock=listener, limit=1 << 20)
        quiet = asyncio.create_task(self._compact_in_quiet_hours())
        measured = asyncio.create_task(self._measure())
        await self.stopping.wait()
        server.close()
        quiet.cancel()
        measured.cancel()
        while self._tasks:
            await asyncio.wait(self._tasks)
        for worker in self._workers:
            worker.close()

    async def _measure(self) -> None:
        """Note now and then what metrics say of this process."""
        metrics = Metrics(Path(self._settings.runtime) / METRICS_FOLDER)
        while True:
            metrics.memory.set(resident_bytes())
            metrics.waiting_changes.set(len(self._tasks))
            for index, n_kept in self._recent.sizes().items():
                metrics.recent_kept.labels(index).set(n_kept)
            await asyncio.sleep(self._settings.refresh_seconds)

    async def _serve(self, reader: asyncio.StreamReader, worker: asyncio.StreamWriter) -> None:
        self._workers.add(worker)
        worker.write(frame({"hello": os.getpid()}))
        try:
            while (message := await read_frame(reader)) is not None:
                if "recent" in message:
                    for index, events in msgspec.convert(message["recent"], dict[str, list[RecentEvent]]).items():
                        self._recent.add(index, events)
                    continue
                self._begin(self._handle(message, worker))
        finally:
            self._workers.discard(worker)
            worker.close()

    async def _handle(self, message: dict[str, Any], worker: asyncio.StreamWriter) -> None:
        name, change = message["index"], message["change"]
        answer: dict[str, Any] = {"number": message["number"]}
        try:
            made = await self._make(name, change)
            answer["answer"] = msgspec.to_builtins(made)
        except Exception as error:
            source = change.get("path")
            hidden = self._hidden if source is None else (str(Path(source).parent), *self._hidden)
            problem = problem_of(error, hidden)
            if problem.details.status >= 500:
                log_failure("change failed", error, index=name, kind=change["kind"])
            answer["problem"] = msgspec.to_builtins(problem.details)
        with suppress(ConnectionError, RuntimeError):
            worker.write(frame(answer))

    async def _make(self, name: str, change: dict[str, Any]) -> Any:
        if change["kind"] == "recent":
            events, n_kept = self._recent.newest(name, change["limit"])
            return {"events": events, "kept": n_kept}
        written = self._find(name, is_new=change["kind"] == "build")
        kind = change["kind"]
        if kind in ("build", "compact", "rollback"):
            async with written.publishing:
                made = await self._publish(written, kind, change)
            self._tell_workers(name)
            return made
        return await self._wait_for(written, change)

    def _find(self, name: str, *, is_new: bool) -> WrittenIndex:
        found = self._written.get(name)
        if found is None:
            root = index_roots(self._root).get(name)
            if root is None:
                if not is_new or index_roots(self._root).get(self._root.name) == self._root:
                    raise Problem(404, "index", "There is no such index")
                root = self._root / name
            found = self._written.setdefault(name, WrittenIndex(name, root))
        return found

    def _tell_workers(self, name: str) -> None:
        told = frame({"changed": name, "at": time.time()})
        for worker in self._workers:
            with suppress(ConnectionError, RuntimeError):
                worker.write(told)

    async def _run(self, threads: ThreadPoolExecutor, function: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(threads, function, *arguments)

    # Changes of rules.

    async def _wait_for(self, written: WrittenIndex, change: dict[str, Any]) -> Made:
        """Have a change made together with others that wait. Returns what it did once it is on disk."""
        waiting: asyncio.Future[Made] = asyncio.get_running_loop().create_future()
        written.waiting.append((change, waiting))
        if not written.is_changing:
            written.is_changing = True
            self._begin(self._change_all(written))
        return await waiting

    async def _change_all(self, written: WrittenIndex) -> None:
        while written.waiting:
            async with written.turn:
                together = written.waiting[:_MOST_TOGETHER]
                del written.waiting[:_MOST_TOGETHER]
                outcomes: list[Made | Exception]
                try:
                    outcomes = await self._run(self._threads, self._change, written, [change for change, _ in together])
                except Exception as error:
                    outcomes = [error] * len(together)
            self._tell_workers(written.name)
            for (_, waiting), outcome in zip(together, outcomes, strict=True):
                if isinstance(outcome, Exception):
                    waiting.set_exception(outcome)
                else:
                    waiting.set_result(outcome)
                    written.n_changes += 1
            self._compact_if_large(written)
        written.is_changing = False

    def _change(self, written: WrittenIndex, changes: list[dict[str, Any]]) -> list[Made | Exception]:
        """Make changes, each by itself, and wait until all are on disk. Returns what each did, or why it is refused."""
        n_tries = 0
        while True:
            index = written.opened(self._settings.trust)
            index.refresh()  # another process may have changed it: tags are checked against what is on disk
            outcomes: list[Made | Exception] = []
            n_tries += 1
            try:
                with changes_together(index):
                    begun = RuleReader(index)
                    for change in changes:
                        try:
                            outcomes.append(make_change(index, change, is_changed=not begun.is_of(index)))
                        except Exception as error:  # the others are made all the same
                            outcomes.append(error)
                made = [outcome for outcome in outcomes if not isinstance(outcome, Exception)]
                if len(made) == 1 and isinstance(made[0], ChangedRules):  # among several, it would be that of all
                    made[0].etag = index_etag(index)
                return outcomes
            except Exception as error:
                if outcomes:
                    written.index = None  # they could not be written, and the index is closed
                    raise
                # Otherwise another version was published this very moment.
                if n_tries == _MOST_TRIES or not isinstance(error, ArtifactError):
                    raise

    # Versions.

    async def _publish(self, written: WrittenIndex, kind: str, change: dict[str, Any]) -> Published:
        if kind == "rollback":
            async with written.turn:
                await self._run(self._threads, self._roll_back, written, change["version"])
            return Published(written.name, change["version"], len(written.opened(self._settings.trust)))
        if kind == "compact":
            version = await self._run(self._builders, self._compact, written)
            return Published(written.name, version, len(written.opened(self._settings.trust)))
        built: Index = await self._run(self._builders, self._build, change)
        async with written.turn:  # what is being changed meanwhile is replaced as a whole
            version = await self._run(self._threads, built.save, written.root)
            written.index, written.n_changes = built, 0
        log("info", "built", index=written.name, version=version, rules=len(built), skipped=len(built.faults))
        faults = [fault_of(fault.error, fault.rule_id, fault.line) for fault in built.faults[:_MOST_FAULTS]]
        return Published(written.name, version, len(built), len(built.faults), faults)

    def _build(self, change: dict[str, Any]) -> Index:
        schema = None if change["schema"] is None else Schema.of_mapping(change["schema"])
        columns = Columns(id=change["columns"][0], expr=change["columns"][1])
        rows = change["path"] if change["rows"] is None else [tuple(row) for row in change["rows"]]
        most = self._settings.rule_characters
        built = Index.build(
            rows, change["engine"], None, schema, change["on_error"], columns=columns, definitions=change["definitions"]
        )
        if change["rows"] is None:
            long = next((rule_id for rule_id, text in built if len(text) > most), None)
            if long is not None:
                told = f"the rule {long!r} has more than {most:,} characters"
                raise Problem(422, "limit", "A rule is too long", told)
        return built

    def _compact(self, written: WrittenIndex) -> str:
        index = written.opened(self._settings.trust)
        index.refresh()
        n_before = written.n_changes
        version = index.compact()
        assert version is not None
        written.n_changes -= n_before
        log("info", "compacted", index=written.name, version=version, changes=n_before)
        self._remove_old(written, version)
        return version

    def _remove_old(self, written: WrittenIndex, version: str) -> None:
        if self._settings.keep_versions is None:
            return
        if version not in written.versions:
            written.versions.append(version)
        if len(written.versions) > self._settings.keep_versions:
            old = set(written.versions[: -self._settings.keep_versions])
            written.versions = written.versions[-self._settings.keep_versions :]
            keep = [known for known in list_versions(written.root) if known not in old]
            collect_garbage(written.root, keep)

    def _roll_back(self, written: WrittenIndex, version: str) -> None:
        publish_existing(written.root, version)
        index = written.opened(self._settings.trust)
        index.refresh()
        written.n_changes = int(index.describe()["changes"].get("journal_records", 0))
        log("info", "rolled back", index=written.name, version=version)

    # Compaction by policy.

    def _compact_if_large(self, written: WrittenIndex) -> None:
        if 0 < self._settings.compact_changes <= written.n_changes and not written.publishing.locked():
            self._begin_compaction(written)

    async def _compact_in_quiet_hours(self) -> None:
        while True:
            await asyncio.sleep(_QUIET_CHECK_SECONDS)
            if self._settings.is_quiet(datetime.now().hour):
                for written in self._written.values():
                    if written.n_changes and not written.publishing.locked():
                        self._begin_compaction(written)

    def _begin_compaction(self, written: WrittenIndex) -> None:
        async def compact() -> None:
            async with written.publishing:
                try:
                    await self._run(self._builders, self._compact, written)
                except (RuledexError, OSError, MemoryError) as error:
                    log_failure("compaction failed", error, index=written.name)
                    return
            self._tell_workers(written.name)

        self._begin(compact())

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def make_change(index: Index, change: dict[str, Any], *, is_changed: bool = False) -> Made:
    """Make a change of rules. Returns what it did. `is_changed` tells that others will go to disk together with it."""
    kind = change["kind"]
    if kind in ("define", "undefine"):
        return change_definition(index, change["name"], change["text"])
    if kind in ("add", "update", "remove"):
        check_index_etag(index, change["if_match"], is_changed=is_changed)
        return _change_many(index, kind, change["rows"])
    current = RuleReader(index).rule(change["id"])
    changed = preview(current, kind, change["id"], tuple(change["content"]), *change["etags"])
    changed.dry_run = False
    if changed.action == "unchanged":
        return changed
    if kind == "delete":
        index.remove([change["id"]])
        return changed
    rule = cast(RuleOut, changed.rule)
    if current is not None and (rule.text, rule.tags) == (current.text, rule_out(current).tags):
        index.set_score(rule.id, rule.score)
    else:
        _put(index, [(rule.id, rule.text, rule.score, rule.tags)], replace=current is not None)
    changed.rule = rule_out(index.rule(rule.id))
    return changed


def _put(index: Index, rows: list[tuple[Any, ...]], *, replace: bool) -> None:
    try:
        index.update(rows) if replace else index.add(rows)
    except RulesError as error:
        if len(error.faults) == 1 and len(rows) == 1:
            raise error.faults[0].error from None
        raise


def _change_many(index: Index, kind: str, rows: list[Any]) -> ChangedRules:
    if kind == "remove":
        return ChangedRules(removed=index.remove(rows))
    given = [tuple(row) for row in rows]
    return ChangedRules(added=index.add(given)) if kind == "add" else ChangedRules(updated=index.update(given))


def run_writer() -> None:
    """Run the writer's process. The supervisor gives it the listening socket."""
    settings, descriptors = settings_of_process()
    name_process("writer")
    listener = socket.socket(fileno=descriptors["listener"])
    warm_kernels()

    async def run() -> None:
        writer = Writer(settings)
        stop_with_parent(descriptors["parent"], writer.stopping.set)
        log("info", "started")
        await writer.run(listener)
        log("info", "stopped")

    asyncio.run(run())
    sys.stderr.flush()
    os._exit(0)  # threads that still build hold up nothing


if __name__ == "__main__":
    run_writer()
