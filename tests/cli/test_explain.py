"""`ruledex explain`."""

from __future__ import annotations

import json

from rich.console import Console

from ruledex import Schema, parse
from ruledex.cli.explain import render_explanation
from ruledex.explain import explain
from tests.cli.samples import run


def test_clauses_and_the_smallest_change_are_shown(indexed):
    result = run("explain", indexed / "index", 7, '{"country": "IN", "age": 17}')
    assert result.exit_code == 1
    assert "rule 7 is false of this event" in result.stdout
    assert "✓ country IN ('IN', 'US')   country is 'IN'" in result.stdout
    assert "✗ age BETWEEN 18 AND 35   age is 17" in result.stdout
    assert "age is 17, needs between 18 and 35" in result.stdout


def test_a_rule_that_is_true_says_what_would_end_it(indexed):
    result = run("explain", indexed / "index", 7, indexed / "events.jsonl", "--line", 1)
    assert result.exit_code == 0
    assert "rule 7 is true" in result.stdout
    assert "it would no longer be true if" in result.stdout


def test_missing_values_are_unknown(indexed):
    result = run("explain", indexed / "index", 7, "-", text="{}\n")
    assert "? country IN ('IN', 'US')   country is missing" in result.stdout
    assert "these 2 clauses" in result.stdout


def test_as_json(indexed):
    told = json.loads(run("explain", indexed / "index", 3, '{"age": 61}', "--json").stdout)
    assert (told["rule"], told["truth"], told["clause"]["kind"]) == (3, True, "or")


def test_what_cannot_be_used_is_one_line(indexed, tmp_path):
    for arguments in (
        (99, "{}"),
        (7, "{"),
        (7, tmp_path / "nothing.json"),
        (7, indexed / "events.jsonl", "--line", 99),
    ):
        result = run("explain", indexed / "index", *arguments)
        assert result.exit_code == 2
        assert result.stderr.startswith("error: ")


def shown(text, event, **options):
    console = Console(width=120, **options)
    with console.capture() as captured:
        console.print(render_explanation(explain(parse(text), text, event, Schema()), "17"))
    return captured.get()


def test_a_rule_is_a_tree_of_its_clauses():
    told = shown("NOT (a = 1 XNOR b IS NULL) OR t = 'x'", {"a": 1, "t": []}).splitlines()
    assert told[0] == "rule 17 is unknown of this event"
    assert [line.strip("│├└─ ") for line in told[1:7]] == [
        "? OR",
        "✗ NOT",
        "✓ XNOR",
        "✓ a = 1   a is 1",
        "✓ b IS NULL   b is missing",
        "? t = 'x'   t is an empty array",
    ]


def test_truth_has_a_colour():
    told = shown("a = 1 AND b = 2", {"a": 1, "b": 3}, force_terminal=True, color_system="standard")
    assert "\x1b[32m" in told
    assert "\x1b[31m" in told


def test_what_nothing_can_change_is_said():
    assert "no change of its clauses would make it true" in shown("FALSE", {})
    assert "it is always true" in shown("TRUE", {})


def test_attributes_of_other_clauses_are_pointed_out():
    assert "(a is used by other clauses too)" in shown("a > 5 OR a < 0", {"a": 1})
