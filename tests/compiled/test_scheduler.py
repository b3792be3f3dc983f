"""Which form of a kernel runs, and when compiled code is taken up: each case is a process of its own."""

import os
import subprocess
import sys

import numpy as np
import pytest

from ruledex.compiled.decorator import IS_DISABLED, jit
from ruledex.compiled.scheduler import read_mode, scheduler
from ruledex.errors import RuledexError

pytestmark = pytest.mark.skipif(IS_DISABLED, reason="nothing is compiled")

REFUSED = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        assert name.partition(".")[0] not in ("numba", "llvmlite", "pandas"), name

sys.meta_path.insert(0, Refuse())
sys.executable = ""  # no other process compiles
"""
THREE_RULES = """
from ruledex import Index

index = Index.build([(1, "a = 1 AND b NOT IN ('x', 'y')"), (2, "a > 2 OR c LIKE 'z%'"), (3, "d IS NULL")])
assert index.match({"a": 1, "b": "z"}) == [1, 3]
assert list(index.match_batch([{"a": 3, "d": 1}, {}])[0]) == [2]
assert [rule for rule, _ in index.top({"c": "zz"}, 1)] == [2]
"""
EAGER = """
import sys, time
import numpy as np
from ruledex.compiled import background, scheduler as module
module.REQUEST_SECONDS = module.LOOK_SECONDS = 0.0
module.TAKE_UP_SECONDS = 1e-9
from ruledex.compiled.sample import total
from ruledex.compiled.scheduler import scheduler

values = np.arange(5)
assert total(values) == 20
assert "numba" not in sys.modules
"""
TAKEN_UP = """
deadline = time.monotonic() + 300
while not (scheduler.is_compiled and total.dispatcher.overloads):
    assert total(values) == 20
    assert time.monotonic() < deadline
    time.sleep(0.02)
assert sum(total.dispatcher.stats.cache_hits.values()) == 1
assert total(values) == 20
"""
KILLED = """
while background.background_process() is None:
    total(values)
first = background.background_process()
first.kill()
first.wait()
"""
ALL_THE_SAME = """
module.prepare_large()
for _ in range(100):
    assert total(values) == 20
assert "numba" not in sys.modules
"""
FIFTY = """
import os, sys, time
import numpy as np
from ruledex.compiled.decorator import jit
from ruledex.compiled.sample import total

@jit
def other(values):
    return len(values)

values = np.arange(5)
other(values)  # so that the compiler is there, and each child only loads or compiles
children = []
for _ in range(50):
    pid = os.fork()
    if not pid:
        os._exit(sum(total.dispatcher.stats.cache_hits.values()) if total(values) == 20 else 9)
    children.append(pid)
print(sorted(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children))
"""


def run(code, path, cache, mode="background"):
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(path), "NUMBA_CACHE_DIR": str(cache)}
    ran = subprocess.run(
        [sys.executable, "-B", "-c", code],
        env=environment | {"RULEDEX_COMPILE": mode},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_a_first_answer_needs_neither_the_compiler_nor_a_cache(tmp_path):
    run(REFUSED + THREE_RULES, os.pathsep.join(path for path in sys.path if path), tmp_path / "cache")


def test_compiled_code_is_taken_up_though_the_process_that_compiles_is_killed(install):
    run(EAGER + KILLED + TAKEN_UP, install / "site", install / "cache")


def test_fifty_processes_at_once_compile_once(install):
    exits = run(FIFTY, install / "site", install / "cache", "now")
    assert exits.strip() == str([0] + [1] * 49)


def test_the_mode_never_compiles_nothing_whatever_it_costs(install):
    run(EAGER + ALL_THE_SAME, install / "site", install / "cache", "never")
    assert not (install / "cache" / "ruledex" / "requests").exists()


def test_an_unknown_mode_is_refused(monkeypatch):
    monkeypatch.setenv("RULEDEX_COMPILE", "later")
    with pytest.raises(RuledexError, match="RULEDEX_COMPILE is one of now, background, never, not 'later'"):
        read_mode()


@jit
def inner(value):
    return np.int32(value) + np.int32(1), value > 1


@jit
def outer(values):
    total, flag = inner(values[0])
    return total, flag, np.float32(0.5)


def test_a_plain_form_returns_what_compiled_code_does():
    values = np.array([1, 2], np.int32)
    expected = outer(values)
    with scheduler.plainly():
        found = outer(values)
    assert found == expected
    assert [type(part) for part in found] == [type(part) for part in expected] == [int, bool, float]
