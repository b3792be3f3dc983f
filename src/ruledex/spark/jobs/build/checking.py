"""Check rules inside a task of a build: give each usable rule a key, and each other rule its error.

The rules of an index of one shard need no keys, so they are compiled by the task that checks them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ruledex.errors import RuleError, RuleLimitError, RuleSyntaxError, RuleTypeError
from ruledex.index import RuleId
from ruledex.index.parts import (
    BAD,
    ORIGINAL,
    TAGS,
    BuildJob,
    BuiltRules,
    CompiledShard,
    build_program,
    column_texts,
    published_columns,
    published_types,
    write_compiled,
)
from ruledex.language.schema import Schema
from ruledex.sources import EMPTY_ID
from ruledex.spark.jobs.build.keys import keys_of
from ruledex.spark.worker.blocks import BlockReader

# Each distinct predicate of a chunk is parsed once, which is most of the work, so larger chunks need less work.
RULES_PER_CHUNK: Final = 500_000
_ROWS_PER_BLOCK: Final = 100_000
_COPIES: Final = "n_copies"

_KINDS: Final = {kind.code: kind for kind in (RuleSyntaxError, RuleTypeError, RuleLimitError)}

# The columns that a check adds. A rule that can be used has a key and no error; another rule has an error and no key.
CHECKED: Final = {
    _COPIES: pa.int64(),
    "key": pa.int32(),
    "code": pa.string(),
    "error": pa.string(),
    "line": pa.int32(),
    "column": pa.int32(),
    "position": pa.int32(),
}


def check_batches(
    schema: Mapping[str, Any], over: Mapping[RuleId, str], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the rules with the columns of `CHECKED` added. Rows have `id`, `expr`, `score` and perhaps `tags`.

    They ascend by all of these. Equal rows are one rule, and `n_copies` says how many more there were. Rules that have
    the same id but differ are all refused, since none is more right than the others. `over` says by id what is wrong
    with rules that are over the budget of an engine.
    """
    declared = Schema.of_mapping(schema)
    for rules, is_contested in group_by_id(BlockReader(batches, RULES_PER_CHUNK)):
        yield from _check(rules, is_contested, declared, over).to_batches()


# Ids.


def group_by_id(tables: Iterable[pa.Table]) -> Iterator[tuple[pa.Table, NDArray[np.bool_]]]:
    """Yield each rule once with the number of its copies, and whether another rule has its id.

    Rows with one id may be in two tables, so the last row of a table waits for the next table.
    """
    waiting: pa.Table | None = None
    waits_contested = False
    for table in tables:
        rows = _with_scores(table)
        if waiting is not None:
            rows = pa.concat_tables([waiting, rows])
        kept, is_contested = _drop_copies(rows, waits_contested)
        last = kept.num_rows - 1
        if last:
            yield kept.slice(0, last), is_contested[:last]
        waiting, waits_contested = kept.slice(last), bool(is_contested[last])
    if waiting is not None:
        yield waiting, np.array([waits_contested])


def _with_scores(table: pa.Table) -> pa.Table:
    """Set missing scores to 0 and add `n_copies`. Adding 0.0 turns -0.0 into 0.0, so equal scores are equal bytes."""
    scores = np.array(table["score"].fill_null(0.0), np.float64) + 0.0
    n_copies = pa.array(np.zeros(table.num_rows, np.int64))
    return table.set_column(2, "score", pa.array(scores)).append_column(_COPIES, n_copies)


def _drop_copies(rows: pa.Table, first_is_contested: bool) -> tuple[pa.Table, NDArray[np.bool_]]:
    ids, texts = rows["id"], rows["expr"]
    same_id = _equals_previous(ids)
    is_copy = same_id & (_equals_previous(texts) | (_equals_previous(texts.is_null()) & np.array(texts.is_null())))
    is_copy &= _equals_previous(rows["score"])
    for name in (TAGS, ORIGINAL):
        if name in rows.column_names:
            is_copy &= _equals_previous(rows[name].fill_null(""))
    row_of = np.flatnonzero(~is_copy)
    n_copies = np.add.reduceat(np.array(rows["n_copies"]) + is_copy, row_of)
    at = rows.column_names.index(_COPIES)
    kept = rows.filter(pa.array(~is_copy)).set_column(at, _COPIES, pa.array(n_copies))
    # The rows between a kept rule and the next kept one are its copies, so the row before the next has the rule's id.
    is_contested = same_id[row_of].copy()
    is_contested[:-1] |= same_id[row_of[1:]]
    is_contested[0] |= first_is_contested
    return kept, is_contested


def _equals_previous(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Return for each row whether its value is present and equals that of the row before."""
    if not len(column):
        return np.zeros(0, np.bool_)
    same = pc.equal(column.slice(1), column.slice(0, len(column) - 1)).fill_null(False)
    return np.concatenate([[False], np.array(same, np.bool_)])


# Tags. What is wrong with some is written in their place, so that rules are still compared as a whole.


def write_tags(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return rules with their tags as canonical JSON, or what is wrong with them behind a mark that JSON has not."""
    at = batch.schema.names.index(TAGS)
    texts, faults = column_texts(pa.chunked_array([batch.column(at)]), f"the column {TAGS!r}")
    written = texts.to_pylist()
    for row, error in faults:
        written[row] = BAD + error.message
    return batch.set_column(at, TAGS, pa.array(written, pa.string()))


def _bad_tags(rules: pa.Table) -> dict[int, RuleError]:
    return {row: RuleError(message) for row, message in _marked(rules, TAGS)}


def _not_converted(rules: pa.Table) -> dict[int, RuleError]:
    """Return by row why rules of another system could not be converted."""
    errors = {row: json.loads(mark) for row, mark in _marked(rules, ORIGINAL)}
    return {row: _KINDS.get(code, RuleError)(message) for row, (code, message) in errors.items()}


def _marked(rules: pa.Table, name: str) -> list[tuple[int, str]]:
    """Return by row what is behind the mark of an error in a column."""
    if name not in rules.column_names:
        return []
    is_bad = np.array(pc.starts_with(rules[name], BAD).fill_null(False), np.bool_)
    return [(row, rules[name][row].as_py().removeprefix(BAD)) for row in np.flatnonzero(is_bad).tolist()]


# Texts.


def find_faults_beside_texts(
    rules: pa.Table, is_contested: NDArray[np.bool_], over: Mapping[RuleId, str]
) -> dict[int, RuleError]:
    """Return by row which rules are over a budget, and what is wrong with the ids and scores of others."""
    faults: dict[int, RuleError] = {}
    if over:
        is_over = np.array(pc.is_in(rules["id"], pa.array(list(over), rules["id"].type)), np.bool_)
        for row in np.flatnonzero(is_over).tolist():
            faults[row] = RuleLimitError(over[rules["id"][row].as_py()])
    differ = "text, score or tags" if TAGS in rules.column_names else "text or score"
    for is_bad, message in (
        (is_contested, f"rules with this id differ in {differ}"),
        (~np.isfinite(np.array(rules["score"])), "a score is a finite number"),
        (np.array(rules["id"].is_null()), "a rule needs an id"),
        (_is_empty(rules["id"]), EMPTY_ID),
    ):
        faults |= {row: RuleError(message) for row in np.flatnonzero(is_bad).tolist()}
    return _not_converted(rules) | _bad_tags(rules) | faults


def _is_empty(ids: pa.ChunkedArray) -> NDArray[np.bool_]:
    if pa.types.is_integer(ids.type):
        return np.zeros(len(ids), np.bool_)
    return np.array(pc.equal(ids, "").fill_null(False), np.bool_)


def _check(rules: pa.Table, is_contested: NDArray[np.bool_], schema: Schema, over: Mapping[RuleId, str]) -> pa.Table:
    scores = np.array(rules["score"])
    faults = find_faults_beside_texts(rules, is_contested, over)
    usable = np.ones(rules.num_rows, np.bool_)
    usable[list(faults)] = False
    row_of = np.flatnonzero(usable)
    program, dictionary, found = build_program(rules["expr"].filter(pa.array(usable)), scores[row_of], schema)
    faults |= {int(row_of[at]): error for at, error in found}
    usable[list(faults)] = False
    keys = np.zeros(rules.num_rows, np.int32)
    keys[usable] = keys_of(program, dictionary)
    columns = {
        "key": pa.array(keys, mask=~usable),
        **_columns({row: faults[row] for row in sorted(faults)}, rules.num_rows),
    }
    for name, column in columns.items():
        rules = rules.append_column(name, column)
    return rules


def _columns(faults: dict[int, RuleError], n_rules: int) -> dict[str, pa.Array]:
    """Return the columns that describe the error of each rule, null for rules without one."""
    values: dict[str, list[Any]] = {
        "code": [error.code for error in faults.values()],
        "error": [f"{error.message}; {error.hint}" if error.hint else error.message for error in faults.values()],
        "line": [error.line for error in faults.values()],
        "column": [error.column for error in faults.values()],
        "position": [error.position for error in faults.values()],
    }
    number = np.zeros(n_rules, np.int64)
    is_fault = np.zeros(n_rules, np.bool_)
    is_fault[list(faults)] = True
    number[list(faults)] = np.arange(len(faults))
    taken = pa.array(number, mask=~is_fault)
    return {name: pa.array(column, CHECKED[name]).take(taken) for name, column in values.items()}


# One shard.


class CompiledWhole(NamedTuple):
    """The compiled shard, the number of refused rules by the code of their error, their distinct ids, and the number of
    copies."""

    shard: CompiledShard
    quarantined: dict[str, int]
    refused: pa.Array
    n_copies: int


def check_and_compile(job: BuildJob, over: Mapping[RuleId, str], batches: Iterable[pa.RecordBatch]) -> CompiledWhole:
    """Check and compile rules that have `id`, `expr`, `score` and perhaps `tags`, and ascend by all of them."""
    rules, is_contested = _each_once(job, batches)
    faults = find_faults_beside_texts(rules, is_contested, over)
    row_of, usable, built = _compile(job, rules, faults)
    if built.faults:
        faults |= {int(row_of[at]): error for at, error in built.faults}
        # Compile again: otherwise the constants of refused rules would stay in the dictionary.
        _, usable, built = _compile(job, rules, faults)
    shard = write_compiled(job, 0, usable, built)
    quarantined = dict(sorted(Counter(error.code for error in faults.values()).items()))
    refused = rules["id"].take(pa.array(sorted(faults), pa.int64())).unique()
    return CompiledWhole(shard, quarantined, refused, int(np.sum(np.array(rules["n_copies"]))))


def _each_once(job: BuildJob, batches: Iterable[pa.RecordBatch]) -> tuple[pa.Table, NDArray[np.bool_]]:
    """Return each rule once with the number of its copies, and whether another rule has its id."""
    types = published_types(job).append(pa.field("n_copies", pa.int64()))
    tables = [types.empty_table()]
    contested = [np.zeros(0, np.bool_)]
    for table, is_contested in group_by_id(BlockReader(batches, _ROWS_PER_BLOCK)):
        tables.append(table.cast(types))
        contested.append(is_contested)
    return pa.concat_tables(tables), np.concatenate(contested)


def _compile(job: BuildJob, rules: pa.Table, faults: Collection[int]) -> tuple[NDArray[np.int64], pa.Table, BuiltRules]:
    """Compile the rules without a fault. Returns their rows, the rules as published, and the result."""
    is_usable = np.ones(rules.num_rows, np.bool_)
    is_usable[list(faults)] = False
    usable = published_columns(job, rules.filter(pa.array(is_usable)) if faults else rules)
    built = build_program(usable["expr"], np.array(usable["score"]), Schema.of_mapping(job.schema))
    return np.flatnonzero(is_usable), usable, built
