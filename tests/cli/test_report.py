"""Excerpts and counts for people."""

from __future__ import annotations

import pytest

from ruledex.cli.report import LocatedFinding, Tally
from ruledex.lint import Finding, Severity


def located(text: str, position: int, severity: Severity = Severity.ERROR) -> LocatedFinding:
    return LocatedFinding.of("rules.txt", 3, Finding("r", "syntax", severity, position, "wrong"), text)


@pytest.mark.parametrize("position", [0, 5, 200, 999])
def test_the_caret_stands_below_the_fault_however_long_the_line(position: int) -> None:
    text = "".join(chr(ord("a") + i % 26) for i in range(1000))
    shown, caret = located(text, position).excerpt.split("\n")
    assert shown[len(caret) - 1] == text[position]
    assert len(shown) <= 62


def test_the_line_of_the_fault_alone_is_shown_without_control_characters() -> None:
    found = located("a = 1\nAND\tb = \x1b\nOR c = 2", 10)
    assert found.excerpt == "AND\N{REPLACEMENT CHARACTER}b = \N{REPLACEMENT CHARACTER}\n    ^"
    assert (found.line, found.column) == (2, 5)


def test_a_fault_at_the_end_has_its_caret_behind_the_text() -> None:
    assert located("a =", 3).excerpt == "a =\n   ^"


def test_only_errors_have_an_excerpt() -> None:
    assert located("a = 1", 0, Severity.NOTE).excerpt == ""


def test_counts_are_in_words() -> None:
    tally = Tally()
    tally.n_rules = 1200
    tally.count(Finding("r", "x", Severity.ERROR, 0, ""))
    assert str(tally) == "1,200 rules, 1 error, 0 warnings, 0 notes"
