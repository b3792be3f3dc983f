"""`match_batch` on an Arrow table beside a page of NumPy, on the rules of `peers.py` at 10 to 10,000 rules.

    python benchmarks/numpy_page.py                   8,192 events, and writes docs/benchmarks/numpy.md
    python benchmarks/numpy_page.py --quick           fewer rounds, and no page is written

The page of NumPy is what somebody writes who has no index: each distinct predicate is evaluated on its column as one
boolean array, packed to bits, and each rule is the AND or OR of such rows of bits. The rows alone are its answer, and
by event, as `match_batch` gives them, they take longer: both are shown. Rules are read before the clock starts. The
answers are compared. Times are processor time of one thread: medians of rounds in which all take turns.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("RULEDEX_COMPILE", "now")  # before ruledex is imported: plain kernels are not what is measured

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from peers_data import WORKLOADS, attribute_types, draw, event_table
from peers_rules import Plain, Test, plain, tests_of
from ruledex import Index

SIZES = (10, 100, 1_000, 10_000)
N_EVENTS, N_ROUNDS, N_QUICK = 8_192, 9, 3
PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks" / "numpy.md"
SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


class NumpyPage:
    """Rules as trees over distinct tests."""

    def __init__(self, texts: list[str]) -> None:
        self.trees = [plain(text) for text in texts]
        self.tests = sorted({test for tree in self.trees for test in tests_of(tree)}, key=lambda test: test.name)

    def rows(self, table: pa.Table) -> np.ndarray:
        """Return one row of bits per rule, with one bit per event."""
        known = self._evaluated(table)

        def row(tree: Plain) -> np.ndarray:
            if isinstance(tree, Test):
                return known[tree]
            combine = np.bitwise_and if tree.is_and else np.bitwise_or
            found = combine(row(tree.parts[0]), row(tree.parts[-1]))
            for part in tree.parts[1:-1]:
                combine(found, row(part), out=found)
            return found

        out = np.empty((len(self.trees), (table.num_rows + 7) // 8), np.uint8)
        for number, tree in enumerate(self.trees):
            out[number] = row(tree)
        return out

    def matches(self, table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
        """Return the rules of each event, ascending, and where they begin."""
        bits = np.unpackbits(self.rows(table), axis=1, count=table.num_rows)
        events, rules = np.nonzero(bits.T)
        offsets = np.zeros(table.num_rows + 1, np.int64)
        np.cumsum(np.bincount(events, minlength=table.num_rows), out=offsets[1:])
        return offsets, rules

    def _evaluated(self, table: pa.Table) -> dict[Test, np.ndarray]:
        known = {}
        name, values, is_there, codes = "", np.empty(0), None, None
        for test in self.tests:
            if test.name != name:
                name = test.name
                values, is_there, codes = _column(table[name].combine_chunks())
            known[test] = np.packbits(_truth(test, values, is_there, codes))
        return known


def _column(column: pa.Array) -> tuple[np.ndarray, np.ndarray | None, dict[str, int] | None]:
    """Return numbers or codes of texts, which are there, and the code of each text."""
    is_there = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
    if not pa.types.is_string(column.type):
        return pc.fill_null(column, 0).to_numpy(), is_there, None
    coded = column.dictionary_encode()
    codes = pc.fill_null(coded.indices, -1).to_numpy()
    return codes, is_there, {text: code for code, text in enumerate(coded.dictionary.to_pylist())}


def _truth(test: Test, values: np.ndarray, is_there: np.ndarray | None, codes: dict[str, int] | None) -> np.ndarray:
    if "in" in test.sign:
        if codes is None:
            truth = np.isin(values, test.value)
        else:
            is_wanted = np.zeros(len(codes) + 1, np.bool_)  # the last is that of the code -1
            is_wanted[[codes[text] for text in test.value if text in codes]] = True
            truth = is_wanted[values]
        truth = ~truth if test.sign == "not in" else truth
    else:
        truth = SIGNS[test.sign](values, test.value if codes is None else codes.get(test.value, -2))
    return truth if is_there is None else truth & is_there


def timed(call: Callable[[], Any]) -> float:
    """Return the processor time of a call, in ns."""
    start = time.thread_time_ns()
    call()
    return time.thread_time_ns() - start


def measure(name: str, n_rules: int, n_rounds: int) -> tuple[float, float, float]:
    """Return µs per event of `match_batch`, of rows of bits by NumPy, and of the same by event."""
    data = draw(name, n_rules, N_EVENTS)
    page = NumpyPage(data.texts)
    types = {name: kind for tree in page.trees for name, kind in attribute_types(tree).items()}
    table = event_table(data.events, types)
    index = Index.build(pa.table({"id": range(n_rules), "expr": data.texts}))
    matches, (offsets, rules) = index.match_batch(table), page.matches(table)
    assert np.array_equal(matches.offsets, offsets)
    assert np.array_equal(matches.rule, rules)
    calls = (lambda: index.match_batch(table), lambda: page.rows(table), lambda: page.matches(table))
    rounds = [[timed(call) for call in calls] for _ in range(n_rounds)]
    ours, rows, by_event = (median(taken) / N_EVENTS / 1_000 for taken in zip(*rounds, strict=True))
    return ours, rows, by_event


def main() -> None:
    """Measure all sizes and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rules", type=int, nargs="*", default=SIZES)
    given = parser.parse_args()
    lines = []
    for name in WORKLOADS:
        for n_rules in given.rules:
            ours, rows, by_event = measure(name, n_rules, N_QUICK if given.quick else N_ROUNDS)
            lines.append(f"| {name}, {n_rules:,} | {ours:.2f} | {rows:.2f} | {by_event:.2f} | {ours / rows:.2f} |")
            print(lines[-1], flush=True)
    if given.quick:
        return
    head = [
        "# Beside a page of NumPy",
        "",
        f"Written by `benchmarks/numpy_page.py`: µs of processor time per event, on Arrow tables of {N_EVENTS:,}",
        f"events. Medians of {N_ROUNDS} rounds in turn. One thread of {os.cpu_count()} cores, {platform.machine()},",
        f"Python {platform.python_version()}, NumPy {np.__version__}. The page evaluates each predicate once on its",
        "column, packs it to bits, and combines the rows of bits to one per rule. By event, as `match_batch` answers,",
        "costs more.",
        "The ratio is that of `match_batch` to rows of bits.",
        "",
        "| rules | `match_batch` | NumPy, rows of bits | NumPy, by event | ratio |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    PAGE.write_text("\n".join([*head, *lines]) + "\n")


if __name__ == "__main__":
    main()
