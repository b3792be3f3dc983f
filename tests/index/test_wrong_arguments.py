"""Every public call with arguments of every wrong kind: an error that a user can read, never one from the inside."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ruledex
from ruledex import Index, RuledexError, Schema, formats
from ruledex.errors import RuledexWarning
from ruledex.limits import limited, set_limits

RULES = [(1, "a = 1"), (2, "b > 2 OR c LIKE 'x%'"), (3, "a IN (1, 2) AND NOT b = 3")]
EVENT = {"a": 1, "b": 3, "c": "xy"}
WRONG = [None, 3, -1, 10**30, "", "no\nsuch", b"", b"\xff", [], [None], [[]], {}, {1: 2}, object(), math.nan, math.inf]
WRONG += [True, 2.5, set(), range(2), print, Exception, np.int64(-3), np.array([1.5]), "x" * 10_000]
WRONG += ["\ud800", "\ud800.csv", "\ud800.parquet", "a\0b.jsonl", "file://\ud800", Path("\ud800.txt.gz")]

# Every argument of every call, in turn: a call takes one value and gives the rest what is right.
CALLS: dict[str, Callable[[Index, Any], object]] = {
    "build rules": lambda _, v: Index.build(v, "scan"),
    "build rule": lambda _, v: Index.build([v], "scan"),
    "build id": lambda _, v: Index.build([(v, "a = 1")], "scan"),
    "build text": lambda _, v: Index.build([(1, v)], "scan"),
    "build score": lambda _, v: Index.build([(1, "a = 1", v)], "scan"),
    "build engine": lambda _, v: Index.build(RULES, v),
    "build stats": lambda _, v: Index.build(RULES, "scan", v),
    "build schema": lambda _, v: Index.build(RULES, "scan", None, v),
    "build on_error": lambda _, v: Index.build(RULES, "scan", on_error=v),
    "build columns": lambda _, v: Index.build(RULES, "scan", columns=v),
    "build progress": lambda _, v: Index.build(RULES, "scan", progress=v),
    "build engine_options": lambda _, v: Index.build(RULES, "scan", engine_options=v),
    "build budget": lambda _, v: Index.build(RULES, "dnf", engine_options={"budget": v}),
    "build overflow": lambda _, v: Index.build(RULES, "dnf", engine_options={"overflow": v}),
    "build switch": lambda _, v: Index.build(RULES, "atree", engine_options={"sharing": v}),
    "check_columns columns": lambda i, v: i.check_columns(v),
    "check_columns strict": lambda i, v: i.check_columns(pa.schema({"a": pa.int64()}), v),
    "schema from_arrow": lambda _, v: Schema.from_arrow(v),
    "schema from_spark": lambda _, v: Schema.from_spark(v),
    "schema from_pandas": lambda _, v: Schema.from_pandas(v),
    "schema from_polars": lambda _, v: Schema.from_polars(v),
    "schema from_arrow zone": lambda _, v: Schema.from_arrow(pa.schema({"a": pa.int64()}), v),
    "open root": lambda _, v: Index.open(v),
    "open version": lambda i, v: Index.open(i._root, v),
    "open engine": lambda i, v: Index.open(i._root, None, v),
    "open threads": lambda i, v: Index.open(i._root, threads=v),
    "save root": lambda i, v: i.save(v),
    "add rules": lambda i, v: i.add(v),
    "add rule": lambda i, v: i.add([v]),
    "add columns": lambda i, v: i.add([(90, "a = 1")], columns=v),
    "update rules": lambda i, v: i.update(v),
    "upsert rules": lambda i, v: i.upsert(v),
    "remove ids": lambda i, v: i.remove(v),
    "remove id": lambda i, v: i.remove([v]),
    "set_score id": lambda i, v: i.set_score(v, 1.0),
    "set_score score": lambda i, v: i.set_score(1, v),
    "compact stats": lambda i, v: i.compact(v),
    "compact engine_options": lambda i, v: i.compact(engine_options=v),
    "build definitions": lambda _, v: Index.build(RULES, "scan", definitions=v),
    "build definition": lambda _, v: Index.build(RULES, "scan", definitions={"x": v}),
    "build format": lambda _, v: Index.build(RULES, "scan", format=v),
    "add format": lambda i, v: i.add(RULES, format=v),
    "update format": lambda i, v: i.update(RULES, format=v),
    "upsert format": lambda i, v: i.upsert(RULES, format=v),
    "write rules": lambda _, v: formats.write(v, "spark"),
    "write rule": lambda _, v: formats.write([v], "spark"),
    "write id": lambda _, v: formats.write([(v, "a = 1")], "spark"),
    "write text": lambda _, v: formats.write([(1, v)], "spark"),
    "write format": lambda i, v: formats.write(i, v),
    "write definitions": lambda i, v: formats.write(i, "spark", definitions=v),
    "write progress": lambda i, v: formats.write(i, "spark", progress=v),
    "define name": lambda i, v: i.define(v, "a = 1"),
    "define text": lambda i, v: i.define("adults", v),
    "undefine": lambda i, v: i.undefine(v),
    "match where": lambda i, v: i.match(EVENT, where=v),
    "match now": lambda i, v: i.match(EVENT, now=v),
    "match decimals": lambda i, v: i.match(EVENT, decimals=v),
    "match event": lambda i, v: i.match(v),
    "match value": lambda i, v: i.match({"a": v}),
    "match_batch events": lambda i, v: i.match_batch(v),
    "match_batch event": lambda i, v: i.match_batch([v]),
    "count events": lambda i, v: i.count(v),
    "count event": lambda i, v: i.count([v]),
    "top event": lambda i, v: i.top(v, 1),
    "top k": lambda i, v: i.top(EVENT, v),
    "top rank": lambda i, v: i.top(EVENT, 1, v),
    "top weights": lambda i, v: i.top(EVENT, 1, weights=v),
    "top weight": lambda i, v: i.top(EVENT, 1, weights={"a": v}),
    "top mode": lambda i, v: i.top(EVENT, 1, mode=v),
    "top_batch events": lambda i, v: i.top_batch(v, 1),
    "top_batch k": lambda i, v: i.top_batch([EVENT], v),
    "top_batch k relaxed": lambda i, v: i.top_batch([EVENT], v, mode="relaxed"),
    "top_batch rank": lambda i, v: i.top_batch([EVENT], 1, v),
    "top_batch weights": lambda i, v: i.top_batch([EVENT], 1, weights=v),
    "top_batch weight": lambda i, v: i.top_batch([EVENT], 1, weights=[v]),
    "top_batch mode": lambda i, v: i.top_batch([EVENT], 1, mode=v),
    "explain rule": lambda i, v: i.explain(v, EVENT),
    "explain event": lambda i, v: i.explain(1, v),
    "why_not event": lambda i, v: i.why_not(v, 1),
    "why_not rule": lambda i, v: i.why_not(EVENT, v),
    "rule": lambda i, v: i.rule(v),
    "similar rule": lambda i, v: i.similar(v, n_events=4),
    "similar at_least": lambda i, v: i.similar("a = 1", v, n_events=4),
    "similar events": lambda i, v: i.similar("a = 1", 0.5, v, n_events=4),
    "similar by": lambda i, v: i.similar("a = 1", by=v, n_events=4),
    "similar n_events": lambda i, v: i.similar("a = 1", n_events=v),
    "similar seed": lambda i, v: i.similar("a = 1", n_events=4, seed=v),
    "similar limit": lambda i, v: i.similar("a = 1", n_events=4, limit=v),
    "similar_pairs at_least": lambda i, v: i.similar_pairs(v),
    "similar_pairs seed": lambda i, v: i.similar_pairs(0.9, v),
    "ratify n_events": lambda i, v: i.ratify(v),
    "ratify seed": lambda i, v: i.ratify(3, v),
    "ratify sample": lambda i, v: i.ratify(3, 0, v),
    "ratify now": lambda i, v: i.ratify(3, now=v),
    "ratify progress": lambda i, v: i.ratify(3, progress=v),
    "merge indexes": lambda _, v: Index.merge(v),
    "merge index": lambda i, v: Index.merge([i, v]),
    "merge prefix": lambda i, v: Index.merge([i], prefix=v),
    "merge prefixes": lambda i, v: Index.merge([i], prefix=[v]),
    "merge on_conflict": lambda i, v: Index.merge([i, i], on_conflict=v),
    "merge engine": lambda i, v: Index.merge([i], engine=v),
    "merge stats": lambda i, v: Index.merge([i], stats=v),
    "merge schema": lambda i, v: Index.merge([i], schema=v),
    "merge engine_options": lambda i, v: Index.merge([i], engine_options=v),
    "indexes root": lambda _, v: ruledex.Indexes(v).list(),
    "indexes trust": lambda _, v: ruledex.Indexes("here", trust=v),
    "indexes open": lambda _, v: ruledex.Indexes("here").open(v),
    "indexes build name": lambda _, v: ruledex.Indexes("here").build(v, RULES, engine="scan"),
    "indexes build rules": lambda _, v: ruledex.Indexes("here").build("x", v),
    "indexes replace": lambda _, v: ruledex.Indexes("here").replace("x", v),
    "indexes drop": lambda _, v: ruledex.Indexes("here").drop(v),
    "indexes match": lambda _, v: ruledex.Indexes("here").match(v),
    "indexes match_batch": lambda _, v: ruledex.Indexes("here").match_batch(v),
    "parse": lambda _, v: ruledex.parse(v),
    "to_text": lambda _, v: ruledex.to_text(v),
    "to_dnf rule": lambda _, v: ruledex.to_dnf(v),
    "to_dnf budget": lambda _, v: ruledex.to_dnf("a = 1", budget=v),
    "to_dnf schema": lambda _, v: ruledex.to_dnf("a = 1", schema=v),
    "to_cnf rule": lambda _, v: ruledex.to_cnf(v),
    "evaluate tree": lambda _, v: ruledex.evaluate(v, EVENT),
    "evaluate event": lambda _, v: ruledex.evaluate(ruledex.parse("a = 1"), v),
    "evaluate schema": lambda _, v: ruledex.evaluate(ruledex.parse("a = 1"), EVENT, v),
    "score tree": lambda _, v: ruledex.score(v, EVENT),
    "score event": lambda _, v: ruledex.score(ruledex.parse("a = 1"), v),
    "score weights": lambda _, v: ruledex.score(ruledex.parse("a = 1"), EVENT, v),
    "score schema": lambda _, v: ruledex.score(ruledex.parse("a = 1"), EVENT, None, v),
    "schema attributes": lambda _, v: Schema(v),
    "schema attribute": lambda _, v: Schema.of_mapping({"attributes": {"a": v}}),
    "schema zone": lambda _, v: Schema(time_zone=v),
    "schema mapping": lambda _, v: Schema.of_mapping(v),
    "schema load": lambda _, v: Schema.load(v),
    "limits": lambda _, v: set_limits(rule_characters=v),
    "limited": lambda _, v: limited(rule_characters=v).__enter__(),
}
# What has no argument, or none that could be wrong.
WITHOUT = {"refresh", "describe", "schema", "paths", "ids", "id_kind", "version", "engine", "faults"} | {
    "by_value",
    "close",
    "definitions",
    "rules",
    "n_journaled",
    "uses_now",
    "uses_zone",
}


def _index(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Index:
    index = Index.build(RULES, "scan")
    if kind != "built":
        index.save(tmp_path_factory.mktemp(kind))
    if kind == "changed":
        index.add([(7, "a = 2")])
    return index


@pytest.mark.parametrize("kind", ["built", "saved", "changed"])
@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_argument_is_an_error_that_a_user_can_read(call, kind, tmp_path_factory, monkeypatch):
    if kind != "built" and (
        call.startswith(("build", "parse", "to_", "evaluate", "score", "schema", "limit", "indexes"))
    ):
        pytest.skip("has no index")
    if kind == "built" and call in ("open version", "open engine", "open threads"):
        pytest.skip("has no root")
    monkeypatch.chdir(tmp_path_factory.mktemp("here"))
    before = set_limits()
    index = _index(kind, tmp_path_factory)
    for value in WRONG:
        try:
            CALLS[call](index, value)
        except (RuledexError, RuledexWarning) as error:
            message = str(error)
            assert message, value
            assert "object has no attribute" not in message, (value, message)
            assert "NoneType" not in message or "not NoneType" in message, (value, message)
            assert all(len(line) <= 1_100 for line in message.splitlines()), value
        except Exception as error:
            pytest.fail(f"{call} of {str(value)[:50]!r}: {type(error).__name__}: {error}")
        finally:
            set_limits(rule_characters=before.rule_characters)
            if call == "save root":
                index = _index(kind, tmp_path_factory)


def test_every_public_name_of_an_index_is_called():
    public = {name for name, _ in inspect.getmembers(Index) if not name.startswith("_")}
    assert public == {call.split()[0] for call in CALLS if hasattr(Index, call.split()[0])} | (public & WITHOUT)
