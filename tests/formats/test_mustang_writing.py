"""Rules are written as criteria of Mustang, and mean the same when they are read again.

RULEDEX_ROUND_TRIPS is the number of rules that are tried.
"""

from __future__ import annotations

import json
import os
import random

import pytest

from ruledex import Index, evaluate, parse, to_text
from ruledex.formats import read, write
from ruledex.language.reference import score_of
from ruledex.language.tree import Attribute, Between, Call, Compare, In, Weighed
from tests.formats.generated import COMPARISONS, Rules
from tests.formats.test_mustang import CASES, dnf

N_RULES = int(os.environ.get("RULEDEX_ROUND_TRIPS", "300"))
N_EVENTS = 10


def written(text):
    found = write({"r": text}, "mustang")
    assert found.faults == [], text
    return found[0]


def again(document):
    """The rule that is read from a criteria, as it comes from a file."""
    found = read({"r": json.loads(json.dumps(document))}, "mustang")
    assert found.faults == [], document
    return found[0]


# What is written.


def predicate(lhs, caveat, kind="INCLUDED", ops=None, **detail):
    made = {"type": kind, "lhs": lhs}
    if ops:
        made["preOperations"] = ops
    made["detail"] = {"caveat": caveat, **detail}
    return made | ({"weight": 1} if kind == "INCLUDED" else {})


def limits(low=-1.7976931348623157e308, high=1.7976931348623157e308, with_low=True, with_high=True):
    return {"lowerBound": low, "upperBound": high, "includeLowerBound": with_low, "includeUpperBound": with_high}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1", predicate("$.a", "EQUALITY", values=[1])),
        ("a IN ('x', 'y')", predicate("$.a", "EQUALITY", values=["x", "y"])),
        ("(a = 1) IS NOT TRUE", predicate("$.a", "EQUALITY", "EXCLUDED", values=[1])),
        ("a < 5", predicate("$.a", "RANGE", **limits(high=5, with_high=False))),
        ("a BETWEEN 1 AND 5", predicate("$.a", "RANGE", **limits(1, 5))),
        ("a > 1 AND a < 5^0", predicate("$.a", "RANGE", **limits(1, 5, False, False))),
        ("`two words`.x = 'it\\'s'", predicate("$['two words'].x", "EQUALITY", values=["it's"])),
        ("items[0].price = 5", predicate("$.items[0].price", "EQUALITY", values=[5])),
        ("a LIKE 'x.%'", predicate("$.a", "REGEX", regex="(?s)x\\..*")),
        ("a RLIKE '^x+$'", predicate("$.a", "REGEX", regex="x+")),
        ("a RLIKE 'x'", predicate("$.a", "REGEX", regex="(?s:.*)x(?s:.*)")),
        (
            "maven_version(v) > '1.2'",
            predicate("$.v", "VERSIONING", check="ABOVE", baseVersion="1.2", excludeBase=True),
        ),
        ("a IS NULL", predicate("$.a", "EXISTENCE", "EXCLUDED")),
        ("(a IS NOT NULL)^1", predicate("$.a", "EXISTENCE")),
        ("a DIV 1 % 4 = 1", predicate("$.a", "EQUALITY", ops=[{"type": "MODULO", "rhs": 4}], values=[1])),
        (
            "hour(timestamp_millis(at DIV 1)) = 5",
            predicate("$.at", "EQUALITY", ops=[{"type": "DATETIME", "extract": "HOUR_OF_DAY"}], values=[5]),
        ),
        ("exists(items, i -> i.k = 'a' AND i.n > 5)", predicate("$.items[?((@.k == 'a' && @.n > 5))]", "EXISTENCE")),
    ],
)
def test_a_condition_becomes_a_predicate(text, expected):
    assert written(text).document == dnf([expected]) | {"id": "r"}


def forms(text):
    document = written(text).document
    return document["form"], sum(len(document.get(key, ())) for key in ("conjunctions", "disjunctions", "criterias"))


def test_the_simplest_form_is_written():
    assert forms("a = 1 AND b = 2") == ("DNF", 1)
    assert forms("a = 1 AND b = 2 OR c = 3") == ("DNF", 2)
    assert forms("(a = 1 OR b = 2) AND c = 3") == ("CNF", 2)
    assert forms("(a = 1 AND b = 2 OR c = 3) AND d = 4") == ("UNF", 1)
    assert forms("TRUE") == ("DNF", 0)
    assert evaluate(again(written("FALSE").document).tree, {}) is False


def test_criteria_have_the_ids_of_their_rules_and_nested_ones_numbers():
    document = write({"ads": "(a = 1 AND b = 2 OR c = 3) AND d = 4"}, "mustang").documents()["ads"]
    assert (document["id"], document["criterias"][0]["id"]) == ("ads", "ads_0")
    index = Index.build([(7, "a = 1")])
    assert write(index, "mustang")[0].document["id"] == "7"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a < 'x'", "orders numbers and versions of Maven only"),
        ("a < b", "compares values with constants only"),
        ("a = DATE '2024-01-01'", "compares texts, numbers, true and false only"),
        ("lower(a) = 'x'", "has no path or pre-operation for this"),
        ("* = 'x'", "has no path or pre-operation for this"),
        ("a LIKE ALL ('x%', '%y')", "cannot ask that one text fits several patterns"),
        ("exists(a, i -> exists(i.b, j -> j = 1))", "cannot say this in a filter"),
        ("exists(a, i -> length(i) = 1)", "cannot say this in a filter"),
        (" XOR ".join(f"a{i} = 1" for i in range(20)), "more than 20,000 predicates"),
    ],
)
def test_what_mustang_cannot_say_is_refused(text, reason):
    found = write({"r": text}, "mustang")
    assert reason in found.faults[0].error.message


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("a != 1", "a = 1: the score differs: Mustang counts 1 for the test of the type"),
        ("a = 1^0.5", "the score differs: weights of Mustang are whole numbers"),
        ("a % 4 = 1", "Mustang cuts off the fraction"),
        ("size(a) = 4", "of a value that is no array, SIZE is the value itself"),
        ("subset_of(a, 'x')", "SUBSET is true of arrays only"),
        ("a ILIKE 'x'", "ASCII letters only"),
        ("a + 0.1 = 0.3", "in decimals"),
    ],
)
def test_notes_tell_what_becomes_something_else(text, note):
    assert any(note in str(found) for found in written(text).notes)


# Round trips.


class Operations(Rules):
    """Draws rules that also have functions for which there are pre-operations, and weights."""

    def predicate(self, base=(), names=("n", "m", "s", "t", "flag")):
        """One predicate, perhaps of a function."""
        if base or self.rng.random() < 0.5:
            return super().predicate(base, names)
        number, text = (Attribute((self.pick(pair),)) for pair in (("n", "m"), ("s", "t")))
        op = self.pick(COMPARISONS)
        weight = float(self.rng.randint(1, 3))
        tests = [
            lambda: Compare(Call("+", (number, self.pick([3, -2]))), op, 5, weight),
            lambda: Compare(Call("-", (number, 2)), op, 1, weight),
            lambda: Compare(Call("*", (Call("+", (number, 1)), -2)), op, -4, weight),
            lambda: Compare(Call("div", (number, self.pick([2, -3]))), op, 1, weight),
            lambda: In(Call("%", (Call("div", (number, 1)), 3)), (0, -1), (weight, weight)),
            lambda: Compare(Call("length", (text,)), op, 2, weight),
            lambda: Between(Call("+", (Call("length", (text,)), 1)), 1, 2, weight),
            lambda: Compare(Call("substring", (text, 1, 1)), "=", "a", weight),
            lambda: Compare(Call("maven_version", (text,)), op, parse("maven_version(s) = '5'").value, weight),
            lambda: Compare(_bits(number), "=", f"{5:032b}", weight),
            lambda: Compare(Call("month", (Call("timestamp_millis", (Call("div", (number, 1)),)),)), op, 6, weight),
            lambda: Compare(Call("[]", (number, 1)), op, 2, weight),
        ]
        return self.pick(tests)()


def _bits(number):
    return Call("substring", (Call("lpad", (Call("bin", (number,)), 64, "0")), 33))


def _mixes_types(value):
    return isinstance(value, list) and len({isinstance(element, str) for element in value}) > 1


@pytest.mark.parametrize("arrays", [False, True], ids=["single values", "arrays"])
def test_a_rule_means_the_same_after_a_round_trip(arrays):
    drawn = Operations(random.Random(f"mustang {arrays}"), arrays)
    n_tried = n_noted = n_refused = 0
    for _ in range(N_RULES // 2):
        text = to_text(drawn.tree())
        found = write({"r": text}, "mustang")
        if found.faults:
            n_refused += 1
            continue
        rule = again(found[0].document)
        notes = [note.message for note in found[0].notes if "score" not in note.message]
        if not all("an array that mixes types" in note for note in notes):
            n_noted += 1
            continue
        assert all("zone of the schema" in note.message for note in rule.notes)
        n_tried += 1
        before, after = parse(text), parse(rule.text)
        for _ in range(N_EVENTS):
            event = drawn.event()
            if notes and any(_mixes_types(value) for value in event.values()):
                continue
            truths = (evaluate(before, event) is True), (evaluate(after, event) is True)
            assert truths[0] == truths[1], (text, found[0].document, rule.text, event, truths)
            if truths[0] and not found[0].notes:
                scores = score_of(before, event), score_of(after, event)
                assert scores[0] == scores[1], (text, found[0].document, rule.text, event, scores)
    assert n_tried > N_RULES / 8, (n_tried, n_noted, n_refused)


@pytest.mark.parametrize(("given", "event", "answer"), CASES)
def test_what_was_read_can_be_written_and_means_the_same(given, event, answer):
    rules = read({"r": dnf([given])}, "mustang")
    found = write(rules, "mustang")
    assert (evaluate(again(found[0].document).tree, event) is True) is answer


@pytest.mark.parametrize("caveat", ["SUBSET", "SUPERSET", "EQUALSET", "INTERSECTION"])
def test_sets_are_written_as_they_were_read(caveat):
    given = predicate("$.a", caveat, values=["x", "y"]) | {"weight": 3}
    assert written(read({"r": dnf([given])}, "mustang")[0].text).document == dnf([given]) | {"id": "r"}


@pytest.mark.parametrize("operation", ["SIZE", "LENGTH"])
def test_operations_are_written_as_they_were_read(operation):
    given = predicate("$.a", "EQUALITY", ops=[{"type": operation}], values=[5])
    assert written(read({"r": dnf([given])}, "mustang")[0].text).document == dnf([given]) | {"id": "r"}


def test_constants_in_a_filter_are_in_parentheses():
    text = "NOT exists(n, i -> i IN ('a', NULL) AND i >= 1)"
    assert evaluate(again(written(text).document).tree, {"n": [-3]}) is evaluate(parse(text), {"n": [-3]}) is True


def test_a_weight_above_a_test_of_presence_is_kept():
    rule = again(written("(a IS NULL)^3 OR (b IS NOT NULL)^2").document)
    assert score_of(rule.tree, {"b": 1}) == 3
    assert isinstance(rule.tree.children[0], Weighed)
