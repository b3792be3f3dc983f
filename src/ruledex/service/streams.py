"""Many events in one request, as NDJSON or as an Arrow stream. Answers flow while the request still comes in.

Memory is bounded: what has come is answered before more is read, and the size of the next batch follows the number of
matches of the last one. No thread waits for a client.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from ruledex.errors import RuledexError
from ruledex.index import Index
from ruledex.service.matching import Question, answer_batch, answer_lines, problem_line
from ruledex.service.problems import Problem, problem_of
from ruledex.service.request import ARROW, NDJSON, Request

if TYPE_CHECKING:
    from ruledex.service.indexes import ServedIndex
    from ruledex.service.worker import Worker

_LARGEST_BATCH: Final = 8_192
_BLOCK: Final = 512  # events that engines answer at once: a batch of whole blocks leaves none half full
_MATCHES_PER_BATCH: Final = 500_000  # as lists of Python's
_MATCHES_PER_TABLE: Final = 4_000_000  # as numbers in one array
_FEW_BYTES: Final = 2_048  # of lines that are answered on the event loop


def next_batch_size(size: int, n_events: int, n_matches: int, most: int = _MATCHES_PER_BATCH) -> int:
    """Return how many events to answer next, so that their matches fit into memory well: some `most` of them."""
    if n_events < size and n_matches < most:
        return size
    size = max(1, min(2 * size, _LARGEST_BATCH, most * n_events // max(1, n_matches)))
    return size - size % _BLOCK if size > _BLOCK else size


# NDJSON.


async def answer_ndjson(
    worker: Worker, request: Request, question: Question, served: ServedIndex, pinned: Index | None
) -> None:
    """Answer each line with a line, in order. A line that is no event gets its problem, and the others go on.

    A stream may live for long: unless a version is pinned, each batch is asked of what is current then.
    """
    most, depth = request.settings.line_bytes, request.settings.event_depth
    decisions = worker.decisions_of(request, question)

    async def answer(lines: list[bytes]) -> None:
        at = 0
        while at < len(lines):
            some, index = lines[at : at + served.batch_size], pinned or served.index
            at += len(some)
            if question.is_quick and sum(map(len, some)) <= _FEW_BYTES:
                told = answer_lines(index, question, some, depth, decisions)
            else:
                told = await worker.long_work.run(answer_lines, index, question, some, depth, decisions)
            worker.count(request, told.n_events, told.n_matches)
            served.batch_size = next_batch_size(served.batch_size, told.n_events, told.n_matches)
            if not request.answered:
                await request.begin(NDJSON)
            await request.write(told.data)
            if question.is_decision:
                for line, n_found in told.events[: worker.sample.room(request.index)]:
                    worker.sample.add(request.index, line, question.n_matched(n_found))

    try:
        rest = b""
        async for chunk in request.chunks():
            *lines, rest = (rest + chunk).split(b"\n")
            if len(rest) > most or any(len(line) > most for line in lines):
                raise Problem(413, "size", "A line is too long", f"at most {most:,} bytes are taken")
            await answer([line for line in lines if line.strip()])
        if rest.strip():
            await answer([rest])
    except (Problem, RuledexError) as error:
        if not request.answered:
            raise
        # The status is sent already: the last line says what is wrong.
        await request.write(problem_line(problem_of(error, worker.hidden)) + b"\n", last=True)
        return
    if not request.answered:
        await request.begin(NDJSON)
    await request.write(b"", last=True)


# Arrow.


class _Pipe:
    """A file in memory that pyarrow reads from or writes to; what was read or taken is forgotten."""

    def __init__(self) -> None:
        self._data = bytearray()
        self.closed = False

    def __len__(self) -> int:
        return len(self._data)

    def write(self, data: Any) -> int:
        self._data += data
        return len(data)

    def read(self, n_bytes: int = -1) -> bytes:
        if not 0 <= n_bytes < len(self._data):
            whole, self._data = self._data, bytearray()
            return bytes(whole)
        with memoryview(self._data) as view:
            data = bytes(view[:n_bytes])
        del self._data[:n_bytes]
        return data

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


class ArrowInput:
    """Cuts a stream into its messages, and reads a record batch once all of its bytes are there."""

    _BATCH: Final = 3  # the header's type in a message
    _CONTINUES: Final = b"\xff\xff\xff\xff"
    _MOST_METADATA: Final = 1024 * 1024

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._came = bytearray()
        self._pipe = _Pipe()
        self._reader: pa.RecordBatchStreamReader | None = None
        self._n_batches = 0
        self._ended = False

    def feed(self, chunk: bytes) -> None:
        """Take bytes. Raises if they are not messages, or if one is too large."""
        self._came += chunk
        while not self._ended and len(self._came) >= 8:
            if self._came[:4] != self._CONTINUES:
                raise not_arrow("a message does not begin as one")
            (n_metadata,) = struct.unpack_from("<i", self._came, 4)
            if n_metadata == 0:
                self._ended = True
                n_bytes = 8
            else:
                if not 0 < n_metadata <= self._MOST_METADATA:
                    raise not_arrow("the metadata of a message are too long")
                if len(self._came) < 8 + n_metadata:
                    return
                kind, n_body = self._look(8, 8 + n_metadata)
                if not 0 <= n_body <= self._most:
                    told = f"at most {self._most:,} bytes are taken"
                    raise Problem(413, "size", "A record batch is too large", told)
                n_bytes = 8 + n_metadata + n_body
                if len(self._came) < n_bytes:
                    return
                self._n_batches += kind == self._BATCH
            if len(self._pipe) > 2 * self._most:  # dictionaries without a batch that would use them
                raise not_arrow("dictionaries follow each other, and no record batch")
            self._pipe.write(self._came[:n_bytes])
            del self._came[:n_bytes]

    @property
    def has_batch(self) -> bool:
        """Whether all bytes of another record batch are there."""
        return self._n_batches > 0

    def next(self) -> pa.RecordBatch:
        """Return the next record batch, checked in full: it comes from a stranger."""
        try:
            if self._reader is None:
                self._reader = pa.ipc.open_stream(self._pipe)
            batch = self._reader.read_next_batch()
            batch.validate(full=True)
        except (pa.ArrowException, OSError, ValueError, StopIteration) as error:
            raise not_arrow(str(error)) from None
        self._n_batches -= 1
        return batch

    def end(self) -> None:
        """Raise if the body ended inside a message."""
        if self._came and not self._ended:
            raise not_arrow("it ends inside a message")

    def _look(self, begin: int, end: int) -> tuple[int, int]:
        """Return the type of a message's header and the length of its body, from the flatbuffer of its metadata."""
        data = memoryview(self._came)[begin:end]
        try:
            (table,) = struct.unpack_from("<I", data)
            kind_at, header_at, length_at = _fields(data, table, 1, 2, 3)
            kind = data[kind_at] if kind_at else 0
            if kind in (2, self._BATCH) and header_at:
                header = header_at + struct.unpack_from("<I", data, header_at)[0]
                batch = header
                if kind == 2:  # a dictionary has its batch inside
                    (inside,) = _fields(data, header, 1)
                    batch = inside + struct.unpack_from("<I", data, inside)[0]
                if _fields(data, batch, 3)[0]:
                    raise Problem(415, "compression", "Compressed record batches are not taken")
            return kind, struct.unpack_from("<q", data, length_at)[0] if length_at else 0
        except (struct.error, IndexError):
            raise not_arrow("the metadata of a message cannot be read") from None
        finally:
            data.release()


def _fields(data: memoryview, table: int, *numbers: int) -> list[int]:
    """Return where some fields of a flatbuffer's table are; 0 for one that is left out."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    if vtable < 0:
        raise IndexError(vtable)
    (n_bytes,) = struct.unpack_from("<H", data, vtable)
    found = []
    for number in numbers:
        at = 4 + 2 * number
        offset = struct.unpack_from("<H", data, vtable + at)[0] if at + 2 <= n_bytes else 0
        found.append(table + offset if offset else 0)
    return found


def not_arrow(why: str) -> Problem:
    """Return the problem of a body that is no Arrow stream."""
    return Problem(400, "arrow", "The body is not an Arrow stream", why.split("\n")[0][:200])


async def answer_arrow(worker: Worker, request: Request, question: Question, served: ServedIndex, index: Index) -> None:
    """Answer an Arrow stream with an Arrow stream of one row per event, all by one version of the index.

    An error after the answer has begun cuts the connection, since a stream of Arrow has no place for it.
    """
    came, out = ArrowInput(request.settings.body_bytes), _Pipe()
    decisions = worker.decisions_of(request, question)
    empty, _ = answer_batch(index, question, pa.RecordBatch.from_pylist([], pa.schema([])))
    writer = pa.ipc.new_stream(out, empty.schema)

    def answer(some: pa.RecordBatch) -> tuple[bytes, list[int]]:
        found, counts = answer_batch(index, question, some, decisions)
        writer.write_batch(found)  # in the thread too: it copies megabytes
        return out.read(), counts

    async for chunk in request.chunks():
        came.feed(chunk)
        while came.has_batch:
            batch = await worker.long_work.run(came.next)
            if batch.num_rows > request.settings.batch_events:
                most = f"at most {request.settings.batch_events:,} events are taken"
                raise Problem(413, "size", "A record batch has too many events", most)
            at = 0
            while at < batch.num_rows:
                some = batch.slice(at, served.table_size)
                told, counts = await worker.long_work.run(answer, some)
                n_matches = sum(counts)
                at += some.num_rows
                served.table_size = next_batch_size(served.table_size, some.num_rows, n_matches, _MATCHES_PER_TABLE)
                worker.count(request, some.num_rows, n_matches)
                if not request.answered:
                    await request.begin(ARROW)
                await request.write(told)
                if question.is_decision:
                    worker.sample.add_rows(request.index, some, None if question.kind == "top" else counts)
    came.end()
    if not request.answered:
        await request.begin(ARROW)
    writer.close()
    await request.write(out.read(), last=True)
