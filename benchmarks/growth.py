"""How the time of one event in `sparse` grows with the number of rules, at three match rates.

    python benchmarks/growth.py                    10,000 to 10,000,000 rules; writes docs/benchmarks/growth.md
    python benchmarks/growth.py --sizes 10000      other sizes; measurements of the rest are kept
    python benchmarks/growth.py --rates 0.1%       some of the match rates only
    python benchmarks/growth.py --render           the page anew from the measurements that are there

Rules are whang2009's conjunctions (`advertising`). A row has the time, the matches and what the event touches, so that
one sees what the time follows. Times are the processor's, medians over rounds.

Texts of rules are drawn and read block by block, so that those of 10,000,000 rules are never there at once.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from core_timing import affordable, say, seconds, spread, start_compiled
from growth_page import page
from papers_data import Data, about, first_events, with_events
from ruledex.engines.batch.engine import BatchEngine
from ruledex.engines.sparse.engine import SparseEngine
from ruledex.events.batch import EventBatch
from ruledex.language.schema import Schema
from ruledex.program.builder import ProgramBuilder
from ruledex.workloads import workload
from ruledex.workloads.base import Workload
from work import work_of

DOCS = Path(__file__).resolve().parent.parent / "docs" / "benchmarks"
SEED = 0
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
# By about how many rules match: how often a conjunction has 1, 2, ... predicates.
RATES: dict[str, tuple[float, ...]] = {
    "0.1%": (0.0, 0.10, 0.30, 0.30, 0.15, 0.08, 0.04, 0.02, 0.01),
    "0.01%": (0.0, 0.0, 0.0, 0.15, 0.35, 0.25, 0.15, 0.10),
    "0.001%": (0.0, 0.0, 0.0, 0.0, 0.10, 0.25, 0.35, 0.30),
}
N_ROUNDS = 7
N_TRIED = 16  # events before all others
BUDGET = 0.3  # seconds of a round
N_COUNTED = 50  # events whose work is counted


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


def us_per_event(engine: SparseEngine, events: EventBatch) -> dict[str, float]:
    """Microseconds of some rounds, each of as many events as fit the budget."""
    few = first_events(events, N_TRIED)
    engine.match(few)
    n_events = affordable(seconds(lambda: engine.match(few)) / N_TRIED, BUDGET, N_TRIED, events.n_events)
    part = first_events(events, n_events)
    return spread([seconds(lambda: engine.match(part)) / n_events * 1e6 for _ in range(N_ROUNDS)])


def measure(rate: str, n_rules: int) -> dict[str, Any]:
    """One row: microseconds per event with and without statistics, matches, work, bytes, and what building took."""
    say(f"{rate}, {n_rules:,} rules")
    start = time.process_time()
    drawing = workload("advertising", seed=SEED, form="dnf", n_months=12, predicate_weights=RATES[rate])
    data = draw_in_blocks(drawing, n_rules)
    row: dict[str, Any] = {"rate": rate, "n_rules": n_rules, "draw_seconds": time.process_time() - start, "us": {}}
    for name, statistics in (("with", data.statistics), ("without", None)):
        start = time.process_time()
        engine = SparseEngine.build(data.program, statistics)
        row["engine_seconds"] = time.process_time() - start
        row["us"][name] = us_per_event(engine, data.events)
        if statistics is not None:
            row["work"] = work_of(engine, first_events(data.events, N_COUNTED))
            counted = engine.match(data.events)
            row["matches"] = float(counted.offsets[-1]) / data.events.n_events
            of_program = sum(array.nbytes for array in data.program if isinstance(array, np.ndarray))
            row["n_bytes"] = of_program + engine.describe()["bytes"]
        del engine  # before the next is built
    batch = BatchEngine.build(data.program, data.statistics)
    batch.count(data.events)
    counts = [seconds(lambda: batch.count(data.events)) / data.events.n_events * 1e6 for _ in range(N_ROUNDS)]
    row["us"]["batch"] = spread(counts)
    return row


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of rules")
    parser.add_argument("--rates", choices=RATES, nargs="+", default=list(RATES), help="about how many rules match")
    parser.add_argument("--render", action="store_true", help="measure nothing, write the page anew")
    parser.add_argument("--output", type=Path, default=DOCS, help="the folder to write to; docs/benchmarks")
    arguments = parser.parse_args()
    start_compiled()
    stored = arguments.output / "growth.json"
    document = json.loads(stored.read_text()) if stored.exists() else {"rows": []}
    for n_rules in () if arguments.render else arguments.sizes:
        for rate in arguments.rates:
            row = measure(rate, n_rules)
            rows = {(old["rate"], old["n_rules"]): old for old in document["rows"]} | {(rate, n_rules): row}
            order = list(RATES)
            document = {
                "about": about(SEED) | {"load": round(os.getloadavg()[0], 1)},
                "rows": sorted(rows.values(), key=lambda row: (order.index(row["rate"]), row["n_rules"])),
            }
            arguments.output.mkdir(parents=True, exist_ok=True)
            stored.write_text(json.dumps(document, indent=1) + "\n")
    (arguments.output / "growth.md").write_text(page(document))


if __name__ == "__main__":
    main()
