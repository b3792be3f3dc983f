"""The values that constants and events are drawn from: few, so that they often meet, and odd."""

from datetime import UTC, date, datetime, timedelta, timezone

from ruledex.language.value import INT64_MAX, INT64_MIN

INTEGERS = [0, 1, -1, 2, 3, 4, 7, -7, 10, 12, 2024, 2**31, 2**53, 2**53 + 1, 2**53 - 1, -(2**53) - 1]
INTEGERS += [INT64_MAX, INT64_MAX - 1, INT64_MAX - 2, INT64_MIN, INT64_MIN + 1, INT64_MIN + 2]

DECIMALS = ["0.000", "1.000", "0.500", "-0.500", "1.500", "2.500", "-2.500", "9.990", "1000000.001", "-1000000.001"]
FINE_DECIMALS = ["0.000001", "-0.000001", "1.500001", "99999999999999.999999", "-99999999999999.999999"]

DOUBLES = [0.0, -0.0, 0.5, -0.5, 1.0, 1.5, 2.5, -2.5, 3.0, 0.1, 0.2, 0.285, 9.99, 1000.125, -1000.125]
WIDE = [float("inf"), float("-inf"), 1e300, -1e300, 5e-324, 2.0**53, 2.0**63, -(2.0**63), 2.0**63 - 1024, 1e15 + 0.5]

STRINGS = ["", "a", "ab", "b", "A", "AB", "abc", "it's", 'say "hi"', "back\\slash", "100%", "a_b", "%", "_", "\\"]
STRINGS += ["''", "\n", "line\nbreak", "tab\t", "\r\n", "é", "e\u0301", "日本", "😀", "ß", "STRASSE", " a ", "nul\0in"]
STRINGS += ["Σς", "a@b@c", "İ", "\u2028"]

PATTERN_PIECES = ["a", "b", "A", "é", "😀", "'", "\n", "%", "%", "_", "\\%", "\\_", "\\\\", "ab", "日", "İ"]
# Where Java and RE2 agree: no `.` and `$` without (?s) and \z, which see line ends differently.
REGEXES = ["a", "^a", r"^\z", "[ab]+", "a|é", "^(ab|A)c?", r"\d", r"\\", r"[^a-z\n]", r"^\w+\z", "(?s)^a.b"]
REGEXES += [r"\s", "日?本", "'", "(?s)^.{3}\\z", "x*"]

GROUPS = [("(a)(b)?", 1), ("(a)(b)?", 2), ("[ab]+", 0), ("(é)|(A+)", 2)]  # of an expression, and one by number

STAMPS = [
    "2024-02-29 10:30",
    "2024-03-10 02:30",
    "2024-11-03 01:30",
    "1999-12-31 23:59",
    "2024-13-01 00:00",
    "soon",
    "",
]
STAMP_PATTERN = "yyyy-MM-dd HH:mm"

DATES = [
    date(2024, 2, 29),
    date(2024, 3, 10),
    date(2024, 11, 3),
    date(1970, 1, 1),
    date(1999, 12, 31),
    date(2024, 3, 1),
]
TIMES = [
    datetime(2024, 2, 29, 10, 30),
    datetime(2024, 3, 10, 2, 30),  # skipped in New York
    datetime(2024, 3, 10, 7, 0),
    datetime(2024, 11, 3, 1, 30),  # twice in New York
    datetime(2024, 11, 3, 5, 30),
    datetime(2024, 11, 3, 6, 30),
    datetime(1969, 12, 31, 23, 59, 59, 999_999),
    datetime(1970, 1, 1),
]
OFFSETS = [None, None, UTC, timezone(timedelta(hours=-5)), timezone(timedelta(hours=5, minutes=30))]
