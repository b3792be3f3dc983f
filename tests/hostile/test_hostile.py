"""Rules and events from strangers, at their costliest, end in an answer or in a RuledexError within hard limits."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.hostile.search import BrokenWorkerError, Search, Worker

N_TRIES = int(os.environ.get("RULEDEX_HOSTILE_TRIES", "800"))
SEED = int(os.environ.get("RULEDEX_HOSTILE_SEED", "0"))


def test_the_costliest_rules_and_events_that_a_search_finds_stay_within_the_limits(record_property):
    search = Search(SEED)
    search.run(N_TRIES)
    record_property("costs", "\n".join(search.table()))
    assert not search.findings, "\n".join(search.findings)
    assert {kind for kind, _ in search.costs} == {"rule", "event"}
    n_tries = sum(map(len, search.costs.values()))
    assert search.n_refused < n_tries / 2, "most tries should get as far as an answer"


# Each of these took minutes or gigabytes once. The events have some 100 KB.
LARGE = {
    "concat of three arrays": ("concat(a, b, c) = 'z'", "dict(a=['q'] * 9000, b=['r'] * 9000, c=['s'] * 9000)"),
    "concat of texts and a long one": ("concat(a, b) = 'z'", "dict(a=['q'] * 20000, b='r' * 50000)"),
    "concat of texts and a constant": (f"concat(a, '{'r' * 50_000}') = 'z'", "dict(a=['q'] * 20000)"),
    "a square": ("x * x > 5", "dict(x=list(range(20000)))"),
    "a function of a product": ("abs(x * y) = 5", "dict(x=list(range(9000)), y=list(range(9000)))"),
    "equal to another array": ("x = y", "dict(x=list(range(9000)), y=list(range(-9000, 0)))"),
    "not equal": ("x != y", "dict(x=list(range(9000)), y=[-i - 0.5 for i in range(9000)])"),
    "null-safe": ("x <=> y", "dict(x=['a%d' % i for i in range(9000)], y=['b%d' % i for i in range(9000)])"),
    "below another array": ("x < y", "dict(x=list(range(9000)), y=[-i - 0.5 for i in range(9000)])"),
    "times and texts": ("x > y", "dict(x=['2024-01-01'] * 9000, y=['2024-01-02'] * 9000)"),
    "numbers of one hash": (
        "x = y",
        "dict(x=[i * (2**61 - 1) for i in range(3000)], y=[-7 - i * (2**61 - 1) for i in range(3000)])",
    ),
    "a subset": (f"subset_of(x, {', '.join(map(str, range(9_000)))})", "dict(x=list(range(9000)))"),
    "a superset": (f"superset_of(x, {', '.join(map(str, range(9_000)))})", "dict(x=list(range(9000)))"),
    "a long list": (f"x IN ({', '.join(map(str, range(9_000)))})", "dict(x=[i + 0.5 for i in range(9000)])"),
}
ASK = """
import json, resource, sys
import pyarrow as pa
from ruledex.index import Index

def ask(index, event):
    index.match(event)
    index.explain(1, event)
    try:
        table = pa.Table.from_pylist([event])
    except (OverflowError, pa.ArrowException):
        return
    index.match_batch(table)

for name, (rule, event) in json.load(sys.stdin).items():
    index = Index.build([(1, rule), (2, "x * y > 5 AND a = b")])
    ask(index, {"x": [1], "a": ["a"]})
    event = eval(event)
    mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + (512 << 20), resource.RLIM_INFINITY))
    used = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + 12, resource.RLIM_INFINITY))
    ask(index, event)
    print(name, flush=True)
"""


def test_long_arrays_cost_about_as_much_as_their_bytes():
    given = json.dumps(LARGE)
    ran = subprocess.run([sys.executable, "-c", ASK], input=given, capture_output=True, text=True, check=False)
    answered = ran.stdout.splitlines()
    assert answered == list(LARGE), f"the first without an answer is the one that broke it: {ran.stderr[-1_000:]}"


def test_a_worker_that_dies_is_known_by_the_try_that_killed_it():
    worker = Worker()
    with pytest.raises(BrokenWorkerError, match="no such kind"):
        worker.report(("event", [["no such kind"], "dict", 0], 100))
