"""Events from Arrow to cells: a wide table of which each row has 20 values, beside the same rows as dicts.

python benchmarks/arrow_events.py 100000 100000       rules and events of `abe`
"""

from __future__ import annotations

import sys
import time

import pyarrow as pa

from ruledex import Schema, parse
from ruledex.encode.arrow_events import ArrowEncoder
from ruledex.encode.builder import ProgramBuilder
from ruledex.encode.events import EventEncoder
from ruledex.workloads import workload

N_RUNS = 3
N_DICTS = 5_000


def seconds(function):
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def best(function):
    return min((seconds(function) for _ in range(N_RUNS)), key=lambda timed: timed[0])


def built(rules, n_rules):
    builder = ProgramBuilder(Schema())
    for _, text in rules.rules(n_rules):
        builder.add(parse(text))
    return builder.finish()


def main(n_rules, n_events):
    rules = workload("abe", seed=0, n_expressions=n_rules)
    dictionary = built(rules, n_rules).dictionary
    table = rules.event_table(n_events)
    n_values = sum(len(column) - column.null_count for column in table.columns)
    encoder = ArrowEncoder(dictionary)
    first, batch = seconds(lambda: encoder.encode(table))
    print(
        f"{n_events:,} events, {table.num_columns} columns in {table.column(0).num_chunks} chunks, {n_values:,} values"
    )
    print(f"first call (constants prepared, kernels loaded or compiled)   {first:8.3f} s")
    whole = pa.Table.from_batches([table.combine_chunks().to_batches()[0]])
    for name, given in (("in chunks", table), ("in one piece", whole)):
        taken, batch = best(lambda given=given: encoder.encode(given))
        print(f"{name:14} {taken:8.3f} s   {taken / n_values * 1e6:6.3f} us a value   {len(batch.cells):,} cells")
    small = table.slice(0, 1000)
    taken, _ = best(lambda: encoder.encode(small))
    print(f"1,000 events   {taken:8.3f} s   {taken / 20_000 * 1e6:6.3f} us a value")
    dicts = [
        {name: value for name, value in row.items() if value is not None} for row in table.slice(0, N_DICTS).to_pylist()
    ]
    by_dicts = EventEncoder(dictionary)
    taken, expected = best(lambda: by_dicts.encode(dicts))
    assert (expected.cells == batch.cells[: len(expected.cells)]).all()
    print(f"as dicts       {taken / len(dicts) / 20 * 1e6:6.3f} us a value ({len(dicts):,} events)")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]) if len(sys.argv) == 3 else (100_000, 100_000))
