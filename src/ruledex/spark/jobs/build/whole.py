"""Check and compile, inside one task, all rules of an index that has one shard.

The rules of one shard need no keys, so they are compiled without a check before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.index.build import BuiltRules, build_program
from ruledex.language.schema import Schema
from ruledex.spark.jobs.build.checking import find_faults_beside_texts, group_by_id
from ruledex.spark.jobs.build.stages import CompiledShard, Job, published_columns, published_types, write_compiled
from ruledex.spark.worker.blocks import BlockReader

_ROWS_PER_BLOCK: Final = 100_000


class CompiledWhole(NamedTuple):
    """The compiled shard, the number of refused rules by the code of their error, their distinct ids, and the number of
    copies."""

    shard: CompiledShard
    quarantined: dict[str, int]
    refused: pa.Array
    n_copies: int


def check_and_compile(job: Job, batches: Iterable[pa.RecordBatch]) -> CompiledWhole:
    """Check and compile rules that have `id`, `expr` and `score` and ascend by all three."""
    rules, is_contested = _each_once(job, batches)
    faults = find_faults_beside_texts(rules, is_contested)
    row_of, usable, built = _compile(job, rules, faults)
    if built.faults:
        faults |= {int(row_of[at]): error for at, error in built.faults}
        # Compile again: otherwise the constants of refused rules would stay in the dictionary.
        _, usable, built = _compile(job, rules, faults)
    shard = write_compiled(job, 0, usable, built)
    quarantined = dict(sorted(Counter(error.code for error in faults.values()).items()))
    refused = rules["id"].take(pa.array(sorted(faults), pa.int64())).unique()
    return CompiledWhole(shard, quarantined, refused, int(np.sum(np.array(rules["n_copies"]))))


def _each_once(job: Job, batches: Iterable[pa.RecordBatch]) -> tuple[pa.Table, NDArray[np.bool_]]:
    """Return each rule once with the number of its copies, and whether another rule has its id."""
    types = published_types(job).append(pa.field("n_copies", pa.int64()))
    tables = [types.empty_table()]
    contested = [np.zeros(0, np.bool_)]
    for table, is_contested in group_by_id(BlockReader(batches, _ROWS_PER_BLOCK)):
        tables.append(table.cast(types))
        contested.append(is_contested)
    return pa.concat_tables(tables), np.concatenate(contested)


def _compile(job: Job, rules: pa.Table, faults: Collection[int]) -> tuple[NDArray[np.int64], pa.Table, BuiltRules]:
    """Compile the rules without a fault. Returns their rows, the rules as published, and the result."""
    is_usable = np.ones(rules.num_rows, np.bool_)
    is_usable[list(faults)] = False
    usable = published_columns(job, rules.filter(pa.array(is_usable)) if faults else rules)
    built = build_program(usable["expr"], np.array(usable["score"]), Schema.of_mapping(job.schema))
    return np.flatnonzero(is_usable), usable, built
