"""Rules in Parquet tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ruledex.errors import InputError
from ruledex.sources import BadRow, Columns, RuleFile, RuleRow


def written(folder: Path, columns: dict[str, Any]) -> str:
    path = folder / "rules.parquet"
    pq.write_table(pa.table(columns), path)
    return str(path)


def test_rows_are_rules_with_integer_or_text_ids(tmp_path: Path) -> None:
    columns = {"id": [1, 2, None], "expr": ["a = 1", None, "b"], "score": pa.array([1.5, None, 2], pa.float64())}
    good, no_rule, no_id = RuleFile(written(tmp_path, columns)).rows()
    assert good == RuleRow(1, 1, b"a = 1", None, 1.5)
    assert isinstance(no_rule, BadRow)
    assert (no_rule.line, no_rule.rule_id) == (2, "2")
    assert isinstance(no_id, BadRow)
    assert no_id.line == 3


def test_bytes_that_are_not_utf_8_reach_the_parser_and_stop_no_other_row(tmp_path: Path) -> None:
    text = pa.array([b"a = '\xff'", b"b = 2"], pa.binary())
    columns = {"id": pa.array(["r1", "r2"]).dictionary_encode(), "expr": text.view(pa.string())}
    assert list(RuleFile(written(tmp_path, columns)).rows()) == [
        RuleRow(1, "r1", b"a = '\xff'"),
        RuleRow(2, "r2", b"b = 2"),
    ]


def test_many_rows_come_in_order_and_are_counted(tmp_path: Path) -> None:
    n = 20_000
    source = RuleFile(written(tmp_path, {"rule_id": list(range(n)), "cond": ["a = 1"] * n}), Columns("rule_id", "cond"))
    found = list(source.rows())
    assert [row.rule_id for row in found] == list(range(n))
    assert (source.size, source.n_read) == (n, n)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"id": [1]}, "no column 'expr'"),
        ({"id": [1], "expr": [2]}, "int64, not text"),
        ({"expr": ["a"]}, "no column 'id'"),
    ],
)
def test_a_table_without_its_columns_is_refused(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(RuleFile(written(tmp_path, columns)).rows())


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rules.parquet"
    path.write_bytes(b"id,expr\n1,a\n")
    with pytest.raises(InputError, match="not a Parquet file"):
        list(RuleFile(str(path)).rows())
