"""A process killed while it gives a name another meaning: all rules that use the name have the old one, or all the new.

10 kills here; `RULEDEX_LIVE_KILLS=200` for more.
"""

from __future__ import annotations

import os
import random
import signal
import time

from ruledex.artifact import verify
from ruledex.index import Index
from tests.artifact.samples import output_of, start_python

KILLS = int(os.environ.get("RULEDEX_LIVE_KILLS", "10"))
N_RULES = 40
FORMS = ("@limit", "@limit AND a > 0", "exists(items, i -> i > 0) AND @limit", "NOT @below", "(@limit) IS TRUE")
RULES = [(n, FORMS[n % len(FORMS)]) for n in range(N_RULES)]
DEFINITIONS = {"limit": "a >= 0", "below": "NOT @limit"}

# Forks a process for every line that it is sent: the next limit. It writes each limit once it is acknowledged.
NURSERY = """
import os, sys
from ruledex.index import Index

def work(root, limit, acknowledge):
    index = Index.open(root)
    os.write(acknowledge, b"open\\n")
    while True:
        index.define("limit", f"a >= {limit}")
        os.write(acknowledge, b"%d\\n" % limit)
        if limit % 7 == 0:
            index.compact()
        limit += 1

root, acknowledge = sys.argv[1], os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND)
warm = Index.build([(1, "@limit AND exists(items, i -> i > 0)")], definitions={"limit": "a > 0"})
warm.define("limit", "a > 1")
for line in sys.stdin:
    command, number = line.split()
    if command == "wait":
        print(os.WTERMSIG(os.waitpid(int(number), 0)[1]), flush=True)
    elif pid := os.fork():
        print(pid, flush=True)
    else:
        work(root, int(number), acknowledge)
"""


def test_a_definition_changes_for_all_rules_or_for_none(tmp_path):
    root, acknowledged = tmp_path / "index", tmp_path / "acknowledged"
    acknowledged.touch()
    Index.build(RULES, "sparse", definitions=DEFINITIONS).save(root)
    draw = random.Random(17)
    nursery = start_python(NURSERY, str(root), str(acknowledged))
    assert nursery.stdin is not None
    assert nursery.stdout is not None

    def ask(line: str) -> int:
        nursery.stdin.write(f"{line}\n")
        nursery.stdin.flush()
        return int(nursery.stdout.readline())

    limit = 0
    for kill in range(KILLS):
        n_lines = len(acknowledged.read_text().split())
        writer = ask(f"start {limit + 1}")
        while len(acknowledged.read_text().split()) == n_lines:
            time.sleep(0.001)
        longest = 0.2 if limit else 0.2 * (kill + 1)  # on a busy machine a first change takes longer
        time.sleep(draw.uniform(0, longest))
        os.kill(writer, signal.SIGKILL)
        assert ask(f"wait {writer}") == signal.SIGKILL
        told = [int(line) for line in acknowledged.read_text().split() if line != "open"]
        with Index.open(root) as index:
            definition = index.definitions["limit"]
            last = max(told, default=0)
            assert definition in (f"a >= {last}", f"a >= {last + 1}")  # what was under way is there as a whole, or not
            limit = int(definition.removeprefix("a >= "))
            event = {"a": limit, "items": [1]}
            assert index.match(event) == list(
                range(N_RULES) if limit else [n for n, form in RULES if "a > 0" not in form]
            )
            assert index.match({**event, "a": limit - 0.5}) == []
        if kill % 5 == 0:
            assert verify(root).ok
    output_of(nursery)
    assert limit > 0
