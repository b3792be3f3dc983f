"""An index keeps rules of other systems as their owners wrote them, beside what they became."""

from __future__ import annotations

import json
import pickle

import pytest

from ruledex import Index, formats
from ruledex.explain import Original
from tests.cli.samples import run

SHOP = {"source": ["shop"], "total": [{"numeric": [">", 100]}]}
PREFIX = {"source": [{"prefix": "sh"}]}


@pytest.fixture
def index():
    return Index.build({"a": SHOP, "b": PREFIX}, "scan", format="eventbridge")


def originals(index):
    return {rule_id: index.rule(rule_id).original for rule_id in index.ids.to_pylist()}


def test_a_rule_has_its_original(index):
    assert index.rule("a").original == Original("eventbridge", SHOP)
    assert str(index.rule("b").original) == 'eventbridge: {"source":[{"prefix":"sh"}]}'
    assert Index.build([("a", "x = 1")], "scan").rule("a").original is None


def test_an_explanation_shows_the_original(index):
    explained = index.explain("a", {"source": "shop", "total": 7})
    assert str(explained).splitlines()[-1] == f"as written for eventbridge: {json.dumps(SHOP, separators=(',', ':'))}"
    assert explained.to_dict()["original"] == {"format": "eventbridge", "rule": SHOP}
    assert "as written for eventbridge" in explained._repr_html_()
    assert "original" not in Index.build([("a", "x = 1")], "scan").explain("a", {}).to_dict()


@pytest.mark.parametrize("trust", [True, False])
def test_originals_are_saved(index, trust, tmp_path):
    index.save(tmp_path / "index")
    opened = Index.open(tmp_path / "index", trust=trust)
    assert originals(opened) == originals(index)
    assert originals(pickle.loads(pickle.dumps(opened))) == originals(index)
    assert (
        originals(pickle.loads(pickle.dumps(Index.build({"a": SHOP}, "scan", format="eventbridge"))))["a"].rule == SHOP
    )


def test_an_index_without_originals_stores_none(tmp_path):
    index = Index.build([(1, "a = 1")], "scan")
    index.save(tmp_path / "index")
    files = [path for path in (tmp_path / "index").rglob("*") if path.is_file()]
    assert not any(b"original" in path.read_bytes() for path in files)
    assert Index.open(tmp_path / "index").rule(1).original is None


@pytest.mark.parametrize("is_saved", [True, False])
def test_changes_keep_originals_right(index, is_saved, tmp_path):
    if is_saved:
        index.save(tmp_path / "index")
    index.add({"c": PREFIX}, format="eventbridge")
    index.add([("d", "x = 1")])
    index.update([("a", "x = 2")])  # in the language of ruledex: what was written before is no longer the rule
    index.update({"b": {"n": 1}}, format="mongo")
    index.set_score("c", 5.0)
    expected = {"a": None, "b": Original("mongo", {"n": 1}), "c": Original("eventbridge", PREFIX), "d": None}
    assert originals(index) == expected
    if is_saved:
        assert originals(Index.open(tmp_path / "index")) == expected
    index.remove(["c"])
    index.compact()
    del expected["c"]
    assert originals(index) == expected
    if is_saved:
        assert originals(Index.open(tmp_path / "index")) == expected


def test_a_definition_that_changes_leaves_originals(tmp_path):
    found = formats.read({1: {"user": {"$inGroup": "beta"}}}, "mongo", saved_groups={"beta": ["ann"]})
    index = Index.build(found, "scan")
    index.save(tmp_path / "index")
    index.define("beta of user", "user = 'bob'")
    opened = Index.open(tmp_path / "index")
    assert opened.match({"user": "bob"}) == [1]
    assert opened.rule(1).original == Original("mongo", {"user": {"$inGroup": "beta"}})


def test_skipped_rules_do_not_shift_originals():
    rules = {"a": {"source": "shop"}, "b": SHOP, "c": {"a": 1}, "d": PREFIX}
    index = Index.build(rules, "scan", on_error="skip", format="eventbridge")
    assert originals(index) == {"b": Original("eventbridge", SHOP), "d": Original("eventbridge", PREFIX)}


def test_explain_shows_the_original_on_the_command_line(index, tmp_path):
    index.save(tmp_path / "index")
    result = run("explain", tmp_path / "index", "b", '{"source": "x"}')
    assert result.stdout.splitlines()[-1] == 'as written for eventbridge: {"source":[{"prefix":"sh"}]}'
    result = run("explain", tmp_path / "index", "b", '{"source": "x"}', "--json")
    assert json.loads(result.stdout)["original"] == {"format": "eventbridge", "rule": PREFIX}


def test_texts_are_kept_as_texts():
    assert Original("cel", "a == 1").text == "a == 1"
    assert str(Original("sigma", "title: x\ndetection:\n  a: 1")) == "sigma: title: x detection: a: 1"
    assert Original("mongo", {"a": 10**30}).text == '{"a": 1000000000000000000000000000000}'
