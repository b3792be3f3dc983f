"""Commands that are interrupted or killed leave the file that was there, and no command replaces what it reads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from ruledex import Index
from ruledex.cli.main import app

RUN = "from ruledex.cli.main import main; main()"


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("interrupted") / "index"
    Index.build([(1, "a = 1"), (2, "a > 0")], "scan").save(folder)
    return folder


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, "-c", RUN, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def wait_for(ready, process):
    deadline = time.monotonic() + 60
    while not ready() and time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    assert ready()


@pytest.mark.parametrize("name", ["out.parquet", "out.jsonl"])
@pytest.mark.parametrize(("how", "before"), [(signal.SIGINT, b"what was there"), (signal.SIGKILL, None)])
def test_a_match_that_does_not_end_leaves_what_was_there(index, tmp_path, name, how, before):
    target = tmp_path / name
    if before is not None:
        target.write_bytes(before)
    n_before = len(list(tmp_path.iterdir()))
    process = start("match", index, "-", "-q", "-o", target)
    try:
        # Far more than a pipe holds, so that some of the rows are written when the rest is still to come.
        process.stdin.write(b'{"a": 1}\n' * 40_000)
        process.stdin.flush()
        wait_for(lambda: any(path != target for path in tmp_path.iterdir()), process)
        process.send_signal(how)
        process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode != 0
    assert (target.read_bytes() if target.exists() else None) == before
    left = len(list(tmp_path.iterdir())) - n_before
    assert left == (1 if how == signal.SIGKILL else 0)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_generated_rules_are_there_whole_or_not_at_all(tmp_path, how):
    target = tmp_path / "rules.jsonl"
    target.write_bytes(b"what was there")
    process = start("generate", "demo", "--rules", "5000000", "-o", target)
    try:
        wait_for(lambda: any(path != target and path.stat().st_size > 0 for path in tmp_path.iterdir()), process)
        process.send_signal(how)
        process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert target.read_bytes() == b"what was there"


@pytest.mark.parametrize("name", ["events.jsonl", "events.parquet"])
@pytest.mark.parametrize("through", ["itself", "a link", "a hard link"])
def test_a_match_does_not_replace_its_own_input(index, tmp_path, name, through):
    import pyarrow as pa

    events = tmp_path / name
    if name.endswith("parquet"):
        pq.write_table(pa.table({"a": [1, 2, 0] * 2000}), events)
    else:
        events.write_text('{"a": 1}\n{"a": 2}\n{"a": 0}\n' * 2000)
    target = events
    if through == "a link":
        target = tmp_path / f"other-{name}"
        target.symlink_to(events)
    elif through == "a hard link":
        target = tmp_path / f"other-{name}"
        os.link(events, target)
    before = events.read_bytes()
    found = CliRunner().invoke(app, ["match", str(index), str(events), "-q", "--count", "-o", str(target)])
    assert events.read_bytes() == before
    if through != "a hard link":  # another name of the same file, which alone is replaced
        assert found.exit_code == 2
        assert "this is the file of events" in found.output
        return
    assert found.exit_code == 0, found.output
    if name.endswith("parquet"):
        counts = pq.read_table(target)["count"].to_pylist()
    else:
        counts = [int(line.partition('"count":')[2].rstrip("}")) for line in target.read_text().splitlines()]
    assert counts == [2, 1, 0] * 2000
