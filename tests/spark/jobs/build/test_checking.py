"""Rules are checked chunk by chunk, wherever the chunks begin and end."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ruledex.spark.jobs.build import checking as build_checking
from ruledex.spark.jobs.build.checking import check_batches

ROWS = [
    (None, "a = 1", None),
    (1, "a = 1", 0.0),
    (2, "a = 1", 1.0),
    (2, "a = 1", 1.0),
    (2, "a = 1", 1.0),
    (3, "a = 1", 1.0),
    (3, "a = 1", 2.0),
    (4, None, 0.0),
    (4, None, 0.0),
    (5, "a = 1", None),
    (5, "a = 1", -0.0),
    (6, "a = 1", 0.0),
    (6, "a = 1", 0.0),
    (6, "b = 1", 0.0),
    (6, "c = 1", 0.0),
    (6, "c = 1", 0.0),
    (7, "a = ", 0.0),
    (8, "a = 1", float("inf")),
    (9, "a =\n 'x", 0.0),
]
DIFFER = "rules with this id differ in text or score"
FOUND = [
    (None, "a = 1", 0, "rule", "a rule needs an id"),
    (1, "a = 1", 0, None, None),
    (2, "a = 1", 2, None, None),
    (3, "a = 1", 0, "rule", DIFFER),
    (3, "a = 1", 0, "rule", DIFFER),
    (4, None, 1, "syntax", "there is no text"),
    (5, "a = 1", 1, None, None),
    (6, "a = 1", 1, "rule", DIFFER),
    (6, "b = 1", 0, "rule", DIFFER),
    (6, "c = 1", 1, "rule", DIFFER),
    (7, "a = ", 0, "syntax", "the rule ends here, expected an attribute, a constant or a condition"),
    (8, "a = 1", 0, "rule", "a score is a finite number"),
]


def checked(rows, rows_per_batch):
    """The rows as Spark would hand them over, through the check."""
    ids, texts, scores = zip(*rows, strict=True)
    table = pa.table(
        {"id": pa.array(ids, pa.int64()), "expr": pa.array(texts, pa.string()), "score": pa.array(scores, pa.float64())}
    )
    return pa.Table.from_batches(check_batches({}, {}, table.to_batches(max_chunksize=rows_per_batch))).to_pylist()


@pytest.mark.parametrize("rows_per_batch", [1, 2, 3, 5, 100])
def test_copies_count_once_and_rules_that_differ_are_all_faults(rows_per_batch, monkeypatch):
    monkeypatch.setattr(build_checking, "RULES_PER_CHUNK", rows_per_batch)
    found = checked(ROWS, rows_per_batch)
    told = [(row["id"], row["expr"], row["n_copies"], row["code"], row["error"]) for row in found]
    assert told[: len(FOUND)] == FOUND
    assert [row["key"] is None for row in found] == [row["code"] is not None for row in found]
    assert len({row["key"] for row in found if row["code"] is None}) == 1
    last = found[-1]
    assert (last["code"], last["line"], last["column"], last["position"]) == ("syntax", 2, 2, 5)


def test_no_rows_give_none():
    assert list(check_batches({}, {}, [])) == []
