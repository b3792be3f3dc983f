"""The engines' kernels on rules drawn straight into arrays, beside a plain bit-parallel loop over the same arrays.

The rules are shaped like a-tree2021's default: 1000 attributes of 100 values, two levels of 4 children, half AND and
half OR, children picked by a Zipf law of 0.6, events of 20 attributes. Nothing is parsed, rewritten or encoded.

    python benchmarks/engine_kernels.py 100000 1000000
"""

from __future__ import annotations

import sys
import time
from itertools import pairwise
from statistics import median
from typing import NamedTuple

import numpy as np
from numba import njit

from ruledex.compiled.constants import AND, OR
from ruledex.engines.batch.engine import BlockWork
from ruledex.engines.batch.rows import N_DIGITS, count_rows, write_rows
from ruledex.engines.inputs import ALL_ALIVE, freeze_batch
from ruledex.engines.registry import engine_class
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program

N_ATTRIBUTES, N_VALUES, N_CHILDREN, ALPHA, EVENT_SIZE = 1000, 100, 4, 0.6, 20
LITERALS_A_RULE, NODES_A_RULE = N_CHILDREN**2 / 18.35, N_CHILDREN / 4.33
N_WORDS = 8
N_EVENTS = 64 * N_WORDS


class Drawn(NamedTuple):
    """Rules as tables of fixed width, the form that the plain loop takes."""

    attribute: np.ndarray
    low: np.ndarray
    high: np.ndarray
    inner: np.ndarray
    inner_and: np.ndarray
    root: np.ndarray
    root_and: np.ndarray


def pick(rng, n_from, shape):
    """Numbers below `n_from`, the small ones more often."""
    weights = np.cumsum(1 / np.arange(1, n_from + 1) ** ALPHA)
    return np.searchsorted(weights / weights[-1], rng.random(shape)).astype(np.int32)


def distinct(rng, n_from, n_rows):
    """Rows of children without duplicates: a row with one is drawn again."""
    rows = pick(rng, n_from, (n_rows, N_CHILDREN))
    while True:
        ordered = np.sort(rows, axis=1)
        bad = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if len(bad) == 0:
            return ordered
        rows[bad] = pick(rng, n_from, (len(bad), N_CHILDREN))


def draw_rules(n_rules, rng):
    n_literals, n_inner = int(n_rules * LITERALS_A_RULE), int(n_rules * NODES_A_RULE)
    attribute = pick(rng, N_ATTRIBUTES, n_literals)
    value = rng.integers(0, N_VALUES, n_literals)
    wide = np.minimum(value + rng.integers(1, N_VALUES // 4, n_literals), N_VALUES - 1)
    kind = rng.integers(0, 4, n_literals)  # equal, at most, at least, between
    low = np.choose(kind, [value, 0, value, value]).astype(np.int32)
    high = np.choose(kind, [value, value, N_VALUES - 1, wide]).astype(np.int32)
    inner, inner_and = distinct(rng, n_literals, n_inner), rng.random(n_inner) < 0.5
    root, root_and = distinct(rng, n_inner, n_rules), rng.random(n_rules) < 0.5
    return Drawn(attribute, low, high, inner, inner_and, root, root_and)


def draw_events(rng, n_events=N_EVENTS):
    """One row per attribute, -1 where an event lacks it."""
    events = np.full((N_ATTRIBUTES, n_events), -1, np.int32)
    for event in range(n_events):
        events[rng.choice(N_ATTRIBUTES, EVENT_SIZE, replace=False), event] = rng.integers(0, N_VALUES, EVENT_SIZE)
    return events


def to_program(drawn):
    n_literals, n_inner, n_rules = len(drawn.attribute), len(drawn.inner), len(drawn.root)
    first = 1 + drawn.attribute.astype(np.int64) * N_VALUES
    n_nodes = n_inner + n_rules
    return Program(
        interval_offsets=np.arange(n_literals + 1, dtype=np.int32),
        interval_low=(first + drawn.low).astype(np.int32),
        interval_high=(first + drawn.high).astype(np.int32),
        negative_presence=np.zeros(0, np.int32),
        negative_of=np.zeros(0, np.int32),
        node_op=np.where(np.concatenate([drawn.inner_and, drawn.root_and]), AND, OR).astype(np.uint8),
        child_offsets=np.arange(n_nodes + 1, dtype=np.int32) * N_CHILDREN,
        children=np.concatenate([drawn.inner, drawn.root + n_literals]).astype(np.int32).reshape(-1),
        level_offsets=np.array([n_literals, n_literals + n_inner, n_literals + n_nodes], np.int32),
        root=np.arange(n_literals + n_inner, n_literals + n_nodes, dtype=np.int32),
        static_score=np.zeros(0),
        score_offsets=np.zeros(n_rules + 1, np.int32),
        score_code=np.zeros(0, np.int32),
        score_weight=np.zeros(0),
        n_cells=1 + N_ATTRIBUTES * N_VALUES,
        domain_offsets=np.concatenate([[0], 1 + np.arange(N_ATTRIBUTES + 1) * N_VALUES]).astype(np.int32),
    )


def to_batch(events):
    attribute, event = np.nonzero(events >= 0)
    cell = 1 + attribute * N_VALUES + events[attribute, event]
    every = np.arange(events.shape[1])
    event, cell = np.concatenate([every, event]), np.concatenate([np.zeros(len(every), np.int64), cell])
    order = np.lexsort((cell, event))
    offsets = np.searchsorted(event[order], np.arange(events.shape[1] + 1))
    return EventBatch(offsets.astype(np.int64), cell[order].astype(np.int32), np.zeros(0), True)


@njit(nogil=True)
def plain_literals(events, attribute, low, high, at_most, out):
    """`at_most[a, v + 1]` are the events whose attribute `a` is there and at most `v`."""
    at_most[:] = 0
    for a in range(events.shape[0]):
        for event in range(events.shape[1]):
            if events[a, event] >= 0:
                at_most[a, events[a, event] + 1, event >> 6] |= np.uint64(1) << np.uint64(event & 63)
        for value in range(1, N_VALUES + 1):
            for word in range(N_WORDS):
                at_most[a, value, word] |= at_most[a, value - 1, word]
    for literal in range(attribute.size):
        for word in range(N_WORDS):
            here = at_most[attribute[literal]]
            out[literal, word] = here[high[literal] + 1, word] & ~here[low[literal], word]


@njit(nogil=True)
def plain_nodes(children, is_and, below, out):
    for node in range(children.shape[0]):
        a, b, c, d = children[node, 0], children[node, 1], children[node, 2], children[node, 3]
        if is_and[node]:
            for word in range(N_WORDS):
                out[node, word] = below[a, word] & below[b, word] & below[c, word] & below[d, word]
        else:
            for word in range(N_WORDS):
                out[node, word] = below[a, word] | below[b, word] | below[c, word] | below[d, word]


class Plain:
    """Every literal and every node of every rule for 512 events, counted but not written."""

    def __init__(self, drawn):
        self.drawn = drawn
        self.at_most = np.zeros((N_ATTRIBUTES, N_VALUES + 1, N_WORDS), np.uint64)
        sizes = len(drawn.attribute), len(drawn.inner), len(drawn.root)
        self.literals, self.inner, self.root = (np.zeros((size, N_WORDS), np.uint64) for size in sizes)

    def run(self, events):
        drawn = self.drawn
        plain_literals(events, drawn.attribute, drawn.low, drawn.high, self.at_most, self.literals)
        plain_nodes(drawn.inner, drawn.inner_and, self.literals, self.inner)
        plain_nodes(drawn.root, drawn.root_and, self.inner, self.root)

    def counts(self):
        bits = np.unpackbits(self.root.view(np.uint8), axis=1, bitorder="little")
        return bits.sum(axis=0, dtype=np.int64)


def cpu_seconds(function):
    """Of this thread alone: what other processes take from the machine does not count, but for its caches."""
    start = time.thread_time()
    function()
    return time.thread_time() - start


def first_events(batch, n_events):
    return EventBatch(
        batch.offsets[: n_events + 1], batch.cells[: batch.offsets[n_events]], batch.weights, batch.single
    )


def single_events(batch):
    return [
        EventBatch(np.array([0, end - begin]), batch.cells[begin:end], batch.weights, batch.single)
        for begin, end in pairwise(batch.offsets)
    ]


def medians(functions, n_rounds):
    """The median of each function's times; in each round all of them run, so that a busy moment meets all alike."""
    rounds = [{name: cpu_seconds(function) for name, function in functions.items()} for _ in range(n_rounds)]
    return {name: median(times[name] for times in rounds) for name in functions}


class Stages:
    """`batch` in two stages: rules found as rows of bits, which the plain loop does as well, and written as CSR."""

    def __init__(self, engine, batch):
        self.engine = engine
        self.batch = freeze_batch(batch)
        self.scratch = engine._scratch(len(batch.cells), batch.single)
        self.found = []

    def find(self):
        self.scratch.chunks.extend(self.found)
        work = BlockWork(self.engine.index, self.scratch, self.batch, 0, ALL_ALIVE, self.engine._ends)
        self.found = [found for first, last in work._tiles() for found in work._found(first, last)]

    def emit(self):
        counts, digits = np.zeros(N_EVENTS, np.int64), np.zeros(N_DIGITS, np.uint64)
        for _, words, n_found in self.found:
            count_rows(words, n_found, digits, counts)
        ends = np.cumsum(counts)
        cursor, out = (ends - counts).astype(np.uint64), np.empty(ends[-1], np.int32)
        for rules, words, n_found in self.found:
            write_rows(rules, words, n_found, cursor, out)


def check(engines, few, batch, plain):
    """All of them find the same, before any of them is timed."""
    found = engines["batch"].match(batch)
    for name in ("sparse", "batch"):
        assert np.array_equal(engines[name].count(batch), plain.counts())
        assert np.array_equal(engines[name].match(batch).rule, found.rule)
    assert np.array_equal(engines["scan"].match(few).rule, found.rule[: found.offsets[few.n_events]])
    return len(found.rule) / N_EVENTS


def measure(n_rules, n_rounds):
    rng = np.random.default_rng(0)
    drawn, events = draw_rules(n_rules, rng), draw_events(rng)
    program, batch, plain = to_program(drawn), to_batch(events), Plain(drawn)
    engines = {name: engine_class(name).build(program) for name in ("scan", "sparse", "batch")}
    few, singles = first_events(batch, 2), single_events(batch)[:100]
    plain.run(events)
    n_matches = check(engines, few, batch, plain)
    stages = Stages(engines["batch"], batch)
    each = medians(
        {
            "plain": lambda: plain.run(events),
            "batch, matching": stages.find,
            "batch, emission": stages.emit,
            "batch, whole": lambda: engines["batch"].match(batch),
            "sparse, whole": lambda: engines["sparse"].match(batch),
        },
        n_rounds,
    )
    each = {name: elapsed / N_EVENTS for name, elapsed in each.items()}
    each["scan"] = medians({"scan": lambda: engines["scan"].match(few)}, 3)["scan"] / few.n_events
    one = medians({place: lambda event=event: engines["sparse"].match(event) for place, event in enumerate(singles)}, 3)
    each["sparse, one event p50"] = float(np.quantile(list(one.values()), 0.5))
    each["sparse, one event p99"] = float(np.quantile(list(one.values()), 0.99))
    print(f"{n_rules:,} rules, {n_matches:,.0f} matches per event")
    for name, elapsed in each.items():
        print(f"    {name:22} {1e6 * elapsed:10.1f} us per event, {elapsed / each['plain']:8.2f} of plain")
    print(f"    emission               {1e9 * each['batch, emission'] / n_matches:10.2f} ns per match")
    print(f"    scan / batch           {each['scan'] / each['batch, whole']:10.0f}")
    return engines, batch


def crossover(engines, batch, n_rounds):
    """From how many events on a block is cheaper than one event at a time."""
    for n_events in (16, 32, 64, 128, 192, 256, 320, 512):
        some = first_events(batch, n_events)
        pair = {name: lambda name=name, some=some: engines[name].match(some) for name in ("sparse", "batch")}
        each = ", ".join(f"{name} {1e6 * time / n_events:.1f}" for name, time in medians(pair, n_rounds).items())
        print(f"    {n_events:4} events at once: {each} us per event")


def main(sizes):
    for n_rules in sizes:
        engines, batch = measure(n_rules, n_rounds=7)
        crossover(engines, batch, n_rounds=5)


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [1000, 10_000, 100_000, 1_000_000])
