"""Conditions mean what GrowthBook's SDKs make of them. Each case: a condition, attributes, and whether it holds."""

from __future__ import annotations

import pytest

from ruledex import Index
from ruledex.errors import InputError
from ruledex.formats import read
from tests.formats.answers import fault, holds

CASES = [
    ({}, {}, True),
    ({"a": "x"}, {"a": "x"}, True),
    ({"a": "x"}, {}, False),
    ({"a.b": "x"}, {"a": {"b": "x"}}, True),
    ({"a.b": "x"}, {"a": 1}, False),
    ({"a": "1"}, {"a": 1}, True),
    ({"a": "true"}, {"a": True}, True),
    ({"a": 1}, {"a": "1"}, True),
    ({"a": 1}, {"a": 2}, False),
    ({"a": 0}, {}, True),
    ({"a": None}, {}, True),
    ({"a": None}, {"a": []}, False),
    ({"a": None}, {"a": 0}, False),
    ({"a": True}, {"a": "yes"}, True),
    ({"a": True}, {"a": ""}, False),
    ({"a": False}, {"a": 0}, True),
    ({"a": False}, {}, False),
    ({"a": {"$eq": 1}}, {"a": "1"}, False),
    ({"a": {"$ne": 1}}, {}, True),
    ({"a": {"$ne": 1}}, {"a": 1}, False),
    ({"a": {"$gt": 5, "$lt": 10}}, {"a": 7}, True),
    ({"a": {"$gt": 5}}, {"a": "7"}, True),
    ({"a": {"$lt": 5}}, {}, True),
    ({"a": {"$gt": 5}}, {}, False),
    ({"a": {"$gt": "b"}}, {"a": "c"}, True),
    ({"a": {"$gt": "5"}}, {"a": 7}, True),
    ({"a": {"$gt": "5"}}, {"a": "10"}, False),
    ({"a": {"$in": ["x", 1]}}, {"a": 1}, True),
    ({"a": {"$in": ["x", None]}}, {}, True),
    ({"a": {"$in": ["x"]}}, {"a": ["w", "x"]}, True),
    ({"a": {"$nin": ["x"]}}, {"a": ["w", "x"]}, False),
    ({"a": {"$nin": ["x"]}}, {}, True),
    ({"a": {"$nin": "x"}}, {}, False),
    ({"a": {"$ini": ["X%"]}}, {"a": "x%"}, True),
    ({"a": {"$nini": ["X"]}}, {"a": "x"}, False),
    ({"a": {"$all": ["x", "y"]}}, {"a": ["y", "x", "z"]}, True),
    ({"a": {"$all": ["x", 1]}}, {"a": ["x"]}, False),
    ({"a": {"$alli": ["X"]}}, {"a": ["x"]}, True),
    ({"a": {"$elemMatch": {"$gt": 5, "$lt": 8}}}, {"a": [4, 9]}, False),
    ({"a": {"$elemMatch": {"$gt": 5, "$lt": 8}}}, {"a": [4, 6]}, True),
    ({"a": {"$elemMatch": {"k": "x", "v": {"$gt": 1}}}}, {"a": [{"k": "x", "v": 1}, {"k": "y", "v": 2}]}, False),
    ({"a": {"$elemMatch": {"k": "x", "v": {"$gt": 1}}}}, {"a": [{"k": "x", "v": 2}]}, True),
    ({"a": {"$not": {"$elemMatch": {"$eq": "x"}}}}, {"a": ["y"]}, True),
    ({"a": {"$size": 2}}, {"a": [1, 2]}, True),
    ({"a": {"$size": {"$gt": 2}}}, {"a": [1, 2]}, False),
    ({"a": {"$size": 0}}, {"a": []}, True),
    ({"a": {"$size": 0}}, {}, False),
    ({"a": {"$exists": True}}, {"a": []}, True),
    ({"a": {"$exists": False}}, {"a": None}, True),
    ({"a": {"$type": "string"}}, {"a": "x"}, True),
    ({"a": {"$type": "number"}}, {"a": "x"}, False),
    ({"a": {"$type": "null"}}, {}, True),
    ({"a": {"$type": "array"}}, {"a": [1, "x"]}, True),
    ({"a": {"$type": "array"}}, {"a": "x"}, False),
    ({"a": {"$type": "object"}}, {"a": {"b": 1}}, True),
    ({"a": {"$type": "object"}}, {"a": [{"b": 1}]}, False),
    ({"a": {"$size": 1}}, {"a": "x"}, False),
    ({"a": {"$all": ["x"]}}, {"a": "x"}, False),
    ({"a": {"$elemMatch": {"$eq": "x"}}}, {"a": "x"}, False),
    ({"a": True}, {"a": [0]}, True),
    ({"a": {"b": 1, "c": {"d": "x", "e": None}}}, {"a": {"b": 1.0, "c": {"d": "x", "e": None}}}, True),
    ({"a": {"b": 1, "c": True}}, {"a": {"b": 1, "c": False}}, False),
    ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, False),
    ({"a": {"b": 1}}, {"a": {"b": "1"}}, False),
    ({"a": {"$regex": "^x.z$"}}, {"a": "xyz"}, True),
    ({"a": {"$regexi": "^X"}}, {"a": "xyz"}, True),
    ({"a": {"$notRegex": "^x"}}, {"a": "xyz"}, False),
    ({"a": {"$notRegex": "^x"}}, {}, True),
    ({"a": {"$regex": "(["}}, {"a": "xyz"}, False),
    ({"a": {"$rgex": "x"}}, {"a": "xyz"}, False),
    ({"a": {"$regex": "^5"}}, {"a": 5}, True),
    ({"a": {"$regex": "^5$"}}, {"a": "x"}, False),
    ({"a": {"$regex": ".*"}}, {}, True),
    ({"a": {"$regex": "^x"}}, {}, False),
    ({"a": {"$regex": "ul"}}, {"a": None}, True),
    ({"a": {"$regex": "true"}}, {"a": True}, True),
    ({"a": {"$regex": "[a-f]{3}"}}, {"a": 555}, False),
    ({"a": {"$regex": "x|5"}}, {"a": 5}, True),
    ({"a": {"$regex": "x?5"}}, {"a": 5}, True),
    ({"a": 0}, {"a": ""}, True),
    ({"a": {"$lt": 5}}, {"a": ""}, True),
    ({"a": {"$gt": 5}}, {"a": ""}, False),
    ({"a": {"$lt": "5"}}, {"a": True}, True),
    ({"a": {"$size": 2}}, {"a": [1, None]}, True),
    ({"a": {"$elemMatch": {"$ne": 5}}}, {"a": [None, 5]}, False),
    ({"a": {"$elemMatch": {"$ne": 5}}}, {"a": [None, 4]}, True),
    ({"$or": []}, {}, True),
    ({"$nor": [{"a": 1}, {"b": 1}]}, {"c": 1}, True),
    ({"$nor": [{"a": 1}, {"b": 1}]}, {"b": 1}, False),
    ({"$not": {"a": 1, "b": 1}}, {"a": 1}, True),
    ({"$and": [{"a": 1}, {"$or": [{"b": 1}, {"b": 2}]}]}, {"a": 1, "b": 2}, True),
    ({"$groups": {"$in": ["x"]}}, {"$groups": ["x"]}, True),
    ({"v": {"$vgt": "1.9.0"}}, {"v": "1.10.0"}, True),
    ({"v": {"$vlt": "1.0.0"}}, {"v": "1.0.0-rc.1"}, True),
    ({"v": {"$veq": "1.2.3"}}, {"v": "v1-2-3+build"}, True),
    ({"v": {"$vne": "1.2.3"}}, {"v": "1.2.3"}, False),
    ({"v": {"$vgte": "2.0.0"}}, {}, False),
    ({"v": {"$vlt": "2.0.0"}}, {}, True),
    ({"v": {"$vgte": "1.10.0"}}, {"v": 2}, True),
    ({"v": {"$vlt": "2.0.0"}}, {"v": True}, True),
    ({"v": {"$vgte": "2.0.0"}}, {"v": True}, False),
    ({"v": {"$vlt": "2.0.0"}}, {"v": ""}, True),
]


@pytest.mark.parametrize(("condition", "attributes", "expected"), CASES, ids=str)
def test_a_condition_holds_as_in_growthbook(condition, attributes, expected):
    assert holds("mongo", condition, attributes) is expected


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"a": [1, "x"], "b": {"c": 1, "d": [True, None]}}, True),
        ({"a": [1.0, "x"], "b": {"c": 1, "d": [True, None]}}, True),
        ({"a": ["x", 1], "b": {"c": 1, "d": [True, None]}}, False),
        ({"a": [1], "b": {"c": 1, "d": [True, None]}}, False),
        ({"a": [1, "x", 2], "b": {"c": 1, "d": [True, None]}}, False),
        ({"a": [1, "x"], "b": {"d": [True, None], "c": 1}}, False),
        ({"a": [1, "x"], "b": {"c": 1, "d": [True, None], "e": 1}}, False),
        ({"a": "1,x", "b": {"c": 1, "d": [True, None]}}, False),
        ({}, False),
    ],
    ids=str,
)
def test_whole_arrays_and_objects_are_compared_in_order(attributes, expected):
    assert holds("mongo", {"a": [1, "x"], "b": {"c": 1, "d": [True, None]}}, attributes) is expected


@pytest.mark.parametrize(
    ("condition", "attributes", "expected"),
    [
        ({"a": {"$lt": 5}}, {}, False),
        ({"a": {"$gt": 5}}, {"a": "7"}, False),
        ({"a": {"$gt": 5}}, {"a": 7}, True),
        ({"a": True}, {"a": "yes"}, False),
        ({"a": "1"}, {"a": 1}, False),
        ({"a": {"$gt": "b"}}, {"a": "c"}, True),
    ],
    ids=str,
)
def test_without_coercion_only_values_of_one_type_compare(condition, attributes, expected):
    assert holds("mongo", condition, attributes, coerce=False) is expected


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ([], "$: a condition is an object, not a list"),
        ({"$or": {"a": 1}}, "$.$or: $or takes a list of conditions, not an object"),
        ({"a": {"$size": {"b": 1}}}, "$.a.$size: a number is never an array or object"),
        ({"a": {"$elemMatch": 1}}, "$.a.$elemMatch: $elemMatch takes an object, not 1"),
        ({"a": {"$size": "x"}}, "$.a.$size: $size takes a number or an object of operators, not 'x'"),
        ({"a": {"$gt": []}}, "$.a.$gt: what is compared with is a number, not a list"),
        ({"a": {"$regex": "x(?=y)"}}, "$.a.$regex: RE2 refuses this regular expression"),
        ({"a..b": 1}, "$.a..b: a name between two dots is empty"),
    ],
    ids=str,
)
def test_what_cannot_be_said_is_refused_with_its_place(condition, message):
    assert fault("mongo", condition).startswith(message)


def test_saved_groups_are_named_conditions():
    groups = {"beta": [1, "2", 3]}
    for user, is_in in ((1, True), ("2", True), ("3", False), (4, False)):
        assert holds("mongo", {"id": {"$inGroup": "beta"}}, {"id": user}, saved_groups=groups) is is_in
        assert holds("mongo", {"id": {"$notInGroup": "beta"}}, {"id": user}, saved_groups=groups) is not is_in
        assert holds("mongo", {"id": {"$inGroup": "none"}}, {"id": user}, saved_groups=groups) is False
    found = read({"r": {"id": {"$inGroup": "beta"}}}, "mongo", saved_groups=groups)
    assert found.definitions == {"beta of id": "id IN (1, 3) OR id = '2'"}
    assert found[0].text == "@`beta of id`"


def test_saved_groups_come_from_a_file(tmp_path):
    path = tmp_path / "groups.json"
    path.write_text('{"beta": [7]}')
    assert holds("mongo", {"id": {"$inGroup": "beta"}}, {"id": 7}, saved_groups=str(path))
    with pytest.raises(InputError, match="missing"):
        read({}, "mongo", saved_groups=str(tmp_path / "missing.json"))


def test_a_misspelt_operator_is_noted():
    rule = read({"r": {"a": {"$rgex": "x"}}}, "mongo")[0]
    assert str(rule.notes[0]) == "$.a.$rgex: GrowthBook knows no $rgex and takes it for false; did you mean $regex?"


def test_an_unknown_operator_above_all_attributes_is_noted():
    rule = read({"r": {"$nors": 1}}, "mongo")[0]
    assert rule.text == "CAST(`$nors` AS DOUBLE) = 1"
    message = "GrowthBook knows no $nors here and takes it for the name of an attribute; did you mean $nor?"
    assert str(rule.notes[0]) == f"$.$nors: {message}"
    assert fault("mongo", {"$savedGroup": {"id": "g"}}).startswith("$.$savedGroup: a saved group is read by $inGroup")


def test_an_index_matches_conditions():
    rules = {"adult": {"age": {"$gte": 18}}, "not french": {"country": {"$ne": "FR"}}}
    index = Index.build(rules, format="mongo")
    assert index.match({"age": 20, "country": "FR"}) == ["adult"]
    assert index.match({"age": "17"}) == ["not french"]
