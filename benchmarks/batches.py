"""The goals of short calls and batches, each measured in one run: what is asked, what was found, whether it is met.

    python benchmarks/batches.py                    all parts; writes docs/benchmarks/batches.*
    python benchmarks/batches.py --parts short one  some parts anew; the page keeps the others
    python benchmarks/batches.py --quick            fewer rounds and rules; nothing is written

    short       Index.match(dict) beside a Python function that is generated naively from the rules
    around      what a call on 100,000 rules spends outside of the engine
    numpy       Arrow tables of 8,192 events beside a page of NumPy (numpy_page.py)
    one         Arrow batches of one event
    dicts       lists of dicts, read to cells
    encoding    the share of Arrow encoding in a call on `advertising`
    large       two threads, and emission, at 100,000 and at 1,000,000 rules

Times are processor time of one thread, except for two threads, which are wall time. What is compared takes turns.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pyarrow as pa

import numpy_page
from core import SELECTIVE
from core_engines import BLOCK, measure_stages, part_of
from core_timing import WALL, in_turn, say, start_compiled
from peers_data import Data, attribute_types, draw, event_table
from peers_python import build_function
from peers_rules import plain, python_condition
from ruledex import Index
from ruledex.engines.batch.engine import BatchEngine
from ruledex.index.inputs import encode_events
from ruledex.workloads import workload

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks" / "batches.md"
N_EVENTS, N_ROUNDS = 300, 7
N_LARGE = 4_096  # events for two threads
LOOP_STEPS = 300_000_000


class Run(NamedTuple):
    """How much is measured."""

    n_rounds: int
    large: tuple[int, ...]


class Goal(NamedTuple):
    """What is asked of one figure, and the figure."""

    text: str
    measured: float
    limit: float
    unit: str
    at_least: bool = False  # else at most

    @property
    def verdict(self) -> str:
        """Return whether the goal is met."""
        is_met = self.measured >= self.limit if self.at_least else self.measured <= self.limit
        return "met" if is_met else "**missed**"

    @property
    def row(self) -> str:
        """Return one line of the table."""
        bound = "at least" if self.at_least else "at most"
        return f"| {self.text} | {bound} {self.limit:g}{self.unit} | {self.measured:.3g}{self.unit} | {self.verdict} |"


Goals = Iterator[Goal]


def built(texts: list[str]) -> Index:
    """Return an index of rules whose ids are their positions."""
    return Index.build(pa.table({"id": range(len(texts)), "expr": texts}))


def table_of(data: Data) -> pa.Table:
    """Return events as columns."""
    types = {name: kind for text in data.texts for name, kind in attribute_types(plain(text)).items()}
    return event_table(data.events, types)


def each_of(function: Callable[[Any], object], arguments: list[Any]) -> Callable[[], None]:
    """Return a call of the function on every argument."""

    def run() -> None:
        for argument in arguments:
            function(argument)

    return run


def medians(functions: dict[str, Callable[[], object]], run: Run) -> dict[str, float]:
    """Return the median seconds of each function; in each round all of them run."""
    for function in functions.values():
        function()
    times = in_turn(functions, run.n_rounds)
    return {name: times[name]["median"] for name in functions}


def short(run: Run) -> Goals:
    """Yield single events beside the generated function."""
    for name in ("flat", "abe", "conj"):
        for n_rules, most in ((10, 6.0), (100, 1.5), (1_000, 0.3)):
            data = draw(name, n_rules, N_EVENTS)
            index = built(data.texts)
            generated = build_function([(at, str(python_condition(plain(text)))) for at, text in enumerate(data.texts)])
            assert all(index.match(event) == generated(event) for event in data.events)
            pair = {"ours": each_of(index.match, data.events), "generated": each_of(generated, data.events)}
            times = medians(pair, run)
            text = f"`match(dict)` beside the generated function, {name}, {n_rules:,} rules"
            yield Goal(text, times["ours"] / times["generated"], most, " times")


def around(run: Run) -> Goals:
    """Yield what a call spends beside the engine."""
    data = draw("abe", run.large[0], N_EVENTS)
    index = built(data.texts)
    state: Any = index._state
    encoded = [state.encoder.cells_of(event) for event in data.events]
    times = medians(
        {
            "call": each_of(index.match, data.events),
            "array": each_of(lambda event: index.match(event, as_array=True), data.events),
            "engine": each_of(state.engine.match_one, encoded),
        },
        run,
    )
    for name, text in (("call", "ids as Python objects"), ("array", "`as_array`")):
        outside = times[name] - times["engine"]
        yield Goal(f"around the engine, abe, {run.large[0]:,} rules, {text}", outside / times["engine"], 0.5, " times")


def numpy(run: Run) -> Goals:
    """Yield Arrow tables beside a page of NumPy."""
    for name in ("flat", "abe", "conj"):
        for n_rules in (10, 100, 1_000):
            ours, rows, _ = numpy_page.measure(name, n_rules, run.n_rounds)
            text = f"Arrow table of 8,192 events, {name}, {n_rules:,} rules: {ours:.2f} µs per event by {rows:.2f}"
            yield Goal(text, ours / rows, 1.0, " times")


def one(run: Run) -> Goals:
    """Yield Arrow batches of one event."""
    for name, n_rules in (("flat", 10), ("flat", 100), ("abe", 10), ("abe", 100), ("conj", 10), ("conj", 100)):
        data = draw(name, n_rules, N_EVENTS)
        index, table = built(data.texts), table_of(data).combine_chunks()
        batches = [table.slice(row, 1).to_batches()[0] for row in range(table.num_rows)]
        times = medians({"call": each_of(index.match_batch, batches)}, run)
        n_used = len(index.paths)
        text = f"Arrow batch of one event, {name}, {n_rules:,} rules on {n_used:,} of {table.num_columns:,} columns"
        yield Goal(text, times["call"] / len(batches) * 1e6, 50.0, " µs")


def dicts(run: Run) -> Goals:
    """Yield lists of dicts, per event."""
    for name, n_rules, most in (("flat", 1_000, 3.5), ("abe", 1_000, 3.5), ("conj", 1_000, 20.0)):
        data = draw(name, n_rules, 2_000)
        state: Any = built(data.texts)._state
        encoder = state.encoder
        times = medians({"read": lambda encoder=encoder, data=data: encoder.encode(data.events)}, run)
        n_keys = sum(map(len, data.events)) / len(data.events)
        text = f"list of dicts, {name}, {n_rules:,} rules, {n_keys:.0f} keys per event"
        yield Goal(text, times["read"] / len(data.events) * 1e6, most, " µs")


def encoding(run: Run) -> Goals:
    """Yield the share of Arrow encoding in a call."""
    for n_rules in run.large:
        generator = workload("advertising", seed=0, form="dnf", **SELECTIVE)
        index = Index.build(generator.rule_table(n_rules))
        table = generator.event_table(N_LARGE)
        state: Any = index._state
        index.match_batch(table)
        call, read = partial(index.match_batch, table), partial(encode_events, state.encoder, table)
        times = medians({"call": call, "read": read}, run)
        text = f"Arrow encoding in a call of {N_LARGE:,} events, advertising, {n_rules:,} rules"
        yield Goal(text, times["read"] / times["call"] * 100, 25.0, " %")
        del index, state, call, read
        gc.collect()


@numba.njit(nogil=True)
def in_cache(n_steps: int) -> int:
    """Work within registers; return a number, so that the work is not left out."""
    value = np.uint64(1)
    for _ in range(n_steps):
        value = value * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    return int(value)


def large(run: Run) -> Goals:
    """Yield what two threads gain, beside a loop that stays in cache, and what writing a match costs."""
    emission = {}
    for n_rules in run.large:
        generator = workload("abe", seed=0, n_expressions=n_rules)
        index = Index.build(generator.rule_table(n_rules))
        state: Any = index._state
        batch = encode_events(state.encoder, generator.event_table(N_LARGE))
        engine: BatchEngine = state.engine.batch
        two = BatchEngine(engine.program, engine.index, threads=2)

        def loops(n_threads: int) -> None:
            with ThreadPoolExecutor(n_threads) as pool:
                list(pool.map(in_cache, [LOOP_STEPS // n_threads] * n_threads))

        functions = {
            "one": lambda engine=engine, batch=batch: engine.match(batch),
            "two": lambda two=two, batch=batch: two.match(batch),
            "loop, one": lambda: loops(1),
            "loop, two": lambda: loops(2),
        }
        times = {name: time["median"] for name, time in in_turn(functions, run.n_rounds, WALL).items()}
        gained, possible = times["one"] / times["two"], times["loop, one"] / times["loop, two"]
        text = f"two threads, abe, {n_rules:,} rules: {gained:.2f} times one, a loop in cache {possible:.2f}"
        yield Goal(text, gained / possible, 0.9, " of the loop's", at_least=True)
        stages = measure_stages(engine, part_of(batch, 0, 3 * BLOCK), None)
        emission[n_rules] = stages["emission_ns_per_match"]["median"]
        del index, state, engine, two, functions
        gc.collect()
    for n_rules, ns in emission.items():
        yield Goal(f"emission, abe, {n_rules:,} rules", ns, 3.0, " ns per match")


PARTS: dict[str, Callable[[Run], Goals]] = {
    "short": short,
    "around": around,
    "numpy": numpy,
    "one": one,
    "dicts": dicts,
    "encoding": encoding,
    "large": large,
}


def page(rows: dict[str, list[str]]) -> str:
    """Return the page."""
    lines = [
        "# Short calls and batches",
        "",
        "Written by `benchmarks/batches.py`. Times are processor time of one thread, except for two threads, which are",
        f"wall time. Medians of {N_ROUNDS} rounds in turn. {os.cpu_count()} cores, of which others wanted",
        f"{os.getloadavg()[1]:.0f} at the end; {platform.machine()}, Python {platform.python_version()}, NumPy",
        f"{np.__version__}. Such a load makes times longer, and those of two threads uncertain.",
        "",
        "| | goal | measured | |",
        "| --- | --- | --- | --- |",
    ]
    return "\n".join([*lines, *(row for part in PARTS for row in rows.get(part, []))]) + "\n"


def main() -> None:
    """Measure, print each goal, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--large", type=int, nargs="+", help="numbers of rules of the parts with many")
    given = parser.parse_args()
    start_compiled()
    sizes = given.large or ([100_000] if given.quick else [100_000, 1_000_000])
    run = Run(3 if given.quick else N_ROUNDS, tuple(sizes))
    kept = PAGE.with_suffix(".json")
    rows: dict[str, list[str]] = json.loads(kept.read_text()) if kept.exists() else {}
    for part in given.parts:
        say(part)
        rows[part] = []
        for goal in PARTS[part](run):
            rows[part].append(goal.row)
            print(goal.row, flush=True)
        if not given.quick:
            kept.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
            PAGE.write_text(page(rows))


if __name__ == "__main__":
    main()
