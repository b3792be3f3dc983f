"""Files of events, and lines of a stream that pauses."""

from __future__ import annotations

import gzip
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ruledex import Schema
from ruledex.errors import EventError, InputError
from ruledex.sources import EventFile, read_events
from ruledex.sources.event_file import LiveLines

SCHEMA = Schema.of_mapping({"attributes": {"zip": "string", "n": "integer", "flag": "boolean"}})


def read(path, batch_size=2, schema=SCHEMA):
    return list(EventFile(str(path), schema, batch_size).batches())


def events_of(batches):
    return [event for batch in batches for event in batch.events]


def test_lines_of_json_come_in_batches_with_their_numbers(tmp_path):
    (tmp_path / "e.jsonl").write_text('{"a": 1}\n\n{"a": 2}\nnope\n{"a": 3}\n')
    batches = read(tmp_path / "e.jsonl")
    assert [batch.numbers for batch in batches] == [[1, 3], [5]]
    assert events_of(batches) == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert [len(batch.faults) for batch in batches] == [0, 1]


def test_fields_of_csv_are_what_the_schema_says_or_else_what_they_look_like(tmp_path):
    (tmp_path / "e.csv").write_text(
        "zip,n,flag,guess,device.os,`a.b`\n"
        "01234,5,true,5,ios,x\n"
        "99999,five,1,01,,\n"
        ',,,1.5e3,"a,b",-0.5\n'
        "7,1,FALSE,True\n"
    )
    assert events_of(read(tmp_path / "e.csv", 10)) == [
        {"zip": "01234", "n": 5, "flag": True, "guess": 5, "device": {"os": "ios"}, "a.b": "x"},
        {"zip": "99999", "n": "five", "flag": "1", "guess": "01"},
        {"guess": 1500.0, "device": {"os": "a,b"}, "a.b": -0.5},
        {"zip": "7", "n": 1, "flag": False, "guess": True},
    ]


def test_rows_of_csv_that_do_not_fit_are_faults(tmp_path):
    (tmp_path / "e.csv").write_text('a,b\n1,2,3\n1,"x"y\n4,5\n')
    (batch,) = read(tmp_path / "e.csv", 10)
    assert (batch.numbers, batch.events) == ([4], [{"a": 4, "b": 5}])
    assert [fault.split()[:2] for fault in batch.faults] == [["line", "2"], ["line", "3"]]


def test_compressed_files_are_read(tmp_path):
    (tmp_path / "e.jsonl.gz").write_bytes(gzip.compress(b'{"a": 1}\n'))
    assert events_of(read(tmp_path / "e.jsonl.gz")) == [{"a": 1}]


def test_tables_come_in_batches_and_tell_how_far_they_are(tmp_path):
    pq.write_table(pa.table({"a": range(5)}), tmp_path / "e.parquet", row_group_size=3)
    stream = EventFile(str(tmp_path / "e.parquet"), SCHEMA, 2)
    numbers, done = [], []
    for batch in stream.batches():
        numbers.append(batch.numbers)
        done.append((stream.n_read, stream.size))
    assert [number for batch in numbers for number in batch] == [1, 2, 3, 4, 5]
    assert all(len(batch) <= 2 for batch in numbers)
    assert done[-1] == (5, 5)


def test_the_size_of_batches_may_change_on_the_way(tmp_path):
    (tmp_path / "e.jsonl").write_text("{}\n" * 10)
    stream = EventFile(str(tmp_path / "e.jsonl"), SCHEMA, 1)
    sizes = []
    for batch in stream.batches():
        sizes.append(len(batch))
        stream.batch_size *= 2
    assert sizes == [1, 2, 4, 3]


@pytest.mark.parametrize(
    "name", ["e", "e.doc", "e.parquet.gz", "nothing.jsonl", "nothing.parquet", "empty.csv", "bad.parquet"]
)
def test_what_cannot_be_read_is_one_error(tmp_path, name):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "bad.parquet").write_text("no table")
    with pytest.raises(InputError, match=name):
        read(tmp_path / name)


def test_a_number_of_thousands_of_digits_is_a_double(tmp_path):
    file = tmp_path / "events.csv"
    file.write_text("x\n" + "9" * 5_000 + "\n" + "9" * 100 + "\n")
    (batch,) = EventFile(str(file), Schema(), 10).batches()
    assert batch.events == [{"x": float("inf")}, {"x": int("9" * 100)}]


def test_a_line_that_is_no_event_is_an_error_among_the_events(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"a": {"b": [1, 2]}}\n\n{\n[1]\n{}\n')
    first, broken, no_object, last = read_events(str(path))
    assert first == (1, {"a": {"b": [1, 2]}})
    assert last == (5, {})
    for line, error in (broken, no_object):
        assert isinstance(error, EventError)
        assert f"line {line}" in str(error)


def test_lines_come_in_their_order():
    lines = [b"%d\n" % i for i in range(1000)]
    assert list(LiveLines(iter(lines))) == lines


def test_a_pause_can_be_seen():
    goes_on = threading.Event()

    def pausing():
        yield b"first"
        goes_on.wait()
        yield b"second"

    live = LiveLines(pausing())
    lines = iter(live)
    assert next(lines) == b"first"
    assert live.is_waiting
    goes_on.set()
    assert list(lines) == [b"second"]


def test_an_error_of_the_stream_comes_where_the_lines_are_used():
    def broken():
        yield b"first"
        raise InputError("the pipe broke")

    lines = iter(LiveLines(broken()))
    assert next(lines) == b"first"
    with pytest.raises(InputError, match="the pipe broke"):
        next(lines)
