from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from ruledex import limits
from ruledex.errors import RuleError
from ruledex.language.functions.time_texts import PatternRefusedError, compile_pattern
from ruledex.language.parser import parse

NEW_YORK = ZoneInfo("America/New_York")


def read(pattern: str, text: str) -> datetime | None:
    return compile_pattern(pattern).read(text, UTC)


@pytest.mark.parametrize(
    ("pattern", "text", "parts"),
    [
        ("yyyy-MM-dd", "2024-02-29", (2024, 2, 29)),
        ("yyyyMMdd", "20240229", (2024, 2, 29)),
        ("d.M.yy", "9.2.24", (2024, 2, 9)),
        ("d MMM yyyy", "9 FEB 2024", (2024, 2, 9)),
        ("MMMM d, yyyy", "september 9, 2024", (2024, 9, 9)),
        ("yyyy-MM-dd'T'HH:mm:ss", "2024-02-29t01:02:03", (2024, 2, 29, 1, 2, 3)),
        ("h:m a", "12:5 am", (1970, 1, 1, 0, 5)),
        ("hh:mm a", "12:05 PM", (1970, 1, 1, 12, 5)),
        ("H:m:s.SSS", "1:2:3.5", (1970, 1, 1, 1, 2, 3, 500_000)),
        ("H:m:s.SSSSSSSSS", "1:2:3.123456789", (1970, 1, 1, 1, 2, 3, 123_456)),
        ("yyyy-MM-dd HH:mm Z", "2024-01-01 00:30 +0100", (2023, 12, 31, 23, 30)),
        ("yyyy-MM-dd HH:mm XXX", "2024-01-01 00:30 -05:30", (2024, 1, 1, 6)),
        ("yyyy HHX", "2024 12Z", (2024, 1, 1, 12)),
        ("yyyy HHX", "2024 12+0130", (2024, 1, 1, 10, 30)),
        ("yyyy 'o''clock' ''", "2024 o'clock '", (2024, 1, 1)),
    ],
)
def test_a_text_in_the_form_of_the_pattern_is_a_time(pattern, text, parts):
    assert read(pattern, text) == datetime(*parts, tzinfo=UTC)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy-MM-dd", "2023-02-29"),
        ("yyyy-MM-dd", "0000-01-01"),
        ("yyyy-MM-dd", "2024-1-1"),
        ("yyyy-MM-dd", "2024-01-01 "),
        ("yyyy-MM-dd", "２０２４-01-01"),
        ("HH:mm", "24:00"),
        ("h a", "0 AM"),
        ("h a", "13 AM"),
        ("H", "9999999999999999999"),
        ("ss.SSS", "01.1234"),
        ("HH:mm XXX", "00:30 +0100"),
        ("HH:mm XX", "00:30 +18:01"),
        ("HH:mm XX", "00:30 +1801"),
        ("HH:mm Z", "00:30 Z"),
        ("yyyy-MM-dd HHX", "0001-01-01 00+18"),
    ],
)
def test_any_other_text_is_unknown(pattern, text):
    assert read(pattern, text) is None


def test_an_hour_that_the_clock_skips_is_the_one_after_it():
    moment = compile_pattern("yyyy-MM-dd HH:mm").read("2024-03-10 02:30", NEW_YORK)
    assert (moment.hour, moment.minute, moment.utcoffset().total_seconds()) == (3, 30, -4 * 3600)


def test_an_hour_that_the_clock_repeats_is_the_first_of_the_two():
    moment = compile_pattern("yyyy-MM-dd HH:mm").read("2024-11-03 01:30", NEW_YORK)
    assert (moment.hour, moment.fold) == (1, 0)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("yyyy-MM-dd EEE", "'EEE'"),
        ("yyyyy", "'yyyyy'"),
        ("y", "'y'"),
        ("HH:mm:ss.SSSSSSSSSS", "'SSSSSSSSSS'"),
        ("yyyy-MM-dd['T'HH]", r"'\['"),
        ("yyyy#", "'#'"),
        ("yyyy'T", '"\'"'),
        ("yyyy5", "'5'"),
        ("yyyy'5'", '"\'"'),
        ("yyyyMd", "needs a sign"),
        ("ddM", "needs a sign"),
        ("HHmmssSSS", "needs a sign"),
        ("yyyy yyyy", "each once"),
        ("yyyy yy", "each once"),
        ("'only text'", "must name fields"),
        ("", "must name fields"),
        ("hh:mm", "h together with a"),
        ("HH:mm a", "h together with a"),
        ("HH hh a", "h together with a"),
    ],
)
def test_a_pattern_that_is_not_covered_is_refused(pattern, reason):
    with pytest.raises(PatternRefusedError, match=reason):
        compile_pattern(pattern)


def test_a_pattern_is_compiled_once():
    assert compile_pattern("yyyy/MM/dd") is compile_pattern("yyyy/MM/dd")


def test_a_pattern_over_the_limit_is_refused_when_it_is_parsed() -> None:
    long = "yyyy" + "-" * 1000
    with pytest.raises(RuleError, match="over the limit time_pattern_characters of 200") as caught:
        parse(f"to_date(x, '{long}') = DATE '2024-01-01'")
    assert len(caught.value.message) < 200
    with limits.limited(time_pattern_characters=2000):
        parse(f"to_date(x, '{long}') = DATE '2024-01-01'")
