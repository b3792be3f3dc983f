"""Files of rules in all their forms, whole and broken."""

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ruledex.errors import InputError
from ruledex.sources import BadRow, Columns, RuleFile, RuleRow


def rows(path: Path | str, columns: Columns | None = None) -> list[RuleRow | BadRow]:
    return list(RuleFile(str(path), columns or Columns()).rows())


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


JSONL = (
    b'{"id": "r1", "expr": "a = 1", "score": 2.5}\n\n'
    b'{"id": 7, "rule": {"op": "not", "child": true}}\r\n'
    b'{"id": "r3", "expr": "x = \'\xc3\xa9\'", "other": 1}'
)


@pytest.mark.parametrize("name", ["rules.jsonl", "rules.ndjson", "rules.JSONL", "rules.jsonl.gz"])
def test_json_lines_give_text_or_structured_rules(tmp_path: Path, name: str) -> None:
    assert rows(written(tmp_path, name, JSONL)) == [
        RuleRow(1, "r1", "a = 1", None, 2.5),
        RuleRow(3, 7, None, {"op": "not", "child": True}),
        RuleRow(4, "r3", "x = 'é'"),
    ]


@pytest.mark.parametrize(
    ("line", "rule_id", "message"),
    [
        (b"{", "", "not JSON"),
        (b'{"id": "r", "expr": "\xff"}', "", "not JSON"),
        (b"[" * 5000, "", "not JSON"),
        (b"[1]", "", "a JSON object"),
        (b'{"expr": "a = 1"}', "", "needs an id"),
        (b'{"id": true, "expr": "a = 1"}', "", "needs an id"),
        (b'{"id": "", "expr": "a = 1"}', "", "needs an id"),
        (b'{"id": "r"}', "r", "no rule"),
        (b'{"id": "r", "expr": null}', "r", "no rule"),
        (b'{"id": "r", "expr": 5}', "r", "must be a string"),
        (b'{"id": "r", "expr": "a", "rule": true}', "r", "not both"),
        (b'{"id": "r", "expr": "a", "score": "high"}', "r", "finite number"),
        (b'{"id": "r", "expr": "a", "score": [1]}', "r", "finite number"),
        (b'{"id": "r", "expr": "a", "score": 1e999}', "", "not JSON"),
    ],
)
def test_a_broken_line_is_told_with_its_number_and_the_next_is_read(
    tmp_path: Path, line: bytes, rule_id: str, message: str
) -> None:
    bad, good = rows(written(tmp_path, "rules.jsonl", b"\n" + line + b'\n{"id": "r2", "expr": "a = 1"}\n'))
    assert isinstance(bad, BadRow)
    assert (bad.line, bad.rule_id) == (2, rule_id)
    assert message in bad.message
    assert good == RuleRow(3, "r2", "a = 1")


def test_csv_has_a_header_quotes_and_line_ends_in_fields(tmp_path: Path) -> None:
    content = (
        b'\xef\xbb\xbfscore,id,expr\r\n1.5,r1,"a = 1 AND\r\n b IN (\'x\', \'\'\'\')"\r\n\r\n,r2,"name = ""q"""\r\n'
    )
    assert rows(written(tmp_path, "rules.csv", content)) == [
        RuleRow(2, "r1", "a = 1 AND\r\n b IN ('x', '''')", None, 1.5),
        RuleRow(5, "r2", 'name = "q"'),
    ]


def test_broken_rows_of_csv_do_not_stop_the_others(tmp_path: Path) -> None:
    content = b"id,expr\nr1,a = 1\nr2\nr3,a,b\nr4,x = '\xff'\nr5,\"a\"b\nr6,a = 6\n,a = 7\n"
    found = rows(written(tmp_path, "rules.csv", content))
    bad = {row.line: row.message for row in found if isinstance(row, BadRow)}
    assert [row.rule_id for row in found if isinstance(row, RuleRow)] == ["r1", "r6"]
    assert sorted(bad) == [3, 4, 5, 6, 8]
    assert "UTF-8" in bad[5]
    assert "not CSV" in bad[6]


def test_csv_lets_long_rules_through(tmp_path: Path) -> None:
    rule = " OR ".join(f"a = {i}" for i in range(30_000))
    (row,) = rows(written(tmp_path, "rules.csv.gz", f"id,expr\nr1,{rule}\n".encode()))
    assert isinstance(row, RuleRow)
    assert row.text == rule


@pytest.mark.parametrize(
    ("content", "message"), [(b"", "empty"), (b"id,rule\n", "no column 'expr'; the columns are id, rule")]
)
def test_csv_without_its_columns_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        rows(written(tmp_path, "rules.csv", content))


def test_columns_may_have_other_names(tmp_path: Path) -> None:
    columns = Columns(id="rule_id", expr="condition")
    csv = written(tmp_path, "rules.csv", b"condition,rule_id\na = 1,r1\n")
    jsonl = written(tmp_path, "rules.jsonl", b'{"rule_id": "r1", "condition": "a = 1"}\n')
    assert [row.rule_id for path in (csv, jsonl) for row in rows(path, columns)] == ["r1", "r1"]


def test_a_text_file_has_a_rule_a_line_and_its_number_for_an_id(tmp_path: Path) -> None:
    content = b"# rules\n\na = 1\n  # more\n  b = '\xff'  \n"
    assert rows(written(tmp_path, "rules.txt", content)) == [RuleRow(3, 3, b"a = 1"), RuleRow(5, 5, b"b = '\xff'")]


@pytest.mark.parametrize(("content", "rule_id"), [(b'\n {"id": "r1", "expr": "a"}', "r1"), (b"\na = 1", 2)])
def test_standard_input_is_told_by_its_first_character(
    monkeypatch: pytest.MonkeyPatch, content: bytes, rule_id: int | str
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    (row,) = rows("-")
    assert (row.line, row.rule_id) == (2, rule_id)


def test_empty_files_have_no_rules(tmp_path: Path) -> None:
    for name in ("a.jsonl", "a.txt", "a.jsonl.gz"):
        assert rows(written(tmp_path, name, b"")) == []


def test_how_much_was_read_grows_to_the_size(tmp_path: Path) -> None:
    source = RuleFile(str(written(tmp_path, "rules.jsonl", JSONL * 3)))
    assert (source.size, source.n_read) == (None, 0)
    reading = source.rows()
    next(reading)
    assert source.size == len(JSONL) * 3
    list(reading)
    assert source.n_read == source.size


@pytest.mark.parametrize("name", ["rules.json", "rules", "rules.gz", "rules.parquet.gz", ".txt"])
def test_an_unknown_form_is_refused_by_name(name: str) -> None:
    with pytest.raises(InputError, match=r"\.jsonl, \.ndjson, \.csv"):
        RuleFile(name)


def test_files_that_cannot_be_read_are_input_errors_that_name_them(tmp_path: Path) -> None:
    wide = written(tmp_path, "wide.txt", "a = 1".encode("utf-16"))
    folder = tmp_path / "folder.txt"
    folder.mkdir()
    torn = tmp_path / "torn.txt.gz"
    torn.write_bytes(gzip.compress(b"a = 1\n" * 1000)[:-10])
    fake = tmp_path / "fake.txt.gz"
    fake.write_bytes(b"a = 1\n")
    for path in (wide, folder, torn, fake, tmp_path / "missing.csv", tmp_path / "missing.parquet"):
        with pytest.raises(InputError, match=path.name):
            rows(path)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs the list of open files")
def test_a_file_is_closed_though_the_error_is_kept(tmp_path):
    name = str(written(tmp_path, "rules.csv", b"a,b\n1,2\n"))
    with pytest.raises(InputError) as kept:
        list(RuleFile(name).rows())
    assert kept.value.__traceback__ is not None
    assert name not in map(os.path.realpath, Path("/proc/self/fd").iterdir())


def table(folder: Path, columns: dict[str, Any]) -> str:
    path = folder / "rules.parquet"
    pq.write_table(pa.table(columns), path)
    return str(path)


def test_rows_are_rules_with_integer_or_text_ids(tmp_path: Path) -> None:
    columns = {"id": [1, 2, None], "expr": ["a = 1", None, "b"], "score": pa.array([1.5, None, 2], pa.float64())}
    good, no_rule, no_id = RuleFile(table(tmp_path, columns)).rows()
    assert good == RuleRow(1, 1, b"a = 1", None, 1.5)
    assert isinstance(no_rule, BadRow)
    assert (no_rule.line, no_rule.rule_id) == (2, "2")
    assert isinstance(no_id, BadRow)
    assert no_id.line == 3


def test_bytes_that_are_not_utf_8_reach_the_parser_and_stop_no_other_row(tmp_path: Path) -> None:
    text = pa.array([b"a = '\xff'", b"b = 2"], pa.binary())
    columns = {"id": pa.array(["r1", "r2"]).dictionary_encode(), "expr": text.view(pa.string())}
    assert list(RuleFile(table(tmp_path, columns)).rows()) == [
        RuleRow(1, "r1", b"a = '\xff'"),
        RuleRow(2, "r2", b"b = 2"),
    ]


def test_many_rows_come_in_order_and_are_counted(tmp_path: Path) -> None:
    n = 20_000
    source = RuleFile(table(tmp_path, {"rule_id": list(range(n)), "cond": ["a = 1"] * n}), Columns("rule_id", "cond"))
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
        list(RuleFile(table(tmp_path, columns)).rows())


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rules.parquet"
    path.write_bytes(b"id,expr\n1,a\n")
    with pytest.raises(InputError, match="not a Parquet file"):
        list(RuleFile(str(path)).rows())
