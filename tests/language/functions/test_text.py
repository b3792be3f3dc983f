import pytest

from ruledex.language.functions.registry import lookup
from ruledex.language.value_types import Network, Version


def call(name: str, *arguments: object) -> object:
    return lookup(name).call(*arguments)


def test_length_counts_code_points():
    assert call("length", "") == 0
    assert call("length", "é😀") == 2
    assert call("length", "e\u0301") == 2


def test_letters_change_case_by_unicode():
    assert call("lower", "ÀB Σ ΟΔΟΣ") == "àb σ οδος"
    assert call("upper", "straße") == "STRASSE"


def test_trim_takes_spaces_only():
    assert call("trim", "  a b  ") == "a b"
    assert call("trim", "\t a\n") == "\t a\n"
    assert call("trim", "   ") == ""


@pytest.mark.parametrize(
    ("text", "position", "length", "result"),
    [
        ("abcdef", 1, 3, "abc"),
        ("abcdef", 0, 3, "abc"),
        ("abcdef", 5, 9, "ef"),
        ("abcdef", -2, 9, "ef"),
        ("abc", -5, 3, "a"),
        ("abc", -5, 2, ""),
        ("abc", 4, 1, ""),
        ("abc", 2, 0, ""),
        ("abc", 2, -1, ""),
        ("a😀b", 2, 1, "😀"),
        ("abc", 2**31 - 1, 2**31 - 1, ""),
        ("abc", -(2**31), 2**31 - 1, "ab"),
    ],
)
def test_substring_counts_from_one_or_from_the_end(text, position, length, result):
    assert call("substring", text, position, length) == result


def test_substring_without_a_length_goes_to_the_end():
    length = lookup("substring").parameters[2].default
    assert call("substring", "abcdef", 3, length) == "cdef"


def test_positions_of_substring_must_be_whole_numbers_of_32_bits():
    check = lookup("substring").check
    assert check((None, 1, 2**31 - 1)) is None
    for constants in ((None, 1.5, 1), (None, 1, 2**31), (None, None, 1)):
        assert "32 bits" in check(constants)


@pytest.mark.parametrize(
    ("text", "delimiter", "part", "result"),
    [
        ("a.b.c", ".", 1, "a"),
        ("a.b.c", ".", 3, "c"),
        ("a.b.c", ".", -1, "c"),
        ("a.b.c", ".", 4, ""),
        ("a.b.c", ".", -4, ""),
        ("abc", "", 1, "abc"),
        ("abc", "", 2, ""),
        ("", ".", 1, ""),
        ("aXXb", "XX", 2, "b"),
    ],
)
def test_split_part_takes_one_part_or_nothing(text, delimiter, part, result):
    assert call("split_part", text, delimiter, part) == result


def test_the_part_of_split_part_must_be_a_whole_number_other_than_zero():
    check = lookup("split_part").check
    assert check((None, ".", -1)) is None
    for part in (0, 1.0, 2**31, None):
        assert "other than 0" in check((None, ".", part))


def test_concat_joins_two_or_more():
    function = lookup("concat")
    assert function.call("a", "-", "b", "") == "a-b"
    assert [function.accepts(n) for n in (1, 2, 3, 50)] == [False, True, True, True]


def test_a_version_is_read_or_unknown():
    version = lookup("version").call
    assert version("v1.10") == Version("1.10.0")
    assert version("1.9") < version("1.10")
    assert version("latest") is None
    assert version("1" * 5000) is None
    assert version("") is None


def test_an_address_is_read_or_unknown():
    cidr = lookup("cidr").call
    assert cidr("10.1.2.3") == Network("10.1.2.3")
    assert cidr("10.1.2.3/32") == Network("10.1.2.3")
    assert cidr("10.1.2.3/8") is None  # a block is no address
    assert cidr("2001:db8::1") == Network("2001:db8::1")
    assert cidr("10.1.2") is None
    assert cidr("") is None
