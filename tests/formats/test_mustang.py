"""Criteria mean what Mustang says they mean, without its faults. A case: a predicate, an event, whether it matches."""

from __future__ import annotations

import json

import pytest

from ruledex import Index
from ruledex.formats import read
from ruledex.language.reference import score_of
from tests.formats.answers import fault, holds


def predicate(lhs, caveat="EQUALITY", ops=(), kind="INCLUDED", weight=None, **detail):
    given = {"type": kind, "lhs": lhs, "detail": {"caveat": caveat, **detail}}
    if ops:
        given["preOperations"] = [{"type": op} if isinstance(op, str) else {"type": op[0], **op[1]} for op in ops]
    return given if weight is None else given | {"weight": weight}


def excluded(*arguments, **detail):
    return predicate(*arguments, kind="EXCLUDED", **detail)


def dnf(*conjunctions):
    return {"form": "DNF", "id": "C", "conjunctions": [{"type": "AND", "predicates": list(c)} for c in conjunctions]}


def cnf(*disjunctions):
    return {"form": "CNF", "id": "C", "disjunctions": [{"type": "OR", "predicates": list(d)} for d in disjunctions]}


def unf(kind, *predicates, nested=()):
    return {"form": "UNF", "id": "C", "type": kind, "criterias": list(nested), "predicates": list(predicates)}


def text_of(*predicates):
    found = read({"r": dnf(predicates)}, "mustang")
    assert found.faults == []
    return found[0].text


RANGE = {"lowerBound": 1, "upperBound": 5}
BOOKS = {"book": [{"kind": "a", "price": 5, "tags": ["x", "y"]}, {"kind": "b", "price": 9, "on": None}]}
YEAR_END = 1735646400123  # 2024-12-31 12:00:00.123 UTC, a Tuesday

CASES = [
    # Equality.
    (predicate("$.a", values=["x", "y"]), {"a": "y"}, True),
    (predicate("$.a", values=["x", "y"]), {"a": "z"}, False),
    (predicate("$.a", values=["x", "y"]), {}, False),
    (predicate("$.a", values=["x"]), {"a": None}, False),
    (predicate("$.a", values=[1, 2.5]), {"a": 1.0}, True),
    (predicate("$.a", values=[1]), {"a": "1"}, False),
    (predicate("$.a", values=[True]), {"a": 1}, False),
    (predicate("$.a", values=["x", 1, False]), {"a": False}, True),
    (predicate("$.a", values=[]), {"a": 1}, False),
    (predicate("$.a", values=["x"]), {"a": ["y", "x"]}, True),
    # Exclusions hold where the value is missing or of another type.
    (excluded("$.a", values=["x"]), {}, True),
    (excluded("$.a", values=["x"]), {"a": 1}, True),
    (excluded("$.a", values=["x"]), {"a": "x"}, False),
    (excluded("$.a", values=["x"]), {"a": ["y", "x"]}, False),
    (excluded("$.a", "RANGE", **RANGE), {"a": "x"}, True),
    (excluded("$.a", "RANGE", **RANGE), {"a": 3}, False),
    (excluded("$.a", "EXISTENCE"), {"b": 1}, True),
    (excluded("$.a", "NON_EXISTENCE"), {"b": 1}, False),
    # Ranges.
    (predicate("$.n", "RANGE", **RANGE), {"n": 1}, False),
    (predicate("$.n", "RANGE", **RANGE), {"n": 3}, True),
    (predicate("$.n", "RANGE", **RANGE, includeLowerBound=True), {"n": 1}, True),
    (predicate("$.n", "RANGE", **RANGE, includeUpperBound=True), {"n": 5}, True),
    (predicate("$.n", "RANGE", **RANGE, includeLowerBound=True, includeUpperBound=True), {"n": 5.5}, False),
    (predicate("$.n", "RANGE", upperBound=5), {"n": -7}, True),
    (predicate("$.n", "RANGE", lowerBound=5e-324, upperBound=5), {"n": 0}, True),
    (predicate("$.n", "RANGE", lowerBound=5, upperBound=1.7976931348623157e308), {"n": 6}, True),
    (predicate("$.n", "RANGE"), {"n": -1}, True),
    (predicate("$.n", "RANGE"), {"n": "x"}, False),
    (predicate("$.n[*]", "RANGE", **RANGE), {"n": [0, 9]}, False),
    (predicate("$.n[*]", "RANGE", **RANGE), {"n": [0, 3]}, True),
    # Texts.
    (predicate("$.a", "REGEX", regex="A.*"), {"a": "Apple"}, True),
    (predicate("$.a", "REGEX", regex="pp"), {"a": "Apple"}, False),
    (predicate("$.a", "REGEX", regex="a|bc"), {"a": "ac"}, False),
    (predicate("$.a", "REGEX", regex="^a|b$"), {"a": "b"}, True),
    (predicate("$.a", "REGEX", regex="a\\$"), {"a": "a$"}, True),
    (predicate("$.a", "REGEX", regex="12"), {"a": 12}, False),
    (predicate("$.v", "VERSIONING", check="ABOVE", baseVersion="1.10"), {"v": "1.10.0"}, True),
    (predicate("$.v", "VERSIONING", check="ABOVE", baseVersion="1.10", excludeBase=True), {"v": "1.10.0"}, False),
    (predicate("$.v", "VERSIONING", check="ABOVE", baseVersion="1.9"), {"v": "1.10-rc1"}, True),
    (predicate("$.v", "VERSIONING", check="BELOW", baseVersion="2.0"), {"v": "2.0-alpha"}, True),
    (predicate("$.v", "VERSIONING", check="BELOW", baseVersion="2.0", excludeBase=True), {"v": "2"}, False),
    (predicate("$.v", "VERSIONING", check="EQUAL", baseVersion="2.0"), {"v": "2"}, True),
    # Presence.
    (predicate("$.a.b", "EXISTENCE"), {"a": {"b": 0}}, True),
    (predicate("$.a.b", "EXISTENCE"), {"a": {}}, False),
    (predicate("$.a", "EXISTENCE"), {"a": []}, False),
    (predicate("$.a", "NON_EXISTENCE"), {"a": None}, True),
    (predicate("$.a", "NON_EXISTENCE"), {"a": False}, False),
    (predicate("$", "EXISTENCE"), {}, True),
    (predicate("$", "NON_EXISTENCE"), {}, False),
    # Sets.
    (predicate("$.t", "SUBSET", values=["x", "y"]), {"t": ["x"]}, True),
    (predicate("$.t", "SUBSET", values=["x", "y"]), {"t": ["x", "z"]}, False),
    (predicate("$.t", "SUBSET", values=["x", "y"]), {"t": ["x", 1]}, False),
    (predicate("$.t", "SUBSET", values=["x", "y"]), {"t": []}, False),
    (predicate("$.t", "SUBSET", values=["x", "y"]), {"t": "x"}, False),
    (predicate("$.t", "SUBSET", values=["x", 1]), {"t": ["x", 1]}, True),
    (predicate("$.t", "SUPERSET", values=["x", "y"]), {"t": ["z", "y", "x"]}, True),
    (predicate("$.t", "SUPERSET", values=["x", "y"]), {"t": ["x"]}, False),
    (predicate("$.t", "SUPERSET", values=["x"]), {"t": "x"}, False),
    (predicate("$.t", "SUPERSET", values=["x", 1]), {"t": ["x", 1, 2]}, True),
    (predicate("$.t", "EQUALSET", values=["x", "y"]), {"t": ["y", "x", "x"]}, True),
    (predicate("$.t", "EQUALSET", values=["x", "y"]), {"t": ["y", "x", "z"]}, False),
    (predicate("$.t", "EQUALSET", values=["x"]), {"t": ["x", None]}, False),
    (predicate("$.t", "INTERSECTION", values=["x", "y"]), {"t": ["z", "x"]}, True),
    (predicate("$.t", "INTERSECTION", values=["x"]), {"t": "x"}, False),
    (excluded("$.t", "SUBSET", values=["x"]), {"t": "x"}, True),
    (predicate("$.book[*].kind", "EQUALSET", values=["a", "b"]), BOOKS, True),
    (predicate("$.book[0].tags", "SUPERSET", values=["x"]), BOOKS, True),
    (predicate("$.book[0].tags", "SUBSET", values=["x"]), BOOKS, False),
    # Paths.
    (predicate("a.b", values=[1]), {"a": {"b": 1}}, True),
    (predicate("$['a b']['c.d']", values=[1]), {"a b": {"c.d": 1}}, True),
    (predicate('$["it\'s"]', values=[1]), {"it's": 1}, True),
    (predicate("$.book[1].price", values=[9]), BOOKS, True),
    (predicate("$.book[-1].price", values=[9]), BOOKS, True),
    (predicate("$.book[2].price", values=[9]), BOOKS, False),
    (predicate("$.book[*].tags[1]", values=["y"]), BOOKS, True),
    (predicate("$.book[*].tags[1]", values=["x"]), BOOKS, False),
    # Filters.
    (predicate("$.book[?(@.kind == 'a')].price", values=[5]), BOOKS, True),
    (predicate("$.book[?(@.kind == 'a')].price", values=[9]), BOOKS, False),
    (excluded("$.book[?(@.kind == 'a')].price", values=[9]), BOOKS, True),
    (predicate("$.book[?(@.price > 5 && @.kind != 'a')]", "EXISTENCE"), BOOKS, True),
    (predicate("$.book[?(@.price > 9 || !(@.kind in ['a', 'b']))]", "EXISTENCE"), BOOKS, False),
    (predicate("$.book[?(@.price > 9)]", "NON_EXISTENCE"), BOOKS, True),
    (predicate("$.book[?(9 <= @.price)].kind", "REGEX", regex="b"), BOOKS, True),
    (predicate("$.book[?(@.on)].kind", values=["b"]), BOOKS, True),
    (predicate("$.book[?(@.on == null)].kind", values=["a"]), BOOKS, False),
    (predicate("$.book[?(@.kind =~ /A/i)].price", values=[5]), BOOKS, True),
    (predicate("$.book[?(@.price < $.most)].price", values=[5]), BOOKS | {"most": 6}, True),
    (predicate("$.book[?(@.price >= 5)].kind", "EQUALSET", values=["a", "b"]), BOOKS, True),
    (predicate("$.book[?(@.price > 5)].kind", "SUBSET", values=["a"]), BOOKS, False),
    (predicate("$.book[?(@.price > 1)].kind", ops=["SIZE"], values=[2]), BOOKS, True),
    (predicate("$.n[?(@ > 3)]", ops=["SIZE"], values=[1]), {"n": [1, 2, 5]}, True),
    # Pre-operations change values of one type, and leave others as they are.
    (predicate("$.n", ops=[("ADDITION", {"rhs": 5.0})], values=[15]), {"n": 10}, True),
    (predicate("$.n", ops=[("ADDITION", {"rhs": 0.2})], values=[0.3]), {"n": 0.1}, True),
    (predicate("$.n", ops=[("ADDITION", {"rhs": 5})], values=["x"]), {"n": "x"}, True),
    (predicate("$.n", ops=[("SUBTRACTION", {"rhs": 3})], values=[7]), {"n": 10}, True),
    (predicate("$.n", ops=[("MULTIPLICATION", {"rhs": -0.5})], caveat="RANGE", **RANGE), {"n": -4}, True),
    (predicate("$.n", ops=[("MULTIPLICATION", {"rhs": -0.5})], caveat="RANGE", **RANGE), {"n": 4}, False),
    (predicate("$.n", ops=[("MULTIPLICATION", {"rhs": 0.3})], values=[0.1]), {"n": 1}, False),
    (predicate("$.n", ops=[("DIVISION", {"rhs": 3})], values=[3]), {"n": 11.5}, True),
    (predicate("$.n", ops=[("DIVISION", {"rhs": 0})], values=[10]), {"n": 10}, True),
    (predicate("$.n", ops=[("MODULO", {"rhs": 4})], values=[3]), {"n": 7.9}, True),
    (predicate("$.n", ops=[("MODULO", {"rhs": 4})], values=[-3]), {"n": -7}, True),
    (predicate("$.n", ops=[("MODULO", {"rhs": 0})], values=[7]), {"n": 7}, True),
    (predicate("$.n", ops=["BINARY_CONVERSION"], values=["0" * 29 + "101"]), {"n": 5}, True),
    (predicate("$.n", ops=["BINARY_CONVERSION"], values=["1" * 32]), {"n": -1}, True),
    (predicate("$.n", ops=["BINARY_CONVERSION"], values=["1" * 32]), {"n": 2**32 - 1}, False),
    (predicate("$.n", ops=["BINARY_CONVERSION"], values=["x"]), {"n": "x"}, True),
    (predicate("$.a", ops=["LENGTH"], values=[5]), {"a": "hello"}, True),
    (predicate("$.a", ops=["LENGTH"], values=[42]), {"a": 42}, True),
    (predicate("$.a", ops=["LENGTH", ("ADDITION", {"rhs": 1})], values=[6]), {"a": "hello"}, True),
    (predicate("$.a", ops=["LENGTH"], caveat="EXISTENCE"), {"a": "hello"}, True),
    (predicate("$.a", ops=[("SUBSTRING", {"beginIndex": 1, "endIndex": 4})], values=["ell"]), {"a": "hello"}, True),
    (predicate("$.a", ops=[("SUBSTRING", {"beginIndex": 0, "endIndex": 9})], values=["he"]), {"a": "he"}, True),
    (predicate("$.a", ops=[("SUBSTRING", {"beginIndex": 2, "endIndex": 1})], values=["he"]), {"a": "he"}, True),
    (predicate("$.a", ops=[("SUBSTRING", {"beginIndex": 0, "endIndex": 3})], values=[42]), {"a": 42}, True),
    (predicate("$.a", ops=["SIZE"], values=[3]), {"a": ["x", None, 1]}, True),
    (predicate("$.a", ops=["SIZE"], values=[3]), {"a": [3]}, False),
    (predicate("$.a", ops=["SIZE"], values=[3]), {"a": 3}, True),
    (predicate("$.a", ops=["SIZE"], values=["x"]), {"a": "x"}, True),
    (predicate("$.a", ops=["SIZE"], values=["x"]), {"a": ["x"]}, False),
    (predicate("$.a", ops=["SIZE"], caveat="SUBSET", values=["x"]), {"a": ["x"]}, False),
    (predicate("$.a[*]", ops=["SIZE"], values=[2]), {"a": ["x", "y"]}, True),
    # Times.
    *(
        (predicate("$.at", ops=[("DATETIME", {"extract": extract})], values=[value]), {"at": YEAR_END}, True)
        for extract, value in {
            "ERA": "AD",
            "YEAR": 2024,
            "MONTH": 12,
            "WEEK_OF_YEAR": 1,
            "WEEK_OF_MONTH": 5,
            "DATE": 31,
            "DAY_OF_YEAR": 366,
            "DAY_OF_MONTH": 31,
            "DAY_OF_WEEK": 3,
            "DAY_OF_WEEK_IN_MONTH": 5,
            "AM_PM": "PM",
            "HOUR": 0,
            "HOUR_OF_DAY": 12,
            "MINUTE": 0,
            "SECOND": 0,
            "MILLISECOND": 123,
        }.items()
    ),
    (predicate("$.at", ops=[("DATETIME", {"extract": "AM_PM"})], values=["AM"]), {"at": 0}, True),
    (predicate("$.at", ops=[("DATETIME", {"extract": "WEEK_OF_YEAR"})], values=[2]), {"at": 3 * 86_400_000}, True),
    (predicate("$.at", "RANGE", [("DATETIME", {"extract": "DIFF_WITH_EPOCH"})], lowerBound=10**11), {"at": 0}, True),
    (
        predicate("$.at", ops=[("TO_DATETIME", {"dateTimeFormat": "yyyy-MM-dd HH:mm:ssXXX"})], values=[3_600_000]),
        {"at": "1970-01-01 02:00:00+01:00"},
        True,
    ),
    (
        predicate(
            "$.at",
            ops=[("TO_DATETIME", {"dateTimeFormat": "uuuu/MM/dd X"}), ("DATETIME", {"extract": "YEAR"})],
            values=[2020],
        ),
        {"at": "2020/05/06 Z"},
        True,
    ),
    (
        predicate("$.at", ops=[("TO_DATETIME", {"dateTimeFormat": "Instant(ISO)"})], values=[60_000]),
        {"at": "1970-01-01T00:01:00Z"},
        True,
    ),
    (predicate("$.at", ops=[("TO_DATETIME", {"dateTimeFormat": "yyyy X"})], values=["x"]), {"at": "x"}, True),
]


@pytest.mark.parametrize(("given", "event", "answer"), CASES)
def test_a_predicate_means_what_it_means_in_mustang(given, event, answer):
    assert holds("mustang", dnf([given]), event) is answer
    assert holds("mustang", unf("AND", given), event) is answer


A, B = predicate("$.a", values=[1], weight=3), predicate("$.b", values=[1], weight=5)
NOT_C = excluded("$.c", values=[1], weight=7)


@pytest.mark.parametrize(
    ("criteria", "event", "score"),
    [
        (dnf([A, NOT_C], [B]), {"a": 1, "b": 1}, 5),
        (dnf([A, NOT_C], [B]), {"a": 1}, 3),
        (dnf([A, B]), {"a": 1}, None),
        (dnf([A, A]), {"a": 1}, 6),
        (cnf([A, B], [NOT_C]), {"a": 1, "b": 1}, 5),
        (cnf([A], [B]), {"a": 1, "b": 1}, 8),
        (cnf([A, NOT_C]), {"c": 1}, None),
        (unf("AND", A, nested=[unf("OR", B, NOT_C)]), {"a": 1}, 3),
        (unf("OR", A, nested=[dnf([B, NOT_C])]), {"b": 1}, 5),
        (dnf([predicate("$.a", "RANGE", weight=4, lowerBound=0, upperBound=2)]), {"a": 1}, 4),
        (dnf([predicate("$.a", "RANGE", weight=4)]), {"a": 1}, 4),
        (dnf([predicate("$.a", "EXISTENCE", weight=4)]), {"a": 1}, 4),
        (dnf([predicate("$.x", "NON_EXISTENCE", weight=4)]), {"a": 1}, 4),
        (dnf([predicate("$.t", "SUBSET", weight=4, values=["x", 1])]), {"t": ["x", 1]}, 4),
        (dnf([predicate("$.t", "EQUALSET", weight=4, values=["x", 1])]), {"t": ["x", 1]}, 4),
        (dnf([predicate("$.t", ops=["SIZE"], weight=4, values=[1])]), {"t": ["x"]}, 4),
        (dnf([predicate("$.n", ops=["BINARY_CONVERSION"], weight=4, values=["0" * 31 + "1"])]), {"n": 1}, 4),
        (dnf([predicate("$.book[?(@.kind == 'a')].price", weight=4, values=[5])]), BOOKS, 4),
        (dnf([predicate("$.book[?(@.price > 1)].kind", "SUPERSET", weight=4, values=["a", "b"])]), BOOKS, 4),
        (dnf([predicate("$.a", values=[1], weight=0)]), {"a": 1}, 1),
        # Without a composition, a criteria is always true.
        (dnf(), {}, 0),
        (cnf(), {}, 0),
        (unf("OR"), {}, 0),
        (cnf([]), {}, None),
        (unf("OR", A, nested=[dnf()]), {}, 0),
    ],
)
def test_criteria_score_as_in_mustang(criteria, event, score):
    found = read({"r": criteria}, "mustang")
    assert found.faults == []
    assert score_of(found[0].tree, event) == score


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (predicate("$.country", values=["IN", "SG"]), "country IN ('IN', 'SG')"),
        (excluded("$.os", values=["ios"]), "(os = 'ios') IS NOT TRUE"),
        (predicate("$.age", "RANGE", lowerBound=18, includeLowerBound=True), "age >= 18"),
        (predicate("$.n", "RANGE", **RANGE), "n > 1 AND n < 5^0"),
        (predicate("$.n", "RANGE", **RANGE, includeLowerBound=True, includeUpperBound=True), "n BETWEEN 1 AND 5"),
        (predicate("$.id", ops=[("MODULO", {"rhs": 4})], values=[0]), "id DIV 1 % 4 = 0"),
        (predicate("$.n", ops=[("ADDITION", {"rhs": 5.0})], values=[15.0]), "n + 5 = 15"),
        (predicate("$.n", ops=[("SUBTRACTION", {"rhs": 0.1})], values=[0.2]), "n = 0.3D"),
        (predicate("$.v", "VERSIONING", check="ABOVE", baseVersion="3.2.0"), "maven_version(v) >= '3.2.0'"),
        (predicate("$.a.b[?(@.c == 1)].d", values=[2]), "exists(a.b, i -> i.c = 1 AND i.d = 2)"),
        (predicate("$.t[*]", "SUPERSET", values=["x", "y"]), "superset_of(t, 'x', 'y')"),
    ],
)
def test_rules_are_written_plainly(given, text):
    assert text_of(given) == text


def test_criteria_of_version_2_have_values_and_one_operation_in_the_predicate():
    given = {"type": "INCLUDED", "lhs": "$.n", "values": [3], "preOperation": {"type": "MODULO", "rhs": 5}}
    assert holds("mustang", dnf([given]), {"n": 8})
    assert not holds("mustang", dnf([given | {"preOperations": []}]), {"n": 8})


@pytest.mark.parametrize(
    ("criteria", "message"),
    [
        (1, "$: a criteria is an object, not 1"),
        ({"form": "XNF"}, "$: the form of a criteria is DNF, CNF, UNF, not 'XNF'"),
        ({"form": "DNF", "conjunctions": 1}, "$.conjunctions: this is a list, not 1"),
        ({"form": "DNF", "conjunctions": [1]}, "$.conjunctions[0]: a composition is an object, not 1"),
        (unf("XOR"), "$.type: the type of a criteria is AND or OR, not 'XOR'"),
        (unf("OR", 1), "$.predicates[0]: a predicate is an object, not 1"),
        (unf("OR", {"type": "X"}), "$.predicates[0].type: a predicate is INCLUDED or EXCLUDED, not 'X'"),
        (unf("OR", predicate(1)), "$.predicates[0].lhs: a path is a string, not 1"),
        (unf("OR", predicate("$.a..b")), "'..' looks at any depth, which a rule cannot say"),
        (unf("OR", predicate("$.a.*")), "'.*' is any field, which a rule cannot say"),
        (unf("OR", predicate("$.a[0:2]")), "of brackets only a name, a place, [*] and one filter are read"),
        (unf("OR", predicate("$.a.length()")), "functions such as length() are not read"),
        (unf("OR", predicate("$.a[0][?(@.b)]")), "a filter is on an array with a name"),
        (unf("OR", predicate("$.a[?(@.b size 2)]")), "size is not read; there are ==, !=, <"),
        (unf("OR", predicate("$.a[?(@.b == )]")), "a path or a constant is expected"),
        (unf("OR", predicate("$.a[?(@.b == 1]")), "')' is expected"),
        (unf("OR", predicate("$", values=[1])), "the event itself, $, has no value that could be tested"),
        (unf("OR", predicate("$.a", "EQUAL")), "$.predicates[0].detail.caveat: there is no caveat 'EQUAL'"),
        (unf("OR", predicate("$.a")), "$.predicates[0].detail.values: values are a list, not null"),
        (unf("OR", predicate("$.a", values=[None])), "detail.values[0]: a value is a text, a number, true or false"),
        (unf("OR", predicate("$.a", "RANGE", lowerBound="x")), "detail.lowerBound: a bound is a number, not 'x'"),
        (unf("OR", predicate("$.a", "REGEX", regex="a(?=b)")), "detail.regex: RE2 refuses this regular expression"),
        (unf("OR", predicate("$.a", "VERSIONING", check="NEAR")), "a check is ABOVE, BELOW or EQUAL, not 'NEAR'"),
        (unf("OR", predicate("$.a", weight=-1, values=[1])), "predicates[0].weight: a weight is not negative"),
        (unf("OR", predicate("$.a", ops=["UPPER"])), "preOperations[0]: there is no pre-operation 'UPPER'"),
        (
            unf("OR", predicate("$.a", ops=[("DATETIME", {"extract": "DST_OFFSET"})])),
            "preOperations[0].extract: a rule cannot ask for the offset of a time zone",
        ),
        (
            unf("OR", predicate("$.a", ops=[("TO_DATETIME", {"dateTimeFormat": "yyyy VV"})])),
            "preOperations[0].dateTimeFormat: cannot use 'VV'",
        ),
    ],
)
def test_what_cannot_be_said_is_refused_with_its_place(criteria, message):
    assert message in fault("mustang", criteria)


def test_notes_tell_what_means_something_else():
    given = predicate("$.n", "RANGE", upperBound=5)
    assert [str(note) for note in read({"r": dnf([given])}, "mustang")[0].notes] == [
        "$.conjunctions[0].predicates[0].detail: a range without a lower bound starts at 4.9E-324 in Mustang; "
        "here it has none"
    ]
    given = predicate("$.at", ops=[("DATETIME", {"extract": "HOUR"})], values=[5])
    assert "the time zone of its machine" in str(read({"r": dnf([given])}, "mustang")[0].notes[0])


PREDICATE = "$.conjunctions[0].predicates[0]"


@pytest.mark.parametrize(
    ("criteria", "message", "meant"),
    [
        ({"form": "DNF", "conjunction": [{}]}, "$.conjunction: a DNF has no 'conjunction'", "conjunctions"),
        ({"form": "CNF", "conjunctions": [{}]}, "$.conjunctions: a CNF has no 'conjunctions'", "disjunctions"),
        (dnf([A | {"weights": 5}]), f"{PREDICATE}.weights: a predicate has no 'weights'", "weight"),
        (dnf([A | {"preOperation s": [1]}]), "a predicate has no 'preOperation s'", "preOperations"),
        (
            dnf([predicate("$.n", "RANGE", lowerbound=5)]),
            f"{PREDICATE}.detail.lowerbound: the caveat RANGE has no 'lowerbound'",
            "lowerBound",
        ),
        (
            dnf([predicate("$.n", ops=[("ADDITION", {"rsh": 1})], values=[5])]),
            f"{PREDICATE}.preOperations[0].rsh: the pre-operation ADDITION has no 'rsh'",
            None,
        ),
        (
            {"form": "DNF", "conjunctions": [{"type": "AND", "predicate": [A]}]},
            "$.conjunctions[0].predicate: a composition has no 'predicate'",
            "predicates",
        ),
    ],
)
def test_a_misspelt_key_is_refused_or_noted(criteria, message, meant):
    found = read({"r": criteria}, "mustang")
    if meant is None:
        assert str(found[0].notes[0]) == f"{message} in Mustang, and it says nothing here"
    else:
        assert message in found.faults[0].error.message
        assert found.faults[0].error.hint == f"did you mean {meant}?"


def test_keys_beside_a_criteria_have_notes_unless_a_record_has_them():
    beside = {"id": "x", "name": "n", "score": 2, "tags": {"a": 1}, "disjunctions": [], "owner": "ann"}
    notes = read({"r": dnf([A]) | beside}, "mustang")[0].notes
    assert [str(note) for note in notes] == ["$.owner: a DNF has no 'owner' in Mustang, and it says nothing here"]


def test_what_older_predicates_say_of_missing_paths_is_not_lost():
    assert "is a path here" in fault("mustang", dnf([A | {"lhsNotAPath": True}]))
    assert read({"r": dnf([A | {"lhsNotAPath": False, "defaultResult": False}])}, "mustang")[0].notes == []
    (note,) = read({"r": dnf([A | {"defaultResult": True}])}, "mustang")[0].notes
    assert str(note) == f"{PREDICATE}.defaultResult: where the path is missing, the predicate is false here"


def test_a_composition_has_the_type_of_its_form():
    criteria = {"form": "DNF", "conjunctions": [{"type": "OR", "predicates": [A]}]}
    assert "$.conjunctions[0].type: the type of conjunctions is AND, not 'OR'" in fault("mustang", criteria)


def test_files_of_criteria_keep_their_ids(tmp_path):
    first, second = dnf([A]) | {"id": "first"}, dnf([B]) | {"id": "second"}
    (tmp_path / "list.json").write_text(json.dumps([first, second]))
    assert [rule.id for rule in read(tmp_path / "list.json", "mustang")] == ["first", "second"]
    (tmp_path / "lines.jsonl").write_text(f"{json.dumps(first)}\n{json.dumps({'id': 'x', 'criteria': second})}\n")
    assert [rule.id for rule in read(tmp_path / "lines.jsonl", "mustang")] == ["first", "x"]
    (tmp_path / "index.json").write_text(json.dumps({"name": "ads", "allCriterias": {"first": first}}))
    assert [rule.id for rule in read(tmp_path / "index.json", "mustang")] == ["first"]


def test_an_index_of_criteria_answers():
    index = Index.build({"one": dnf([A, NOT_C]), "two": cnf([A, B])}, format="mustang")
    assert index.match({"a": 1, "c": 1}) == ["two"]
    assert index.top({"a": 1}, 2) == [("one", 3.0), ("two", 3.0)]
