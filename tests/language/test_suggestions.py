"""Rules as people of other languages write them first: each message says what a rule has for it."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from ruledex import Index, RuleError, parse
from ruledex.errors import RulesError
from ruledex.language import suggestions

GOLDEN = Path(__file__).parents[1] / "data/messages/foreign_rules.txt"
ENTRIES = [entry.splitlines() for entry in GOLDEN.read_text(encoding="utf-8").split("\n\n")]


@pytest.mark.parametrize(("rule", "message", "hint"), ENTRIES, ids=[entry[0] for entry in ENTRIES])
def test_the_message_is_that_of_the_golden_file(rule, message, hint):
    with pytest.raises(RuleError) as raised:
        parse(rule)
    assert [raised.value.message, raised.value.hint or "-"] == [message.strip(), hint.strip()]


@pytest.mark.parametrize(
    ("rule", "meant"),
    [
        ("includes(x, 'a')", "x LIKE '%a%'"),
        ("x IN [1, 2]", "IN (1, 2)"),
        ('x.startsWith("a")', "x LIKE 'a%'"),
        ("x matches 'a.*'", "x RLIKE 'a.*'"),
        ("'a' in x", "x = 'a'"),
        ("1 < a < 5", "1 < a AND a < 5"),
        ("x == 'a' or 'b'", "x IN ('a', 'b')"),
        ("len(x) > 2", "size(x)"),
        ("has(a.b)", "a.b IS NOT NULL"),
    ],
)
def test_what_is_suggested_can_be_parsed(rule, meant):
    with pytest.raises(RuleError) as raised:
        parse(rule)
    assert meant in raised.value.hint
    parse(meant if meant.startswith(("x ", "1", "a")) else f"x {meant}" if meant.startswith("IN") else f"{meant} > 2")


def test_what_people_write_and_rules_have_too_is_no_fault():
    for rule in ('a = "b"', "!a", "a == 'b'", "x in ('a')", "a == True", "not(a)", "a <> 1"):
        parse(rule)


def test_a_suggestion_is_for_the_place_of_the_fault_alone():
    with pytest.raises(RuleError) as raised:
        parse("a ~ 'b'".join(["name = 'x.contains(y)' AND ", " AND len(x) > 2"]))
    assert raised.value.hint == "write a RLIKE 'b'"
    long = " AND ".join(["country = 'IN'"] * 100)
    with pytest.raises(RuleError) as raised:
        parse(f"{long} && {long}")
    assert raised.value.hint == "write AND"


def test_a_suggestion_is_made_only_if_it_is_read(monkeypatch):
    asked = []

    def suggest(text, position):
        asked.append(text)
        return "better"

    monkeypatch.setattr(suggestions, "suggestion", suggest)
    with pytest.raises(RulesError) as raised:
        Index.build([(number, f"len(x{number})") for number in range(30)])
    shown = len(asked)
    assert shown <= 20
    assert raised.value.faults[-1].error.hint == "better"
    assert len(asked) == shown + 1
    error = pickle.loads(pickle.dumps(raised.value.faults[0].error))
    assert error.hint == "better"


def test_no_text_takes_long(monkeypatch):
    for text in ("a" * 10_000 + " b", "a.b" * 5_000 + " c", "' " * 5_001, "{" * 9_000, "a[" * 5_000, "x.y(" * 3_000):
        with pytest.raises(RuleError) as raised:
            parse(text)
        assert len(str(raised.value)) < 1_000
