"""Where matches go."""

from __future__ import annotations

import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ruledex.cli.results import results_to
from ruledex.errors import InputError


def columns(rules, kind):
    return pa.RecordBatch.from_pydict({"rules": pa.array(rules, pa.large_list(kind))})


@pytest.mark.parametrize(
    ("kind", "ids"), [(pa.int64(), [[1, 2], [], [3]]), (pa.large_string(), [["é"], [], ["b", "c"]])]
)
@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_batches_are_written_one_after_the_other(tmp_path, name, kind, ids):
    with results_to(str(tmp_path / name), columns([], kind)) as results:
        results.write([1, 2], columns(ids[:2], kind))
        results.write([5], columns(ids[2:], kind))
    if name.endswith("parquet"):
        found = pq.read_table(tmp_path / name).to_pylist()
    else:
        found = [json.loads(line) for line in (tmp_path / name).read_text("utf-8").splitlines()]
    assert found == [{"event": event, "rules": rules} for event, rules in zip([1, 2, 5], ids, strict=True)]


def test_lines_are_in_a_pipe_while_work_goes_on(tmp_path):
    os.mkfifo(tmp_path / "out.jsonl")
    reader = os.open(tmp_path / "out.jsonl", os.O_RDONLY | os.O_NONBLOCK)
    with results_to(str(tmp_path / "out.jsonl"), columns([], pa.int64())) as results:
        results.write([1], columns([[7]], pa.int64()))
        assert os.read(reader, 1000) == b'{"event":1,"rules":[7]}\n'
    os.close(reader)


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_a_file_appears_when_all_is_written(tmp_path, name):
    with results_to(str(tmp_path / name), columns([], pa.int64())) as results:
        results.write([1], columns([[7]], pa.int64()))
        assert not (tmp_path / name).exists()
    assert (tmp_path / name).exists()


@pytest.mark.parametrize("name", ["out.doc", "out", "missing/out.jsonl", "missing/out.parquet"])
def test_a_place_that_cannot_be_written_is_one_error(tmp_path, name):
    with pytest.raises(InputError, match=name), results_to(str(tmp_path / name), columns([], pa.int64())):
        pass
