"""Draw rules of an index inside a task, and ask the index and the reference about them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ruledex.index import IndexMatches, RuleId, read_schema
from ruledex.language.clock import Now, asked_at
from ruledex.language.parser import parse
from ruledex.language.reference import truth_of
from ruledex.language.schema import Schema
from ruledex.ratify.report import choose_rules
from ruledex.spark.jobs.ratify.sql import NUMBER
from ruledex.spark.worker.blocks import match_regrouped
from ruledex.spark.worker.distribution import local_root
from ruledex.spark.worker.events import Layout, events_of_block, mappings
from ruledex.spark.worker.opened import open_index

Rules: TypeAlias = "list[tuple[RuleId, str]]"  # ids and texts


class RatifyRequest(NamedTuple):
    """What a ratification asks of its tasks: plain values, which travel with the plan."""

    root: str
    version: str
    layout: Layout
    trust: bool | None
    now: Now  # the time of the job, the same in all tasks


class DrawnRules(NamedTuple):
    """The ids and texts of rules, and their schema as a mapping."""

    rules: Rules
    schema: dict[str, object]


def draw_rules(
    request: RatifyRequest, n_rules: int, seed: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Draw rules by a seed, half of them from those that are true of some event. Yields them as JSON in one row.

    Most of a million rules are true of nothing in a small sample, and a rule that is never true says little.
    """
    index = open_index(request.root, request.version, request.trust)
    is_true = np.zeros(len(index), np.bool_)
    for _, (found,) in match_regrouped(batches, request.layout, [index], request.now):
        is_true[found.position] = True
    chosen = choose_rules(len(index), n_rules, seed, np.flatnonzero(is_true).tolist())
    ids = index.ids.take(pa.array(chosen, pa.int64())).to_pylist()
    found_rules = DrawnRules([(rule_id, index.rule(rule_id).text) for rule_id in ids], _schema(request))
    yield pa.RecordBatch.from_pydict({"drawn": pa.array([json.dumps(found_rules)], pa.string())})


def answer_rules(request: RatifyRequest, rules: Rules, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield one row per event: its number, and per rule the answers of the index and of the reference."""
    index = open_index(request.root, request.version, request.trust)
    schema = Schema.of_mapping(_schema(request))
    trees = [schema.bind(parse(text), text) for _, text in rules]
    for table, (found,) in match_regrouped(batches, request.layout, [index], request.now):
        events = events_of_block(table, request.layout)
        with asked_at(request.now, schema.zone):
            reference = [
                [truth_of(tree, event, schema) for tree in trees]
                for event in (mappings(events) if isinstance(events, pa.Table) else events)
            ]
        yield pa.RecordBatch.from_pydict(
            {
                NUMBER: table[NUMBER].combine_chunks(),
                "index": pa.array(_by_rule(found, [rule_id for rule_id, _ in rules]).tolist(), pa.list_(pa.bool_())),
                "reference": pa.array(reference, pa.list_(pa.bool_())),
            }
        )


def _by_rule(found: IndexMatches, rules: list[RuleId]) -> NDArray[np.bool_]:
    """Return one row per event and one column per rule. Compares ids and not positions, as ids are what users get."""
    truth = np.zeros((found.n_events, len(rules)), np.bool_)
    ids = pa.array(found.rule)
    column = pc.index_in(ids, pa.array(rules, ids.type)).fill_null(-1).to_numpy()
    event = np.repeat(np.arange(found.n_events), np.diff(found.offsets))
    truth[event[column >= 0], column[column >= 0]] = True
    return truth


def _schema(request: RatifyRequest) -> dict[str, object]:
    return read_schema(local_root(request.root), request.version).to_mapping()
