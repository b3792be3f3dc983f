"""What Python users expect of an index: types of ids, arrays, upsert, scores, frames, and what a notebook shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import ruledex
from ruledex import Index
from ruledex.errors import RulesError

RULES = [(1, "a = 1"), (2, "a > 0", 2.5), (3, "b = '<x>'")]
NAMED = [("first", "a = 1"), ("second", "a > 0")]


def test_ids_come_as_an_array_if_asked():
    found = Index.build(RULES).match({"a": 1}, as_array=True)
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.int64
    assert found.tolist() == [1, 2]
    index = Index.build(NAMED)
    index.add([("zero", "a IS NULL"), ("0", "a = 1")])
    named = index.match('{"a": 1}', as_array=True)
    assert isinstance(named, pa.LargeStringArray)
    assert named.to_pylist() == index.match({"a": 1}) == ["0", "first", "second"]
    assert index.match({"b": 1}, as_array=True).to_pylist() == ["zero"]


def test_upsert_replaces_and_adds_in_one_step(tmp_path):
    index = Index.build(RULES)
    assert index.upsert([(2, "a > 5", 1.0), (9, "a = 1")]) == 2
    assert index.match({"a": 1}) == [1, 9]
    assert index.rule(2) == (2, "a > 5", 1.0)
    index.save(tmp_path)
    assert index.upsert([(number, "a = 7") for number in range(20)]) == 20
    assert index.match({"a": 7}) == Index.open(tmp_path).match({"a": 7}) == list(range(20))
    before = list(index.rules())
    with pytest.raises(RulesError, match="2 of 3 rules cannot be used"):
        index.upsert([(1, "a ="), (50, "a = 1"), (51, "(")])
    with pytest.raises(RulesError, match="those of this index are integers"):
        index.upsert([("text", "a = 1")])
    assert list(index.rules()) == before


def test_iteration_with_static_scores():
    index = Index.build(RULES)
    assert [tuple(rule) for rule in index.rules()] == [(1, "a = 1", 0.0), (2, "a > 0", 2.5), (3, "b = '<x>'", 0.0)]
    index.set_score(1, 4.0)
    index.update([(3, "b = 'y'", 7.0)])
    index.add([(0, "c = 1", 1.5)])
    assert [(rule.id, rule.static_score) for rule in index.rules()] == [(0, 1.5), (1, 4.0), (2, 2.5), (3, 7.0)]
    assert list(Index.build([]).rules()) == []


def test_matches_become_frames():
    index = Index.build(RULES)
    matches = index.match_batch([{"a": 1}, {}, {"a": 2}])
    assert matches.to_pandas().to_dict("list") == {"event": [0, 0, 2], "rule": [1, 2, 2]}
    assert matches.to_polars().to_dict(as_series=False) == {"event": [0, 0, 2], "rule": [1, 2, 2]}
    ranked = index.top_batch([{"a": 1}], 1)
    assert ranked.to_pandas().to_dict("list") == {"event": [0], "rule": [2], "score": [3.5]}
    named = Index.build(NAMED).match_batch([{"a": 1}])
    assert named.to_pandas()["rule"].tolist() == named.to_polars()["rule"].to_list() == ["first", "second"]


def test_a_notebook_shows_tables_without_the_markup_of_strangers():
    index = Index.build(RULES)
    shown = index._repr_html_()
    assert '<td style="text-align: right">3</td>' in shown
    assert "b = &#x27;&lt;x&gt;&#x27;" in shown
    assert "<x>" not in shown
    named = Index.build([("<b>", "a = 1")])
    assert "&lt;b&gt;" in named.match_batch([{"a": 1}])._repr_html_()
    many = Index.build([(number, "a = 1") for number in range(30)]).match_batch([{"a": 1}] * 30)
    assert many._repr_html_().count("<tr>") == 11
    assert ", …" in many._repr_html_()
    explained = named.explain("<b>", {"a": "<i>"})
    assert "&lt;i&gt;" in explained._repr_html_()
    assert "<i>" not in explained._repr_html_()
    assert str(explained).splitlines()[1] == "? a = 1   a is '<i>'"


def test_the_names_of_the_package_are_listed():
    assert {"Index", "Schema", "evaluate", "parse", "score", "to_text", "RuleError"} <= set(dir(ruledex))
    assert all(hasattr(ruledex, name) for name in dir(ruledex))


TYPED = """
from ruledex import Index
from ruledex.index import IndexMatches

def best(index: Index) -> list[int | str]:
    return index.match({})

numbers = Index.build([(1, "a = 1"), (2, "a = 2")])
ids: list[int] = numbers.match({"a": 1})
scored: list[tuple[int, float]] = numbers.top({"a": 1}, 3)
batch: IndexMatches[int] = numbers.match_batch([{"a": 1}])
first: list[int] = batch[0]
total: int = sum(rule.id for rule in numbers.rules())
names: list[str] = Index.build([("x", "a = 1", 2.0)]).match({})
best(numbers)
opened: Index[int] = Index.open("folder")
more: list[int] = opened.match({})
anything: list[int] = Index.build("rules.jsonl").match({})
wrong: list[str] = numbers.match({"a": 1})
"""


@pytest.mark.slow
def test_a_user_of_integer_ids_needs_no_cast(tmp_path):
    path = tmp_path / "typed.py"
    path.write_text(TYPED, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--cache-dir",
        str(tmp_path / "cache"),
        str(path),
    ]
    source = Path(ruledex.__file__).parents[1]
    command += ["--ignore-missing-imports", "--follow-imports=silent"]
    ran = subprocess.run(
        command, capture_output=True, text=True, check=False, env={"MYPYPATH": str(source), "PATH": ""}
    )
    faults = [line for line in ran.stdout.splitlines() if ": error:" in line]
    assert len(faults) == 1, ran.stdout + ran.stderr
    assert f"{TYPED.splitlines().index(TYPED.splitlines()[-1]) + 1}: error: Incompatible types" in faults[0]
