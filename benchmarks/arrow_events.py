"""Events from Arrow: encoded to cells, beside the same rows as dicts; and where a whole call `match_batch` is spent.

    python benchmarks/arrow_events.py 100000 100000       rules and events of `abe`

The table is wide, and each row has 20 values. Times are processor time of this thread. Of a whole call the kernels that
match are timed inside of it, so that what they wait for counts as theirs: the first write to a page of the result lets
the system find memory for it, which is shown apart as the system's time. Where a virtual machine gets its memory page
by page from its host, that can be more than all the rest; a second call may find what the first has left, or not.
"""

from __future__ import annotations

import resource
import sys
import time
from contextlib import contextmanager

import pyarrow as pa

from ruledex.engines.batch import engine as batch_engine
from ruledex.events.arrow.encoder import ArrowEncoder
from ruledex.events.mappings import EventEncoder
from ruledex.index import Index
from ruledex.workloads import workload

N_RUNS = 5
N_CALLS = 3
N_DICTS = 5_000
SIZES = (512, 5_000, 20_000)
KERNELS = ("load_block", "evaluate_lists", "count_rows", "write_rows")


def seconds(function):
    start = time.thread_time()
    result = function()
    return time.thread_time() - start, result


def best(function):
    return min((seconds(function) for _ in range(N_RUNS)), key=lambda timed: timed[0])


@contextmanager
def kernel_times():
    """The seconds that each kernel of `batch` takes meanwhile, by its name."""
    taken = dict.fromkeys(KERNELS, 0.0)
    plain = {name: getattr(batch_engine, name) for name in KERNELS}

    def timed(name):
        def run(*arguments):
            start = time.thread_time()
            result = plain[name](*arguments)
            taken[name] += time.thread_time() - start
            return result

        return run

    for name in KERNELS:
        setattr(batch_engine, name, timed(name))
    try:
        yield taken
    finally:
        for name, kernel in plain.items():
            setattr(batch_engine, name, kernel)


def measure_share(index, table):
    """Seconds of one call `match_batch` by one thread: all, in the system, and in each kernel."""
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_stime
    with kernel_times() as kernels:
        whole, _ = seconds(lambda: index.match_batch(table))
    system = resource.getrusage(resource.RUSAGE_THREAD).ru_stime - before
    return {"whole": whole, "system": system, "kernels": kernels}


def show_encoding(dictionary, table):
    n_values = sum(len(column) - column.null_count for column in table.columns)
    print(
        f"{table.num_rows:,} events, {table.num_columns} columns in {table.column(0).num_chunks} chunks, "
        f"{n_values:,} values"
    )
    encoder = ArrowEncoder(dictionary)
    first, batch = seconds(lambda: encoder.encode(table))
    print(f"first call (constants prepared, kernels loaded or compiled)   {first:8.3f} s")
    whole = pa.Table.from_batches([table.combine_chunks().to_batches()[0]])
    parts = [(f"{size:,} events", table[:size]) for size in SIZES if size < table.num_rows]
    for name, given in (("in chunks", table), ("in one piece", whole), *parts):
        taken, _ = best(lambda given=given: encoder.encode(given))
        an_event, a_column = taken / given.num_rows * 1e6, taken / given.num_columns * 1e6
        print(f"{name:14} {taken:8.4f} s   {an_event:7.2f} us per event   {a_column:7.1f} us per column")
    rows = table[:N_DICTS].to_pylist()
    dicts = [{name: value for name, value in row.items() if value is not None} for row in rows]
    by_dicts = EventEncoder(dictionary)
    taken, expected = best(lambda: by_dicts.encode(dicts))
    assert (expected.cells == batch.cells[: len(expected.cells)]).all()
    print(f"as dicts                    {taken / len(dicts) * 1e6:7.2f} us per event ({len(dicts):,} events)")


def show_calls(index, table):
    index.match_batch(table[:2048])
    for _ in range(N_CALLS):
        share = measure_share(index, table)
        scaled = {name: taken / table.num_rows * 1e6 for name, taken in share["kernels"].items()}
        outside = 1 - sum(share["kernels"].values()) / share["whole"]
        print(
            f"match_batch, us per event: {share['whole'] / table.num_rows * 1e6:6.1f}, {outside:.0%} outside the "
            f"kernels ({', '.join(f'{name} {taken:.1f}' for name, taken in scaled.items())}); "
            f"the system's {share['system'] / table.num_rows * 1e6:.1f}"
        )


def main(n_rules, n_events):
    generator = workload("abe", seed=0, n_expressions=n_rules)
    index = Index.build(generator.rule_table(n_rules))
    table = generator.event_table(n_events)
    show_encoding(index._state.dictionary, table)
    show_calls(index, table)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]) if len(sys.argv) == 3 else (100_000, 100_000))
