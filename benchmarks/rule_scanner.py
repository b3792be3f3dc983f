"""The compiled road from rule text to nodes, stage by stage, beside orjson on the same rules as JSON trees.

    python benchmarks/rule_scanner.py

Times are of the processor, not of the clock, so that a busy machine counts less, and without the Python parser, which
reads each distinct predicate once. The median round of each counts. orjson reads the first 100,000 rules, a document
each.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import TypeVar

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from ruledex import parse
from ruledex.compiled.arrays import read_only
from ruledex.dictionary.text_table import empty_text_table, intern_slices
from ruledex.language.tree import (
    MAX_DEPTH,
    Between,
    Compare,
    Expression,
    In,
    Not,
)
from ruledex.program.layout import find_used_nodes, lay_out
from ruledex.program.node_table import NodeTable, empty_node_table
from ruledex.program.normalise import NormalRules, normalise_rules
from ruledex.program.rule_entries import LiteralFacts, PredicateLiterals, operator_of
from ruledex.program.rule_scanner import scan_texts
from ruledex.program.scores.compile import ScoreTable, empty_score_table
from ruledex.workloads import workload

RULE_SETS = (("abe", 100_000), ("advertising", 100_000), ("abe", 1_000_000))
STAGES = ("scan", "intern", "normalise", "lay out")
CHUNK = 100_000
N_ROUNDS = 5
NAMES = ("and", "or", "xor", "xnor", "not")

Result = TypeVar("Result")


class Clock:
    """Processor seconds by stage."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)

    def time(self, stage: str, work: Callable[..., Result], *arguments: object) -> Result:
        start = time.process_time()
        result = work(*arguments)
        self.seconds[stage] += time.process_time() - start
        return result


def columns(name: str, n_rules: int) -> list[tuple[NDArray[np.uint8], NDArray[np.int32]]]:
    """The rules as the buffers of Arrow columns, a chunk each."""
    parameters = {"n_expressions": n_rules} if name == "abe" else {}
    texts = workload(name, seed=0, **parameters).rule_table(n_rules)["expr"]
    return [_buffers(pa.concat_arrays(texts[first : first + CHUNK].chunks)) for first in range(0, n_rules, CHUNK)]


def _buffers(texts: pa.StringArray) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    _, offsets, text = texts.buffers()
    return np.frombuffer(text, np.uint8), np.frombuffer(offsets, np.int32)[: len(texts) + 1]


def stand_ins(n_predicates: int) -> tuple[PredicateLiterals, LiteralFacts]:
    """Two literals per predicate, itself and its negation."""
    numbers = np.arange(2 * n_predicates, dtype=np.int32)
    columns = numbers[::2].copy(), numbers[1::2].copy(), np.ones(n_predicates)
    facts = numbers ^ 1, (numbers & 1).astype(np.uint8)
    return PredicateLiterals(*map(read_only, columns)), LiteralFacts(*map(read_only, facts))


def build(
    chunks: list[tuple[NDArray[np.uint8], NDArray[np.int32]]],
) -> tuple[Clock, NodeTable, ScoreTable, NormalRules, int]:
    """All stages once."""
    clock = Clock()
    texts, table, scores = empty_text_table(), empty_node_table(), empty_score_table()
    parts = []
    for text, offsets in chunks:
        scan = clock.time("scan", scan_texts, text, offsets, MAX_DEPTH)
        texts, predicate_of = clock.time("intern", intern_slices, texts, text, scan.slice_start, scan.slice_end)
        predicates, facts = stand_ins(texts.n_texts)
        known = PredicateLiterals(*(read_only(each[predicate_of]) for each in predicates)), facts
        table, scores, made = clock.time("normalise", normalise_rules, table, scores, scan, *known)
        parts.append(made)
    rules = NormalRules(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    literal_node = np.arange(2 * texts.n_texts, dtype=np.int32)
    used = clock.time("lay out", find_used_nodes, table, rules.root, literal_node)
    clock.time("lay out", partial(lay_out, share=True), used, scores, rules)
    return clock, table, scores, rules, texts.n_texts


def documents(text: NDArray[np.uint8], offsets: NDArray[np.int32]) -> Iterator[bytes]:
    """The rules as JSON trees: {"and": [{"a": "a17", "op": "<=", "v": 5}, …]}."""
    scan = scan_texts(text, offsets, MAX_DEPTH)
    texts, numbers = intern_slices(empty_text_table(), text, scan.slice_start, scan.slice_end)
    predicates = [orjson.dumps(tree_of(parse(name))) for name in texts.slices(range(texts.n_texts))]
    codes, bounds = scan.code.tolist(), scan.code_offsets.tolist()
    for first, last in pairwise(bounds):
        stack: list[bytes] = []
        for code in codes[first:last]:
            if code >= 0:
                stack.append(predicates[numbers[code]])
            else:
                operator, n_operands = operator_of(code)
                operands = b",".join(stack[-n_operands:])
                del stack[-n_operands:]
                stack.append(b'{"%s":[%s]}' % (NAMES[operator].encode(), operands))
        yield stack[0]


def tree_of(predicate: Expression) -> dict[str, object]:
    """A predicate as a JSON object."""
    match predicate:
        case Not(child):
            inside = tree_of(child)
            return inside | {"op": f"not {inside['op']}"}
        case In(operand, values):
            return {"a": ".".join(operand.path), "op": "in", "v": list(values)}
        case Between(operand, low, high):
            return {"a": ".".join(operand.path), "op": "between", "v": [low, high]}
        case Compare(operand, op, value):
            return {"a": ".".join(operand.path), "op": op, "v": value}
    raise TypeError(f"a workload has no {type(predicate).__name__}")


def json_seconds(rules: list[bytes]) -> float:
    start = time.process_time()
    for rule in rules:
        orjson.loads(rule)
    return time.process_time() - start


def report(name: str, n_rules: int) -> None:
    """One line per stage: microseconds per rule, rules per second, and the part of orjson's time."""
    chunks = columns(name, n_rules)
    json_rules = list(documents(*chunks[0]))
    build(chunks[:1])
    gc.collect()
    gc.disable()
    clocks, json_us = [], []
    for _ in range(N_ROUNDS):
        json_us.append(1e6 * json_seconds(json_rules) / len(json_rules))
        clock, table, scores, rules, n_predicates = build(chunks)
        clocks.append({stage: 1e6 * seconds / n_rules for stage, seconds in clock.seconds.items()})
    gc.enable()
    lines = [(stage, [clock[stage] for clock in clocks]) for stage in STAGES]
    lines.append(("scan to normalise", [sum(clock[stage] for stage in STAGES[:3]) for clock in clocks]))
    lines.append(("orjson.loads", json_us))
    n_bytes = sum(int(offsets[-1] - offsets[0]) for _, offsets in chunks)
    sys.stdout.write(
        f"\n{name}, {n_rules:,} rules of {n_bytes / n_rules:.0f} bytes, {n_predicates:,} distinct predicates, "
        f"{table.n_nodes:,} nodes, {int((rules.n_score_steps > 0).sum()):,} score programs of "
        f"{int(scores.n_steps[0]):,} steps, {int(rules.status.sum()):,} rules fell back\n"
    )
    for label, us in lines:
        middle = statistics.median(us)
        ratio = statistics.median(a / b for a, b in zip(us, json_us, strict=True))
        sys.stdout.write(
            f"  {label:18} {middle:7.2f} us per rule ({min(us):.2f} to {max(us):.2f})"
            f" {1e6 / middle:12,.0f} rules/s   {ratio:5.2f} of orjson\n"
        )


if __name__ == "__main__":
    for rule_set in RULE_SETS:
        report(*rule_set)
