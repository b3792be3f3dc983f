from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ruledex import Index, limits
from ruledex.errors import RuledexError, RuleLimitError
from ruledex.language.parser import parse


def test_a_changed_limit_is_in_force_until_the_end_of_the_block() -> None:
    before = limits.current()
    message = "over the limit rule_characters of 10"
    with limits.limited(rule_characters=10), pytest.raises(RuleLimitError, match=message):
        parse("a = 1 AND b = 2")
    assert limits.current() == before
    parse("a = 1 AND b = 2")


def test_the_length_of_a_rule_is_limited_however_it_is_read() -> None:
    rules = [(1, "a = 1"), (2, "age >= 18 AND country = 'IN'"), (3, "b = 'ÄÖÜ'")]
    with limits.limited(rule_characters=10):
        index = Index.build(rules, on_error="skip")
    assert [fault.rule_id for fault in index.faults] == [2]
    assert "limit rule_characters of 10" in str(index.faults[0])


@pytest.mark.parametrize(
    "changes",
    [
        {"no_such_limit": 1},
        {"rule_characters": 0},
        {"rule_characters": -1},
        {"rule_characters": 1.5},
        {"rule_characters": True},
    ],
)
def test_a_limit_that_does_not_exist_or_is_no_count_is_refused(changes: dict[str, int]) -> None:
    with pytest.raises(RuledexError, match="limit"):
        limits.set_limits(**changes)


@pytest.mark.parametrize(
    ("given", "shown"),
    [("12", "12"), ("many", "is a whole number of at least 1, not 'many'"), ("0", "at least 1"), ("", "not ''")],
)
def test_the_environment_sets_a_limit(given: str, shown: str) -> None:
    code = "from ruledex.limits import current; print(current().rule_characters)"
    environment = os.environ | {"RULEDEX_LIMIT_RULE_CHARACTERS": given}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert shown in ran.stdout + ran.stderr
