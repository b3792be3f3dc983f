"""RE2's programs: one that is too large is refused when it is parsed, and those kept are bounded by bytes."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest

from ruledex import limits
from ruledex.errors import PatternError, RuleLimitError
from ruledex.language import regex as programs
from ruledex.language.parser import parse
from ruledex.language.pattern import has_match

MEGABYTE = 1024 * 1024

# Each is a Python expression: expanded, some are too long for a command line.
HOSTILE = {
    "nested groups": "'(' * 20_000 + 'a' + ')' * 20_000",
    "nested groups within RE2's depth": "('(' * 900 + 'a' + ')' * 900) * 20",
    "groups side by side": "'(a)?' * 10_000",
    "counted groups": "'(.?){1000}' * 10",
    "many counted groups": "'(a?){100}' * 900",
    "nested counts": "'(((.?){10}){10}){10}' * 10",
    "counts that unroll to nothing": "'(?:){1000}' * 800",
    "classes of Unicode": "r'\\pL' * 2000",
    "a counted class of Unicode": "r'(\\pL?){1000}'",
    "alternatives": "'|'.join(f'({i}a|b{i})' for i in range(4000))",
    "folded case": "'(?i)' + 'ks' * 4000",
}


def run_limited(code: str, megabytes: int, seconds: int, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python under hard limits of address space and CPU time."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * MEGABYTE, megabytes * MEGABYTE))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment | {"OPENBLAS_NUM_THREADS": "1"},
        preexec_fn=limit,
    )


ASK = """
from ruledex.errors import RuleError
from ruledex.dictionary.patterns import PatternMatcher
from ruledex.language.parser import parse
for pattern in ({patterns}):
    try:
        predicate = parse("x RLIKE r'" + pattern + "'")
    except RuleError:
        continue
    matcher = PatternMatcher([(predicate, 1)])
    for text in ("a" * 2000, "ab" * 1000, "é" * 1000):
        matcher.cells(text)
print("answered or refused")
"""


@pytest.mark.parametrize("characters", ["8192", "100000"], ids=["by default", "whatever its length"])
def test_no_pattern_takes_much_memory_or_time(characters: str) -> None:
    code = ASK.format(patterns=", ".join(HOSTILE.values()))
    ran = run_limited(code, 1200, 20, RULEDEX_LIMIT_PATTERN_CHARACTERS=characters)
    assert "answered or refused" in ran.stdout, ran.stderr[-2000:]


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("a" * 10_000, "pattern_characters"),
        ("(.?){1000}" * 5, "pattern_instructions"),
        ("(.?){1000}" * 10, "pattern_bytes"),
        ("x{0,1000}" * 50, "pattern_instructions"),
        ("(((.?){10}){10}){10}" * 5, "pattern_instructions"),
        (r"\pL{900}", "pattern_bytes"),
        (r"\pL" * 2000, "pattern_bytes"),
    ],
)
def test_a_pattern_over_a_limit_is_refused_by_the_limits_name_and_where_it_stands(pattern: str, name: str) -> None:
    with pytest.raises(RuleLimitError, match=f"over the limit {name}|than the limit {name}") as caught:
        parse(f"a = 1 AND x RLIKE r'{pattern}'")
    assert caught.value.position == len("a = 1 AND x RLIKE ")


def test_a_limit_can_be_changed_and_holds_for_patterns_that_were_read_before() -> None:
    rule = "x RLIKE r'ab{200}'"
    parse(rule)
    with limits.limited(pattern_instructions=100), pytest.raises(RuleLimitError, match="pattern_instructions of 100"):
        parse(rule)
    with limits.limited(pattern_bytes=1000), pytest.raises(RuleLimitError, match="pattern_bytes of 1,000"):
        parse(rule)
    with limits.limited(pattern_instructions=100_000, pattern_bytes=16 * MEGABYTE):
        parse("x RLIKE r'" + "(.?){1000}" * 10 + "'")
    parse(rule)


def test_what_re2_refuses_is_not_called_a_limit() -> None:
    for pattern in ("(", "a{1001}", "(x{1000}){1000}", r"a\\C\\8"):
        with pytest.raises(PatternError, match="RE2 refuses"):
            parse(f"x RLIKE '{pattern}'")


def test_a_hexadecimal_number_is_no_count() -> None:
    parse("x RLIKE r'" + r"\x{1000}" * 30 + "'")


def test_a_checked_pattern_can_be_asked_under_any_later_limit() -> None:
    regex = "a.{500}b"
    programs.check_regex(regex)
    programs._kept.pop(regex)
    with limits.limited(pattern_bytes=1, pattern_instructions=1):
        assert has_match("a" + "x" * 500 + "b", regex)


def test_compiled_patterns_are_kept_within_the_bytes_of_their_limit() -> None:
    with limits.limited(compiled_patterns_bytes=2 * MEGABYTE):
        for i in range(200):
            assert has_match(f"x{i}", f"x{i}$")
            assert programs.kept_bytes() <= 2 * MEGABYTE
        assert 0 < len(programs._kept) < 200


def test_patterns_asked_in_turn_are_not_all_compiled_again_when_more_are_asked_than_are_kept() -> None:
    regexes = [f"turn{i}[ab]" for i in range(40)]
    with limits.limited(compiled_patterns_bytes=3 * MEGABYTE):  # some twenty
        n_known = 0
        for _ in range(10):
            for regex in regexes:
                n_known += regex in programs._kept
                programs.compile_regex(regex)
        assert n_known > 60


FILL = """
import random
from ruledex.language.pattern import has_match
text = "".join(random.Random(1).choices("ab", k=40_000))
for i in range(300):
    has_match(text, f"(a|b)*a(a|b){{14}}c{i}")
print("done")
"""


def test_memory_that_programs_take_as_they_run_is_bounded() -> None:
    ran = run_limited(FILL, 450, 60, RULEDEX_LIMIT_COMPILED_PATTERNS_BYTES=str(32 * MEGABYTE))
    assert "done" in ran.stdout, ran.stderr[-2000:]
