"""Feature files of GrowthBook: the first rule that holds gives a feature its value, and users stay in their buckets."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

from ruledex import Index, Schema, evaluate, formats, parse
from ruledex.errors import RuledexError
from ruledex.formats.growthbook import feature_values
from ruledex.language.functions.hashes import bucket, fnv32a, growthbook_hash
from tests.cli.samples import json_lines, run

EXAMPLE = Path(__file__).parents[2] / "examples" / "feature_flags" / "rollout.py"


def value(features, event, key="f", **options):
    """Return the value of a feature, by the reference evaluator and by an index alike."""
    file = {"features": features, **options}
    found = formats.read(file, "growthbook")
    assert found.faults == []
    schema = Schema().with_definitions(found.definitions)
    rules = sorted((rule for rule in found if rule.tags["feature"] == key), key=lambda rule: rule.tags["order"])
    held = [rule.tags["value"] for rule in rules if evaluate(rule.tree, event, schema) is True]
    assert all(evaluate(parse(rule.text), event, schema) is evaluate(rule.tree, event, schema) for rule in rules)
    assert feature_values(Index.build(file, "scan", format="growthbook"), event)[key] == held[0]
    return held[0]


def refusal(features, **options):
    found = formats.read({"features": features, **options}, "growthbook")
    return [(fault.rule_id, fault.error.message) for fault in found.faults]


# The hash.


@pytest.mark.parametrize(
    ("text", "digest"), [("", 0x811C9DC5), ("a", 0xE40C292C), ("b", 0xE70C2DE5), ("foobar", 0xBF9CF968)]
)
def test_the_hash_is_fnv_1a(text, digest):
    assert fnv32a(text) == digest


def test_units_are_those_of_javascript():
    assert fnv32a("é") == (0x811C9DC5 ^ 0xE9) * 0x01000193 & 0xFFFFFFFF
    assert fnv32a("\U0001f600") == fnv32a("\ud83d\ude00")


def test_a_bucket_has_steps():
    assert bucket("", "a", 1) == 0.22
    assert bucket("a", "", 1) == 0.22
    assert bucket("b", "a", 2) == fnv32a(str(fnv32a("ba"))) % 10_000 / 10_000


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (7, "7"),
        (7.0, "7"),
        (-2.5, "-2.5"),
        (True, "true"),
        (1e-6, "0.000001"),
        (1.5e-7, "1.5e-7"),
        (1e21, "1e+21"),
        (2**53 + 1, "9007199254740992"),
        (1.2345678901234568e20, "123456789012345680000"),
    ],
)
def test_a_value_is_hashed_as_javascript_writes_it(given, text):
    assert growthbook_hash("s", given, 1) == bucket("s", text, 1)


def test_what_is_false_in_javascript_has_no_bucket():
    assert [growthbook_hash("s", given, 2) for given in ("", 0, 0.0, False)] == [None] * 4
    assert evaluate(parse("growthbook_hash('s', x) < 2"), {}) is None


@pytest.mark.parametrize("text", ["growthbook_hash('s', x, 3) < 1", "growthbook_hash(x, 's') < 1"])
def test_a_hash_needs_a_seed_and_a_version_that_exists(text):
    with pytest.raises(RuledexError):
        parse(text)


# Features.


def test_the_first_rule_that_holds_gives_the_value():
    rules = [{"condition": {"a": 1}, "force": "x"}, {"condition": {"b": 1}, "force": "y"}]
    feature = {"f": {"defaultValue": "z", "rules": rules}}
    assert [value(feature, event) for event in ({"a": 1, "b": 1}, {"b": 1}, {})] == ["x", "y", "z"]
    assert value({"f": {}}, {}) is None
    assert value({"f": {"rules": [{}, {"variations": [1]}]}}, {"id": 1}) is None


def test_coverage_is_a_share_of_the_users():
    shares = {}
    for coverage in (0, 0.1, 0.5, 1):
        feature = {"f": {"defaultValue": 0, "rules": [{"force": 1, "coverage": coverage, "hashVersion": 2}]}}
        index = Index.build({"features": feature}, "scan", format="growthbook")
        shares[coverage] = {i for i in range(1, 400) if feature_values(index, {"id": i})["f"]}
    assert shares[0] == set() < shares[0.1] < shares[0.5] < shares[1] == set(range(1, 400))
    assert 20 < len(shares[0.1]) < 60
    assert 160 < len(shares[0.5]) < 240
    assert shares[0.5] == {i for i in range(1, 400) if bucket("f", str(i), 2) <= 0.5}


def test_a_rollout_needs_a_user():
    feature = {"f": {"defaultValue": 0, "rules": [{"force": 1, "coverage": 1, "hashAttribute": "user"}]}}
    assert [value(feature, event) for event in ({}, {"user": ""}, {"id": "a"}, {"user": "a"})] == [0, 0, 0, 1]


def test_a_range_has_its_lower_bound_and_not_its_upper():
    at = bucket("s", "a", 1)
    for bounds, expected in (([at, at + 0.001], 1), ([0, at], 0), ([at, at], 0)):
        feature = {"f": {"defaultValue": 0, "rules": [{"force": 1, "range": bounds, "seed": "s", "coverage": 0}]}}
        assert value(feature, {"id": "a"}) == expected


def test_an_experiment_gives_each_variation_its_weight():
    rule = {"variations": ["a", "b", "c"], "weights": [0.2, 0.3, 0.5], "coverage": 0.5, "key": "k", "seed": "s"}
    index = Index.build({"features": {"f": {"rules": [rule]}}}, "scan", format="growthbook")
    for i in range(300):
        n = bucket("s", f"u{i}", 1)
        expected = "a" if n < 0.1 else "b" if 0.2 <= n < 0.35 else "c" if 0.5 <= n < 0.75 else None
        assert feature_values(index, {"id": f"u{i}"})["f"] == expected
    assert index.ids.to_pylist() == ["f:0:0", "f:0:1", "f:0:2", "f:default"]


def test_weights_that_do_not_fit_are_equal():
    for weights in (None, [0.5], [0.1, 0.1]):
        rule = {"variations": ["a", "b"], "weights": weights, "seed": "s"}
        n = bucket("s", "u", 1)
        assert value({"f": {"rules": [rule]}}, {"id": "u"}) == ("a" if n < 0.5 else "b")


def test_namespaces_and_filters_leave_users_out():
    n = bucket("__space", "u", 1)
    rule = {"variations": [1, 2], "namespace": ["space", n, n + 0.001]}
    assert value({"f": {"rules": [rule]}}, {"id": "u"}) in (1, 2)
    assert value({"f": {"rules": [rule | {"namespace": ["space", 0, n]}]}}, {"id": "u"}) is None
    n = bucket("x", "u", 2)
    inside = {"seed": "x", "ranges": [[0, n], [n, 1]], "attribute": "id"}
    assert value({"f": {"rules": [{"force": 1, "filters": [inside]}]}}, {"id": "u"}) == 1
    assert value({"f": {"rules": [{"force": 1, "filters": [inside | {"ranges": [[0, n]]}]}]}}, {"id": "u"}) is None


def test_a_variation_may_pass_users_on():
    rules = [{"variations": [1, 2], "ranges": [[0, 0], [0, 1]], "meta": [{}, {"passthrough": True}]}, {"force": 9}]
    assert value({"f": {"rules": rules}}, {"id": "u"}) == 9


def test_a_prerequisite_is_the_value_of_another_feature():
    parent = {
        "defaultValue": "off",
        "rules": [{"condition": {"a": 1}, "force": "on"}, {"condition": {"b": 1}, "force": 3}],
    }
    for condition, events in (
        ({"value": "on"}, [True, True, False, False]),
        ({"value": 3}, [False, False, True, False]),
    ):
        rules = [{"parentConditions": [{"id": "p", "condition": condition}], "force": "yes"}]
        gate = [{"parentConditions": [{"id": "p", "condition": condition, "gate": True}]}, {"force": "yes"}]
        for event, expected in zip(({"a": 1}, {"a": 1, "b": 1}, {"b": 1}, {}), events, strict=True):
            features = {
                "f": {"defaultValue": "no", "rules": rules},
                "g": {"defaultValue": "no", "rules": gate},
                "p": parent,
            }
            assert value(features, event) == ("yes" if expected else "no")
            assert value(features, event, "g") == ("yes" if expected else None)


def test_prerequisites_are_asked_in_order():
    rules = [
        {
            "parentConditions": [
                {"id": "p", "condition": {"value": 1}},
                {"id": "q", "gate": True, "condition": {"value": 1}},
            ]
        }
    ]
    features = {"f": {"defaultValue": "z", "rules": rules}, "p": {"defaultValue": 0}, "q": {"defaultValue": 0}}
    assert value(features, {}) == "z"  # the gate is not reached
    features["p"] = {"defaultValue": 1}
    assert value(features, {}) is None


def test_saved_groups_are_definitions():
    features = {"f": {"defaultValue": 0, "rules": [{"force": 1, "condition": {"id": {"$inGroup": "g"}}}]}}
    assert value(features, {"id": 7}, savedGroups={"g": [7]}) == 1
    found = formats.read({"features": features}, "growthbook", saved_groups={"g": [8]})
    assert found.definitions == {"g of id": "id = 8"}


def test_what_cannot_be_said_is_a_note():
    rule = {"force": 1, "coverage": 1, "hashVersion": 9, "fallbackAttribute": "device"}
    found = formats.read({"features": {"f": {"rules": [rule]}}}, "growthbook")
    assert [str(note) for note in found[0].notes] == [
        "$.features.f.rules[0].fallbackAttribute: this is for sticky buckets, which are unknown here: it has no effect",
        "$.features.f.rules[0].hashVersion: GrowthBook knows no hash 9: the rule never holds",
    ]
    assert found[0].text == "FALSE"
    assert found[0].original == rule


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"f": []}, "$.features.f: a feature is an object"),
        ({"f": {"rules": {}}}, "$.features.f.rules: rules are a list"),
        ({"f": {"rules": [1]}}, "$.features.f.rules[0]: a rule is an object"),
        (
            {"f": {"rules": [{"force": 1, "condition": {"$and": 1}}]}},
            "$.features.f.rules[0].condition.$and: $and takes a list",
        ),
        ({"f": {"rules": [{"force": 1, "coverage": "x"}]}}, "$.features.f.rules[0].coverage: a coverage is a number"),
        (
            {"f": {"rules": [{"force": 1, "range": [1]}]}},
            "$.features.f.rules[0].range: a range is a list of two numbers",
        ),
        ({"f": {"rules": [{"force": 1, "filters": [7]}]}}, "$.features.f.rules[0].filters[0]: a filter is an object"),
        ({"f": {"rules": [{"variations": 1}]}}, "$.features.f.rules[0].variations: variations are a list"),
        (
            {"f": {"rules": [{"variations": [1, 2], "namespace": ["a"]}]}},
            "$.features.f.rules[0].namespace: a namespace is a list of a name and two numbers",
        ),
        (
            {"f": {"rules": [{"parentConditions": [{}]}]}},
            "$.features.f.rules[0].parentConditions[0]: a prerequisite names a feature in 'id'",
        ),
        (
            {"f": {"rules": [{"parentConditions": [{"id": "f"}]}]}},
            "$.features.f.rules[0].parentConditions[0]: the prerequisites of 'f' form a cycle",
        ),
    ],
    ids=str,
)
def test_a_feature_that_cannot_be_read_is_refused_with_its_place(features, message):
    ((rule_id, told),) = refusal({**features, "good": {"defaultValue": 1}})
    assert rule_id == "f"
    assert told.startswith(message)


def test_files_that_have_no_features_are_refused(tmp_path):
    (tmp_path / "a.json").write_text('{"encryptedFeatures": "x"}')
    (tmp_path / "b.json").write_text("[]")
    (tmp_path / "c.json").write_text('{"features": {"f": {}}, "savedGroups": 7}')
    (tmp_path / "d.json").write_text('{"features": {"f": {}}, "experiments": [{}]}')
    found = formats.read(tmp_path, "growthbook")
    assert [rule.id for rule in found] == ["f:default"]
    told = [fault.error.message.removeprefix(fault.file) for fault in found.faults]
    assert told[0] == ": $: a file of features has an object in 'features', and this one is encrypted"
    assert [part.split(": ")[1] for part in told[1:]] == ["$.savedGroups", "$.experiments"]


def test_convert_writes_rules_with_tags(tmp_path):
    path = tmp_path / "features.json"
    path.write_text(json.dumps({"features": {"f": {"defaultValue": 0, "rules": [{"force": 1, "coverage": 0.5}]}}}))
    result = run("convert", path)
    assert result.exit_code == 0
    assert result.stderr.startswith("format: growthbook (the key 'features')\n")
    assert json_lines(result.stdout)[0] == {
        "id": "f:0",
        "expr": "growthbook_hash('f', id, 1) <= 0.5D",
        "tags": {"feature": "f", "order": 0, "value": 1},
        "original": {"force": 1, "coverage": 0.5},
    }


def test_the_example_of_a_rollout_runs(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", [str(EXAMPLE), "60"])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    told = capsys.readouterr().out
    assert "new-checkout: false " in told
    assert told.endswith("users gain new-checkout, 0 lose it\n")


def test_a_misspelt_key_is_refused_and_an_unknown_one_noted():
    features = {
        "f": {"rules": [{"force": 3, "conditions": {"a": 1}}]},
        "g": {"rules": [{"force": 3, "colour": 1}], "owner": "me"},
        "h": {"defaultvalue": 1},
        "b": {"rules": [{"contextualBanditRef": "x", "contextualVariations": [1, 2]}]},
    }
    found = formats.read({"features": features}, "growthbook")
    messages = {fault.rule_id: fault.error.message for fault in found.faults}
    place = "$.features.f.rules[0].conditions"
    assert messages["f"] == f"{place}: GrowthBook has no key 'conditions' here; did you mean condition?"
    assert (
        messages["h"]
        == "$.features.h.defaultvalue: GrowthBook has no key 'defaultvalue' here; did you mean defaultValue?"
    )
    assert messages["b"].startswith("$.features.b.rules[0]: a contextual bandit")
    notes = [str(note) for rule in found for note in rule.notes]
    assert notes == [
        "$.features.g.rules[0].colour: GrowthBook has no key 'colour' here and ignores it",
        "$.features.g.owner: GrowthBook has no key 'owner' here and ignores it",
    ]


def test_a_feature_without_a_default_has_an_original():
    (rule,) = formats.read({"features": {"f": {}}}, "growthbook")
    assert rule.original == {"defaultValue": None}
    assert feature_values(Index.build({"features": {"f": {}}}, format="growthbook"), {}) == {"f": None}
