"""How the time of one event in `sparse` grows with the number of rules, at three match rates.

    python benchmarks/growth.py                    10,000, 100,000 and 1,000,000 rules
    python benchmarks/growth.py --sizes 10000000   other sizes
    python benchmarks/growth.py --rates 0.1%       some of the match rates only

Rules are whang2009's conjunctions of at least two predicates (`advertising`). A row has the time, the matches and what
the event touches, so that one sees what the time follows. Times are the processor's, medians over rounds.

Texts of rules are drawn and read block by block, so that those of 10,000,000 rules are never there at once.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
import pyarrow as pa

from core_timing import affordable, say, seconds, spread
from papers_data import Data, first_events, with_events
from ruledex.engines.sparse.engine import SparseEngine
from ruledex.events.batch import EventBatch
from ruledex.language.schema import Schema
from ruledex.program.builder import ProgramBuilder
from ruledex.workloads import workload
from ruledex.workloads.base import Workload
from work import work_of

SEED = 0
SIZES = (10_000, 100_000, 1_000_000)
RATES: dict[str, dict[str, Any]] = {
    "1%": {"n_months": 12},
    "0.1%": {"n_months": 12, "predicate_weights": (0.0, 0.10, 0.30, 0.30, 0.15, 0.08, 0.04, 0.02, 0.01)},
    "0.01%": {"n_months": 12, "predicate_weights": (0.0, 0.0, 0.0, 0.15, 0.35, 0.25, 0.15, 0.10)},
}
N_ROUNDS = 5
N_TRIED = 16  # events before all others
BUDGET = 0.3  # seconds of a round
N_COUNTED = 50  # events whose work is counted
COLUMNS = (
    "AND edges followed",
    "OR edges followed",
    "children looked at",
    "nodes true",
    "words cleared",
)


def draw_in_blocks(rules: Workload, n_rules: int) -> Data:
    """The first rules of a generator and its events, with the texts of one block of rules at a time."""
    builder = ProgramBuilder(Schema())
    for batch in rules.rule_batches(n_rules):
        texts = batch["expr"].cast(pa.large_string())
        _, offsets, data = texts.buffers()
        bounds = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
        faults = builder.add_texts(np.frombuffer(data, np.uint8), bounds, np.zeros(len(texts)))
        assert not faults
    program, dictionary = builder.finish()
    del builder
    return with_events(program, dictionary, rules)


def us_per_event(engine: SparseEngine, events: EventBatch) -> float:
    """The median of some rounds, each of as many events as fit the budget."""
    few = first_events(events, N_TRIED)
    engine.match(few)
    n_events = affordable(seconds(lambda: engine.match(few)) / N_TRIED, BUDGET, N_TRIED, events.n_events)
    part = first_events(events, n_events)
    return 1e6 / n_events * spread([seconds(lambda: engine.match(part)) for _ in range(N_ROUNDS)])["median"]


def measure(rate: str, n_rules: int) -> dict[str, Any]:
    """One row: microseconds per event with and without statistics, matches, and work with statistics."""
    say(f"{rate}, {n_rules:,} rules")
    data = draw_in_blocks(workload("advertising", seed=SEED, form="dnf", **RATES[rate]), n_rules)
    row: dict[str, Any] = {"rate": rate, "rules": n_rules}
    for name, statistics in (("us", data.statistics), ("us without", None)):
        engine = SparseEngine.build(data.program, statistics)
        row[name] = us_per_event(engine, data.events)
        if statistics is not None:
            work = work_of(engine, first_events(data.events, N_COUNTED))
            row |= {"matches": work["rules true"]} | {column: work[column] for column in COLUMNS}
        del engine  # before the next is built
    return row


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of rules")
    parser.add_argument("--rates", choices=RATES, nargs="+", default=list(RATES), help="about how many rules match")
    arguments = parser.parse_args()
    headings = ("rate", "rules", "matches", "us", "us without", "us per match", *COLUMNS)
    sys.stdout.write(f"| {' | '.join(headings)} |\n|{' --: |' * len(headings)}\n")
    for rate in arguments.rates:
        for n_rules in arguments.sizes:
            row = measure(rate, n_rules)
            row["us per match"] = row["us"] / max(row["matches"], 1.0)
            cells = [row[name] for name in headings]
            texts = [f"{cell:,.2f}" if isinstance(cell, float) and cell < 100 else f"{cell:,.0f}" for cell in cells[1:]]
            sys.stdout.write(f"| {' | '.join([rate, *texts])} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
