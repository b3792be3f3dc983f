from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ruledex import limits
from ruledex.errors import RuledexError, RuleLimitError
from ruledex.language.parser import parse


def test_a_changed_limit_is_in_force_until_the_end_of_the_block() -> None:
    before = limits.current()
    message = "over the limit rule_characters of 10"
    with limits.limited(rule_characters=10), pytest.raises(RuleLimitError, match=message):
        parse("a = 1 AND b = 2")
    assert limits.current() == before
    parse("a = 1 AND b = 2")


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
