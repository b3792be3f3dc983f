"""Files of the decision log: one folder per index, files that rotate, and names that say which ones are complete.

    FOLDER/ads/20261118T092000-w0-4711-0001.jsonl          complete: it never changes again
    FOLDER/ads/.20261118T092500-w0-4711-0002.jsonl.spool   being written, and locked (flock) by its worker

Readers such as Spark skip names that begin with a point. A spool is always JSON lines. If its worker was killed, the
next worker that starts finishes it. Parquet is made from a spool when it is full, block by block.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from time import time
from typing import IO, Final

import pyarrow as pa

from ruledex.service.settings import Settings
from ruledex.service.telemetry import log_failure

_SPOOL: Final = ".spool"
_BLOCK_BYTES: Final = 4 * 1024 * 1024  # of a spool that are converted at once; no line is longer than a part of it
SCHEMA: Final = pa.schema(
    [
        ("event_id", pa.string()),
        ("time", pa.timestamp("us", "UTC")),
        ("index", pa.string()),
        ("version", pa.string()),
        ("changes", pa.int64()),
        ("operation", pa.string()),
        ("rules", pa.list_(pa.string())),
        ("matched", pa.int64()),
        ("request", pa.string()),
        ("parameters", pa.string()),
        ("event", pa.string()),
    ]
)


class _Spool:
    """A file that is being written."""

    def __init__(self, path: Path, file: IO[bytes], now: float) -> None:
        self.path = path
        self.file = file
        self.begun = now
        self.n_bytes = 0


class DecisionFiles:
    """The files of one worker. Not for several threads."""

    def __init__(self, settings: Settings, worker: int, clock: Callable[[], float] = time) -> None:
        assert settings.decisions is not None
        self._settings = settings
        self._folder = Path(settings.decisions)
        self._writer = f"w{worker}-{os.getpid()}"
        self._clock = clock
        self._number = 0
        self._spools: dict[str, _Spool] = {}

    def write(self, index: str, lines: list[bytes]) -> None:
        """Append lines to the file of an index, and finish it if it is full."""
        spool = self._spools.get(index)
        if spool is None:
            spool = self._spools[index] = self._begin(index)
        data = b"".join(lines)
        spool.file.write(data)
        spool.file.flush()
        spool.n_bytes += len(data)
        if spool.n_bytes >= self._settings.decisions_file_bytes:
            self._finish(index)

    def finish_old(self) -> None:
        """Finish the files that are old."""
        now = self._clock()
        for index in [
            index for index, spool in self._spools.items() if now - spool.begun >= self._settings.decisions_file_seconds
        ]:
            self._finish(index)

    def close(self) -> None:
        """Finish all files."""
        for index in list(self._spools):
            self._finish(index)

    def recover(self) -> int:
        """Finish the files of workers that were killed. Returns how many there were."""
        n_found = 0
        for path in sorted(self._folder.glob(f"*/.*{_SPOOL}")):
            with suppress(FileNotFoundError), path.open("r+b") as file:
                if _lock(file) and path.exists():  # nobody writes it, and nobody has renamed it meanwhile
                    _cut_last_line(file)
                    finish_spool(path)
                    self._remove_old(path.parent)
                    n_found += 1
        return n_found

    def _begin(self, index: str) -> _Spool:
        folder = self._folder / index
        folder.mkdir(parents=True, exist_ok=True)
        now = self._clock()
        while True:
            self._number += 1
            name = f"{datetime.fromtimestamp(now, UTC):%Y%m%dT%H%M%S}-{self._writer}-{self._number:04d}"
            path = folder / f".{name}.{self._settings.decisions_format}{_SPOOL}"
            file = path.open("xb")
            if _lock(file):
                return _Spool(path, file, now)
            file.close()  # another worker took it for one that was left behind

    def _finish(self, index: str) -> None:
        spool = self._spools.pop(index)
        with spool.file:
            os.fsync(spool.file.fileno())
            finish_spool(spool.path)
        self._remove_old(spool.path.parent)

    def _remove_old(self, folder: Path) -> None:
        if self._settings.decisions_keep:
            complete = sorted(path for path in folder.iterdir() if path.suffix in (".jsonl", ".parquet"))
            for path in complete[: -self._settings.decisions_keep]:
                path.unlink(missing_ok=True)


def _lock(file: IO[bytes]) -> bool:
    """Take the lock of a spool, which its process holds until it closes the file. Returns whether it was free."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _cut_last_line(file: IO[bytes]) -> None:
    """Remove what follows the last end of a line: it was not written to its end."""
    end = file.seek(0, os.SEEK_END)
    while end:
        begin = max(0, end - 65_536)
        file.seek(begin)
        found = file.read(end - begin).rfind(b"\n")
        end = begin + found + 1 if found >= 0 else begin
        if found >= 0:
            break
    file.truncate(end)


def finish_spool(path: Path) -> None:
    """Give a spool its final name, converted if that is one of Parquet. One that is empty is removed."""
    final = path.with_name(path.name[1:].removesuffix(_SPOOL))
    if path.stat().st_size == 0:
        path.unlink()
        return
    if final.suffix == ".parquet":
        try:
            _write_parquet(path, final)
        except (pa.ArrowException, OSError) as error:
            # What was logged is not lost: it stays as JSON lines.
            log_failure("decisions not converted", error, file=final.name)
            path.replace(final.with_suffix(".jsonl"))
            return
        path.unlink()
    else:
        path.replace(final)


def _write_parquet(spool: Path, final: Path) -> None:
    import pyarrow.json as pj
    import pyarrow.parquet as pq

    unfinished = final.with_name(f".{final.name}.unfinished")
    parse = pj.ParseOptions(explicit_schema=SCHEMA, unexpected_field_behavior="ignore")
    blocks = pj.open_json(spool, pj.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES), parse)
    with pq.ParquetWriter(unfinished, SCHEMA, compression="zstd") as writer:
        for block in blocks:
            writer.write_batch(block)
    unfinished.replace(final)
