"""A process killed at any moment of a stream of changes, by a signal that it cannot catch: what was acknowledged stays.

40 kills here; `RULEDEX_LIVE_KILLS=200` for more.
"""

from __future__ import annotations

import os
import signal
import time

import numpy as np

from ruledex.artifact import collect_garbage, verify
from ruledex.index import Index
from tests.artifact.samples import output_of, start_python
from tests.index.live.model import Model, assert_same

KILLS = int(os.environ.get("RULEDEX_LIVE_KILLS", "40"))
EVENTS = [{"a": 3, "b": 2}, {"a": 7}, {}]

# The changes by number, the same in both processes: several rules at once, so that half of one could be told.
CHANGES = """
def change(n, index):
    \"\"\"Make change number n, to an index or to what counts along.\"\"\"
    kind = n % 6
    if kind in (0, 3):
        index.add([(3 * n + i, f"a = {(n + i) % 9} OR b > {i}", float(n)) for i in range(3)])
    elif kind == 1:
        index.update([(3 * (n - 1) + i, f"a > {(n + i) % 5}", n / 2) for i in range(3)])
    elif kind == 2:
        index.set_score(3 * (n - 2) + 1, -float(n))
    elif kind == 4:
        index.remove([3 * (n - 1), 3 * (n - 4) + 2])
    else:
        index.compact()
"""

# Forks a process for every line that it is sent, "first number" and the number of a descriptor to write to, since a new
# interpreter for each would spend its time on imports.
NURSERY = f"""
import os, sys
from ruledex.index import Index
{CHANGES}

def work(root, n, acknowledge):
    index = Index.open(root)
    os.write(acknowledge, b"open\\n")
    while True:
        change(n, index)
        os.write(acknowledge, b"%d\\n" % n)
        n += 1

root, acknowledge = sys.argv[1], os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND)
Index.build([(-1, "a = 3")], "sparse").save(root + "-warm")
warm = Index.open(root + "-warm")  # so that modules and kernels are loaded once
for n in range(6):
    change(n, warm)
for line in sys.stdin:
    command, number = line.split()
    if command == "wait":
        print(os.WTERMSIG(os.waitpid(int(number), 0)[1]), flush=True)
    elif pid := os.fork():
        print(pid, flush=True)
    else:
        work(root, int(number), acknowledge)
"""


class Counting:
    """Counts changes along with the index."""

    def __init__(self, model):
        self._model = model
        self.add = self.update = model.put
        self.remove = model.remove
        self.set_score = model.set_score

    def compact(self):
        pass


def test_a_process_that_is_killed_loses_nothing_that_it_acknowledged(tmp_path):
    changes: dict = {}
    exec(CHANGES, changes)
    root, acknowledged = tmp_path / "index", tmp_path / "acknowledged"
    acknowledged.touch()
    rules = [(-1, "a = 3"), (-2, "b = 2", 1.5)]
    Index.build(rules, "sparse").save(root)
    model, n_done, n_unacknowledged = Model(rules), 0, 0
    generator = np.random.default_rng(4)
    nursery = start_python(NURSERY, str(root), str(acknowledged))
    assert nursery.stdin is not None
    assert nursery.stdout is not None

    def ask(line: str) -> int:
        nursery.stdin.write(f"{line}\n")
        nursery.stdin.flush()
        return int(nursery.stdout.readline())

    for kill in range(KILLS):
        n_lines = len(acknowledged.read_text().split())
        writer = ask(f"start {n_done}")
        # Now and then while it opens the index, else among its changes, however busy the machine is.
        while kill % 4 and len(acknowledged.read_text().split()) == n_lines:
            time.sleep(0.001)
        time.sleep(generator.uniform(0, 0.25))
        os.kill(writer, signal.SIGKILL)
        assert ask(f"wait {writer}") == signal.SIGKILL
        numbers = [int(line) for line in acknowledged.read_text().split() if line != "open"]
        for n in range(n_done, numbers[-1] + 1 if numbers else 0):
            changes["change"](n, Counting(model))
            n_done = n + 1
        index = Index.open(root)
        if list(index) != [(i, model.rules[i].text) for i in sorted(model.rules)] or any(
            index.rule(i).static_score != rule.static_score for i, rule in model.rules.items()
        ):
            # The change that was under way is there as a whole, though it was not acknowledged.
            changes["change"](n_done, Counting(model))
            n_done += 1
            n_unacknowledged += 1
        assert_same(index, model, EVENTS)
        if kill % 10 == 0:
            assert verify(root).ok
            collect_garbage(root)
            assert list((root / "staging").iterdir()) == []
    output_of(nursery)
    assert n_done > KILLS // 4
    assert n_unacknowledged < KILLS
