"""The supervisor: binds the address, starts the writer and the workers, replaces those that die, and stops them.

It answers nothing itself and loads neither Arrow nor Numba. If it dies, its processes stop: they hold the other end of
a pipe.

Settings and descriptors are handed over in the environment: a process asks `settings_of_process` for them.
"""

from __future__ import annotations

import asyncio
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from ruledex.errors import RuledexError
from ruledex.service.settings import Settings
from ruledex.service.telemetry import METRICS_FOLDER, forget_process, log, name_process
from ruledex.service.tokens import read_token_file

_WRITER: Final = "ruledex.service.writer"
_WORKER: Final = "ruledex.service.worker"
_WRITER_SOCKET: Final = "writer.sock"
_POLL_SECONDS: Final = 0.05
_MOST_DEATHS: Final = 10  # of one process within a minute, before the service gives up
_LONGEST_PAUSE: Final = 5.0  # seconds before a process that died often is started again
_SETTINGS: Final = "RULEDEX_SERVICE"


class _Child:
    """A process with a place: the writer, or a worker of a number."""

    def __init__(self, name: str, module: str, descriptors: dict[str, int]) -> None:
        self.name = name
        self.module = module
        self.descriptors = descriptors
        self.process: subprocess.Popen[bytes] | None = None
        self.deaths: list[float] = []
        self.start_at = 0.0


class Supervisor:
    """Runs a service until a signal stops it."""

    def __init__(self, settings: Settings) -> None:
        self._given = settings.check()
        self._stopping = False
        self._is_ready = False

    def run(self) -> int:
        """Serve. Returns the exit status."""
        name_process("supervisor")
        root = Path(self._given.root).absolute()
        if not root.is_dir():
            raise RuledexError(f"{root} is not a folder")
        if self._given.tokens is not None:
            read_token_file(self._given.tokens)  # what is wrong with it is told before anything starts
        listener = bind(self._given)
        port = listener.getsockname()[1]
        runtime = tempfile.mkdtemp(prefix="ruledex-")
        tokens = None if self._given.tokens is None else str(Path(self._given.tokens).absolute())
        seeds = self._given.seeds().items()
        settings = msgspec.structs.replace(
            self._given,
            root=str(root),
            runtime=runtime,
            port=port,
            tokens=tokens,
            decisions=None if self._given.decisions is None else str(made_folder(self._given.decisions)),
            events=tuple(
                f"{name}={Path(path).absolute()}" if name else str(Path(path).absolute()) for name, path in seeds
            ),
        )
        (Path(runtime) / METRICS_FOLDER).mkdir()
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        channel.bind(f"{runtime}/{_WRITER_SOCKET}")
        channel.listen(128)
        alive_read, alive_write = os.pipe()
        ready_read, ready_write = os.pipe()
        children = [_Child("writer", _WRITER, {"listener": channel.fileno(), "parent": alive_read})]
        for number in range(settings.workers):
            handed = {"listener": listener.fileno(), "parent": alive_read, "ready": ready_write}
            children.append(_Child(f"worker {number}", _WORKER, handed))
        self._catch_signals()
        try:
            return self._watch(settings, children, ready_read)
        finally:
            self._stop(children, settings)
            os.close(alive_write)
            listener.close()
            channel.close()
            shutil.rmtree(runtime, ignore_errors=True)

    def _catch_signals(self) -> None:
        def stop(_number: int, _frame: Any) -> None:
            self._stopping = True

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)

    def _watch(self, settings: Settings, children: list[_Child], ready: int) -> int:
        """Start what is missing until told to stop."""
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        while not self._stopping:
            for number, child in enumerate(children):
                if child.process is not None and (status := child.process.poll()) is not None:
                    self._note_death(settings, child, status)
                    if len(child.deaths) > _MOST_DEATHS:
                        log("error", "gives up", name=child.name)
                        return 1
                if child.process is None and time.monotonic() >= child.start_at:
                    # Numbers are no descriptors; they are handed over beside them.
                    child.process = start_process(child.module, settings, child.descriptors, number - 1)
            if select.select([ready], [], [], _POLL_SECONDS)[0]:
                os.read(ready, 1024)
                if not self._is_ready:
                    self._is_ready = True
                    address = f"http://{host}:{settings.port}"
                    log("info", "serving", address=address, page=f"{address}/", workers=settings.workers)
        return 0

    def _note_death(self, settings: Settings, child: _Child, status: int) -> None:
        assert child.process is not None
        log("error", "process ended", name=child.name, ended=child.process.pid, status=status)
        forget_process(Path(settings.runtime) / METRICS_FOLDER, child.process.pid)
        now = time.monotonic()
        child.deaths = [death for death in child.deaths if now - death < 60.0] + [now]
        # At once the first time: others wait for it. Later with pauses, since something is wrong.
        child.start_at = now + min(_LONGEST_PAUSE, 0.2 * (len(child.deaths) - 1))
        child.process = None

    def _stop(self, children: list[_Child], settings: Settings) -> None:
        """Stop the workers, which finish the requests under way, then the writer, which they need for that."""
        log("info", "stopping")
        deadline = time.monotonic() + settings.graceful_seconds + 5.0
        for some in (children[1:], children[:1]):
            running = [child.process for child in some if child.process is not None]
            for process in running:
                with suppress(ProcessLookupError):
                    process.terminate()
            for process in running:
                try:
                    process.wait(max(0.1, deadline - time.monotonic()))
                except subprocess.TimeoutExpired:
                    log("error", "killed", ended=process.pid)
                    process.kill()
                    process.wait()


def made_folder(path: str) -> Path:
    """Return a folder by its absolute path. It is made if it does not exist."""
    folder = Path(path).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RuledexError(f"the folder {path} cannot be made: {error.strerror or error}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise RuledexError(f"the folder {path} cannot be written to")
    return folder


def bind(settings: Settings) -> socket.socket:
    """Bind the address. Nobody can connect before the first worker is ready and listens."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        raise RuledexError(f"{settings.host}:{settings.port} cannot be bound: {error.strerror or error}") from None
    listener.setblocking(False)
    return listener


class _Handed(msgspec.Struct):
    settings: Settings
    descriptors: dict[str, int]


def start_process(module: str, settings: Settings, descriptors: dict[str, int], number: int) -> subprocess.Popen[bytes]:
    """Start a process of the service, which inherits some descriptors. Workers have numbers from 0."""
    handed = msgspec.json.encode(_Handed(settings, descriptors | {"number": number})).decode()
    # A process of a service compiles before it begins to answer, so that no request waits for that.
    environment = {"RULEDEX_COMPILE": "now"} | os.environ | {_SETTINGS: handed}
    # A new session: a Ctrl+C at the terminal goes to the supervisor alone, which stops the others in order.
    return subprocess.Popen(
        [sys.executable, "-m", module], env=environment, pass_fds=[*descriptors.values()], start_new_session=True
    )


def settings_of_process() -> tuple[Settings, dict[str, int]]:
    """Return the settings, and the descriptors and the number that the supervisor handed to this process."""
    handed = msgspec.json.decode(os.environ.pop(_SETTINGS), type=_Handed)
    return handed.settings, handed.descriptors


def stop_with_parent(descriptor: int, stop: Callable[[], None]) -> None:
    """Call `stop` on SIGTERM, and when the supervisor is gone: it holds the other end of a pipe."""
    loop = asyncio.get_running_loop()

    def parent_ended() -> None:
        loop.remove_reader(descriptor)
        stop()

    loop.add_reader(descriptor, parent_ended)
    loop.add_signal_handler(signal.SIGTERM, stop)
    loop.add_signal_handler(signal.SIGINT, stop)
