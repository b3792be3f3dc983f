"""A process that forks while its threads are at work has children that answer, and that end."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import ruledex
from ruledex.forks import ForkSafeLock, cached_property

SOURCE = Path(ruledex.__file__).parent
N_FORKS = int(os.environ.get("RULEDEX_FORKS", "40"))

# Threads change and read an index while the main thread forks. A child asks what it has, and says whether the answers
# are those of a version that there was: rules come and go in pairs, so that an answer has both of a pair or none.
PARENT = """
import os, sys, threading, time
from pathlib import Path
from ruledex import Index
from ruledex.errors import RuledexError

kind, folder, n_forks = sys.argv[1], sys.argv[2], int(sys.argv[3])
SECONDS = 100  # of a child; far more than it needs
index = Index.build([(i, f"a = {i % 7}") for i in range(0, 1000)], "auto")
if kind == "journalled":
    index.save(folder)
    index = Index.open(folder)
events = [{"a": i % 7, "b": i} for i in range(40)]
base = {a: [i for i in range(1000) if i % 7 == a] for a in range(7)}
index.add([(5000, "b >= 0"), (5001, "b >= 0")])
index.remove([5000, 5001])
done, faults = threading.Event(), []

def guarded(work):
    def run():
        try:
            while not done.is_set():
                work()
        except BaseException as error:
            faults.append(repr(error))
            raise
    return run

def change():
    index.add([(5000, "b >= 0"), (5001, "b >= 0 AND a >= 0")])
    index.remove([5000, 5001])

def check(found, event):
    come = [i for i in found if i >= 5000]
    assert [i for i in found if i < 5000] == base[event["a"]], event
    assert come in ([], [5000, 5001]), come

def read():
    for event in events[:5]:
        check(index.match(event), event)
    for event, found in zip(events, index.match_batch(events)):
        check(found, event)
    index.top(events[0], 3)

def store():
    Index.build([(1, "a = 1")], "scan").save(folder + "-other")
    Index.open(folder + "-other")

def ask(index):
    for event in events[:5]:
        check(index.match(event), event)
    for event, found in zip(events, index.match_batch(events)):
        check(found, event)
    index.match_batch(events * 10)
    index.describe(), index.schema, len(index)

def put(index):
    index.add([(9000 + i, "b = 1") for i in range(3)])
    index.remove([9001])
    assert [i for i in index.match({"b": 1}) if i >= 9000] == [9000, 9002]

def child():
    ask(index)
    if kind == "journalled":
        try:
            index.add([(9000, "b = 1")])
        except RuledexError as error:
            assert "forked" in str(error), error
        else:
            raise AssertionError("a child has changed its parent's journal")
        fresh = Index.open(folder)
        check(fresh.match(events[0]), events[0])
    else:
        put(index)

# First what a child will do: it shall not spend its time on loading compiled code.
warm = Index.build([(i, f"a = {i % 7}") for i in range(0, 1000)], "auto")
put(warm)
warm.remove([9000, 9002])
ask(warm)
change(), ask(index), read()
works = [change, read, read] + ([store] if "store" in sys.argv else [])
threads = [threading.Thread(target=guarded(work), daemon=True) for work in works]
for thread in threads:
    thread.start()
failed = 0
for n in range(n_forks):
    time.sleep(0.0007 * (n % 11))
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            child()
            status = 0
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            os._exit(status)
    deadline = time.monotonic() + SECONDS
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            failed += status != 0
            break
        if time.monotonic() > deadline:
            print("a child hangs", n, flush=True)
            os.kill(pid, 9)
            os.waitpid(pid, 0)
            os._exit(3)
        time.sleep(0.001)
done.set()
for thread in threads:
    thread.join(60)
if kind == "journalled":
    assert 9000 not in Index.open(folder)
print("failed", failed, faults, flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("kind", ["memory", "journalled"])
@pytest.mark.parametrize("also", ["change", "store"])
def test_children_of_a_process_that_changes_an_index_answer_and_end(tmp_path, kind, also):
    n_forks = N_FORKS if also == "change" else N_FORKS // 4
    command = [sys.executable, "-c", PARENT, kind, str(tmp_path / "index"), str(n_forks), also]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (done.stdout, done.returncode) == ("failed 0 []\n", 0), done.stderr[-3000:]


COMPILING = """
import os, sys, threading, time
from ruledex.compiled.decorator import jit
import numpy as np

def work(k):
    def kernel(values):
        total = 0
        for i in range(len(values)):
            total += values[i] * k
        return total
    return kernel

def compile_all():
    for k in range(6):
        jit(work(k))(np.arange(10))

jit(work(-1))(np.arange(10))  # what is imported by the first call is there: Python's imports have locks of their own
thread = threading.Thread(target=compile_all)
thread.start()
n = 0
while thread.is_alive() or n == 0:
    time.sleep(0.02)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if jit(work(100 + n))(np.arange(10)) == 45 * (100 + n) else 1)
    deadline = time.monotonic() + 60
    while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
        if time.monotonic() > deadline:
            os.kill(pid, 9)
            print("a child hangs", flush=True)
            os._exit(3)
        time.sleep(0.005)
    assert ended[1] == 0, ended
    n += 1
print("well", flush=True)
"""


def test_a_child_of_a_process_that_compiles_can_compile(tmp_path):
    script = tmp_path / "compiling.py"
    script.write_text(COMPILING)
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
    )
    assert (done.stdout, done.returncode) == ("well\n", 0), done.stderr[-3000:]


MATCHING = """
import os, random, sys, threading, time
from ruledex import Index

# RE2 needs new states of its automaton, for which it takes a lock, at almost every byte of such a text.
index = Index.build([(1, "a RLIKE '(x|y)*x(x|y){10}z'"), (2, "a LIKE '%z'")], "scan")
texts = iter(lambda: "".join(random.choices("xy", k=4000)), None)
def read():
    while True:
        index.match({"a": next(texts)})
for _ in range(2):
    threading.Thread(target=read, daemon=True).start()
for n in range(int(sys.argv[1])):
    time.sleep(0.001 * (n % 5))
    pid = os.fork()
    if pid == 0:
        found = index.match({"a": next(texts)}), index.match({"a": "x" * 2000 + "z"})
        os._exit(0 if found == ([], [1, 2]) else 1)
    deadline = time.monotonic() + 30
    while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
        if time.monotonic() > deadline:
            os.kill(pid, 9)
            print("a child hangs", n, flush=True)
            os._exit(3)
        time.sleep(0.002)
    assert ended[1] == 0, ended
print("well", flush=True)
os._exit(0)
"""


def test_a_child_of_a_process_that_matches_patterns_can_match_them():
    command = [sys.executable, "-c", MATCHING, str(N_FORKS // 2)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.stdout, done.returncode) == ("well\n", 0), done.stderr[-3000:]


def forked(function):
    """What a child returns, a small number."""
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            status = function()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def try_lock(lock):
    taken = threading.Event()

    def take():
        with lock:
            taken.set()

    threading.Thread(target=take, daemon=True).start()
    return int(taken.wait(2))


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_lock_of_another_thread_is_free_in_a_child(reentrant):
    lock, held, free = ForkSafeLock(reentrant=reentrant), threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            free.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        assert forked(lambda: try_lock(lock)) == 1
    finally:
        free.set()
        thread.join()


def test_a_lock_of_the_thread_that_forks_stays_its_own():
    lock = ForkSafeLock()

    def inside():
        before = try_lock(lock)
        lock.__exit__()
        return 10 * before + try_lock(lock)

    with lock:
        assert forked(inside) == 1


def test_a_cached_property_is_computed_once_and_has_no_lock():
    class Thing:
        n = 0

        @cached_property
        def value(self):
            self.n += 1
            return self.n

    thing = Thing()
    assert (thing.value, thing.value, Thing().value) == (1, 1, 1)
    assert isinstance(Thing.value, cached_property)


def test_a_child_does_not_remove_the_unfinished_work_of_its_parent(tmp_path):
    from ruledex.artifact import ArtifactWriter

    with ArtifactWriter(tmp_path / "root") as writer:

        def leave():
            writer.__exit__()
            return 0

        assert forked(leave) == 0
        writer.document("a", 1)
        writer.publish({})


def test_a_lock_of_a_file_is_not_kept_by_a_child(tmp_path):
    from ruledex.artifact.locks import release_lock, take_lock

    descriptor = take_lock(tmp_path / "lock")
    (reader, writer), (begun, begin) = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(writer)
        os.write(begin, b"1")
        os.read(reader, 1)  # until the parent is done
        os._exit(0)
    try:
        os.read(begun, 1)
        os.close(descriptor)  # as when the parent is killed
        descriptor = take_lock(tmp_path / "lock", wait=False)
        release_lock(descriptor)
    finally:
        os.close(writer)
        os.waitpid(pid, 0)
        for end in (reader, begun, begin):
            os.close(end)


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_module_has_a_lock_that_a_fork_may_find_held(path):
    """Locks are ForkSafeLock, and properties are kept by the cached_property of ruledex.forks."""
    if path == SOURCE / "forks.py":
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module in ("threading", "functools"):
            names = {alias.name for alias in node.names}
            assert not names & {"Lock", "RLock", "Condition", "cached_property"}, path
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = (node.value.id, node.attr)
            assert name[0] not in ("threading", "functools") or name[1] not in ("Lock", "RLock", "cached_property"), (
                path
            )
