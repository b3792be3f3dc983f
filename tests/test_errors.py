"""Messages: one line of bounded length, whatever a stranger put into them."""

from __future__ import annotations

import pickle

import pytest

from ruledex import Index, RuledexError, parse
from ruledex.errors import (
    LONGEST_MESSAGE,
    BudgetError,
    RuleError,
    RuleFault,
    RulesError,
    one_line,
    quoted,
)

HUGE = "n" * 10_000_000
NAMES = [HUGE, "a\nb", "a\x1b[31mb", "a\u2028b", "\ud800", "x" * 81]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: repr(name[:9]))
def test_a_name_is_quoted_in_one_short_line(name):
    for text in (quoted(name), one_line(name), str(RuledexError(f"{name}: no")), str(RuleFault(name, RuleError("no")))):
        assert text.isprintable()
        assert len(text) <= LONGEST_MESSAGE
    assert str(RuledexError(f"{name}: no")).endswith(": no")


def test_any_value_is_quoted_in_one_short_line():
    for value in (10**5000, HUGE.encode(), [HUGE] * 9, {"a": HUGE}, {HUGE: {HUGE: HUGE}}, object()):
        assert quoted(value).isprintable()
        assert len(quoted(value)) < 500


def test_errors_survive_being_sent_to_another_process():
    limit = BudgetError("DNF", 9, 8, 3, over=[(3, 9), (5, 10)])
    for error in (RuledexError(HUGE), RuleError(HUGE + "\n", "a\nb", 2, HUGE), limit):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
    rules = RulesError([RuleFault(HUGE, RuleError("no\n" + HUGE), 3)], 5)
    assert str(pickle.loads(pickle.dumps(rules))) == str(rules)


@pytest.mark.parametrize("rule", ["{0}(a) = 1", "`{0}` = 'a' AND `{0}` = ", "a = 1 {0}", "a LIKE 1 OR {0}", "{0} +"])
def test_no_error_of_a_rule_echoes_it_whole(rule):
    with pytest.raises(RuleError) as caught:
        parse(rule.format("n" * 1_000_000))
    assert all(len(line) <= 2 * LONGEST_MESSAGE for line in str(caught.value).splitlines())


def test_no_error_of_an_index_echoes_what_was_given_whole(tmp_path):
    index = Index.build([("a", "a = 1")], "scan")
    for ask in (
        index.rule,
        lambda v: index.remove([v]),
        lambda v: Index.build([], v),
        lambda v: Index.open(tmp_path, v),
    ):
        with pytest.raises(RuledexError) as caught:
            ask(HUGE)
        assert len(str(caught.value)) <= 2 * LONGEST_MESSAGE
