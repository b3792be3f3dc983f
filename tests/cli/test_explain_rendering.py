"""Explanations on a terminal."""

from __future__ import annotations

from rich.console import Console

from ruledex import Schema, parse
from ruledex.cli.explain import render_explanation
from ruledex.explain import explain


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
