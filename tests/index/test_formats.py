"""Indexes that earlier versions of ruledex wrote: each opens, passes every check, and answers as it did then.

tests/data/README.md says how the next one is written.
"""

from __future__ import annotations

import json
import shutil
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ruledex import Schema, evaluate, parse
from ruledex.artifact import verify
from ruledex.index import Index

FORMATS = Path(__file__).parents[1] / "data" / "formats"
ENGINES = ("scan", "sparse", "batch", "auto", "dewey", "interval", "dnf", "cnf", "atree")
TAGS = {"$decimal": Decimal, "$date": date.fromisoformat, "$datetime": datetime.fromisoformat}


def from_json(value: Any) -> Any:
    if isinstance(value, list):
        return [from_json(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and (tag := next(iter(value))) in TAGS:
        return TAGS[tag](value[tag])
    return {name: from_json(inner) for name, inner in value.items()}


ANSWERS = {path.parent.name: json.loads(path.read_text(encoding="utf-8")) for path in FORMATS.glob("*/answers.json")}
KEPT = [(form, name) for form, answers in sorted(ANSWERS.items()) for name in answers["indexes"]]
CHANGED = [(form, name) for form, name in KEPT if (FORMATS / form / name / "journal").is_dir()]


@pytest.fixture
def kept(request, tmp_path):
    """A copy of an index, what it answered when it was written, and the events."""
    form, name = request.param
    shutil.copytree(FORMATS / form / name, tmp_path / "index")
    return tmp_path / "index", ANSWERS[form]["indexes"][name], from_json(ANSWERS[form]["events"])


def in_lists(ranked):
    return [list(pair) for pair in ranked]


def test_each_format_has_indexes_with_both_kinds_of_ids_and_with_journals():
    assert {"1-first"} <= ANSWERS.keys()
    assert {("1-first", "integers"), ("1-first", "texts")} <= set(CHANGED)


@pytest.mark.parametrize("kept", KEPT, indirect=True, ids="/".join)
def test_it_opens_passes_every_check_and_answers_as_when_it_was_written(kept):
    root, then, events = kept
    assert verify(root).ok
    index = Index.open(root)
    assert (index.engine, index.version) == (then["engine"], then["version"])
    assert index.schema.to_mapping() == then["schema"]
    assert [list(index.rule(rule_id)) for rule_id, _ in index] == then["rules"]
    assert [index.match(event) for event in events] == then["matches"]
    assert [list(found) for found in index.match_batch(events)] == then["matches"]
    assert [in_lists(index.top(event, 5)) for event in events] == then["top"]


@pytest.mark.parametrize("kept", KEPT, indirect=True, ids="/".join)
def test_what_was_recorded_is_what_the_reference_says(kept):
    _, then, events = kept
    schema = Schema.of_mapping(then["schema"])
    rules = [(rule_id, parse(text)) for rule_id, text, _ in then["rules"]]
    for event, found in zip(events, then["matches"], strict=True):
        assert found == [rule_id for rule_id, tree in rules if evaluate(tree, event, schema) is True], event


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kept", CHANGED, indirect=True, ids="/".join)
def test_any_engine_can_be_built_of_what_is_stored(kept, engine):
    root, then, events = kept
    index = Index.open(root, engine=engine)
    assert [list(found) for found in index.match_batch(events)] == then["matches"]
    assert [in_lists(index.top(event, 5)) for event in events] == then["top"]


@pytest.mark.parametrize("kept", CHANGED, indirect=True, ids="/".join)
def test_it_can_be_changed_compacted_and_opened_again(kept):
    root, then, events = kept
    index = Index.open(root)
    last = then["rules"][-1][0]
    new = last + 1 if isinstance(last, int) else f"{last}+"
    index.add([(new, "TRUE", -100.0)])
    assert index.match({}) == [*then["matches"][0], new]
    assert index.compact() != then["version"]
    again = Index.open(root)
    assert [list(found) for found in again.match_batch(events)] == [[*found, new] for found in then["matches"]]
    again.remove([new])
    assert [Index.open(root).match(event) for event in events[:3]] == then["matches"][:3]
