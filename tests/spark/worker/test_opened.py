"""What a Python worker keeps, and what it says when it lacks memory."""

from __future__ import annotations

import gc
import resource
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from ruledex import Index
from ruledex.artifact import ArtifactWriter, current_version
from ruledex.errors import ArtifactError, RuledexError
from ruledex.spark.worker import opened as worker
from tests.spark.conftest import own_process


@pytest.fixture
def root(tmp_path):
    Index.build([(n, f"a >= {n}") for n in range(100)]).save(tmp_path)
    return str(tmp_path)


def test_an_index_is_opened_once_and_the_oldest_is_let_go(tmp_path):
    versions = [Index.build([(n, "a = 1")]).save(tmp_path) for n in range(worker._MOST_OPEN + 1)]
    opened = [worker.open_index(str(tmp_path), version) for version in versions]
    assert worker.open_index(str(tmp_path), versions[-1]) is opened[-1]
    assert worker.open_index(str(tmp_path), versions[0]) is not opened[0]
    assert worker.open_index(str(tmp_path), versions[0]).match({"a": 1}) == [0]


def test_collections_of_garbage_leave_out_an_index_that_answers_again_until_the_next_is_opened(tmp_path, monkeypatch):
    first, second = (Index.build([(n, "a = 1")]).save(tmp_path) for n in range(2))
    worker._unfreeze()
    monkeypatch.setattr(worker, "_indexes", OrderedDict())
    monkeypatch.setattr(worker, "task_threads", lambda: 1)
    counts = []
    try:
        for task, version in ((None, first), (None, first), ("a task", first), ("a task", second), ("a task", second)):
            monkeypatch.setattr(worker, "_task", lambda task=task: task)
            worker.open_index(str(tmp_path), version)
            counts.append(gc.get_freeze_count() > 0)
    finally:
        worker._unfreeze()
    assert counts == [False, False, True, False, True]


def test_collections_leave_out_an_index_in_a_process_that_plans_for_spark_too(root, monkeypatch):
    worker._unfreeze()
    monkeypatch.setattr(worker, "_indexes", OrderedDict())
    monkeypatch.setenv("SPARK_REUSE_WORKER", "1")  # as Spark does for all processes that it keeps
    try:
        for is_frozen in (False, True):
            worker.open_index(root, current_version(root))
            assert (gc.get_freeze_count() > 0) is is_frozen
    finally:
        worker._unfreeze()


def open_with_little_memory(root: str, version: str) -> str:
    n_pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = n_pages * resource.getpagesize() + (64 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        worker.open_index(root, version)
    except RuledexError as error:
        return str(error)
    return "opened"


def test_too_little_memory_for_the_map_is_explained(root, tmp_path):
    with ArtifactWriter(tmp_path / "large") as writer:
        writer.array("large", np.zeros(128 << 20, np.uint8))
        large = writer.publish({"kind": "ruledex.index"})
    with own_process() as process:
        told = process.submit(open_with_little_memory, str(tmp_path / "large"), large).result()
    assert "does not fit into a worker's memory, which is limited to" in told
    assert "spark.executor.pyspark.memory" in told


class Session:
    """One that has a setting."""

    def __init__(self, value):
        self.conf = {} if value is None else {"spark.executor.pyspark.memory": value}


@pytest.mark.parametrize(("value", "mebibytes"), [("400m", 400), ("300000k", 292), ("511", 511), ("256MB", 256)])
def test_too_little_memory_for_the_libraries_is_explained_before_anything_runs(value, mebibytes):
    with pytest.raises(RuledexError, match=f"limited to {mebibytes} MiB.*spark.executor.pyspark.memory"):
        worker.require_room(Session(value), "index")


@pytest.mark.parametrize("value", [None, "0", "1g", "512m", "2048"])
def test_memory_that_is_enough_or_without_a_limit(value):
    worker.require_room(Session(value), "index")


def test_other_errors_stay_what_they_are(root):
    with pytest.raises(ArtifactError, match="has no version"):
        worker.open_index(root, "0" * 64)
    with pytest.raises(ZeroDivisionError), worker.explain_memory_errors(root):
        raise ZeroDivisionError
