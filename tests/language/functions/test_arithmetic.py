from decimal import Decimal
from math import inf

import pytest

from ruledex.language.functions.registry import lookup
from ruledex.language.value import INT64_MAX, INT64_MIN


def same(left: object, right: object) -> bool:
    return type(left) is type(right) and left == right


def call(name: str, *arguments: object) -> object:
    return lookup(name).call(*arguments)


@pytest.mark.parametrize(
    ("left", "sign", "right", "result"),
    [
        (2, "+", 3, 5),
        (2, "-", 3, -1),
        (2, "*", 3, 6),
        (Decimal("0.1"), "+", Decimal("0.2"), Decimal("0.3")),
        (1, "-", Decimal("0.9"), Decimal("0.1")),
        (Decimal("1.5"), "*", Decimal("1.5"), Decimal("2.25")),
        (0.1, "+", 0.2, 0.1 + 0.2),
        (0.5, "*", Decimal("0.5"), 0.25),
        (2**53 + 1, "+", 0.0, float(2**53)),
        (1e308, "*", 10, inf),
    ],
)
def test_operations_follow_the_types_of_their_numbers(left, sign, right, result):
    assert same(call(sign, left, right), result)


@pytest.mark.parametrize(
    ("left", "sign", "right"),
    [
        (INT64_MAX, "+", 1),
        (INT64_MIN, "-", 1),
        (2**32, "*", 2**31),
        (inf, "-", inf),
        (0, "*", inf),
        (Decimal(10**37), "*", 10),
        (Decimal("1e-20"), "*", Decimal("1e-20")),
        (Decimal(10**37), "+", Decimal("0.1")),
        (Decimal("Infinity"), "+", 1),
        (Decimal("1e999999"), "%", Decimal("1e-999999")),
        (10**400, "+", Decimal(1)),
    ],
)
def test_a_result_beyond_what_spark_can_hold_is_unknown(left, sign, right):
    assert call(sign, left, right) is None


def test_decimals_have_38_digits_before_and_behind_the_point_together():
    assert call("+", Decimal("9" * 37), Decimal("0.9")) == Decimal("9" * 37 + ".9")
    assert call("+", Decimal("9" * 37), Decimal("0.99")) is None
    assert call("*", Decimal("1e-19"), Decimal("1e-19")) == Decimal("1e-38")
    assert call("+", Decimal("0E+500"), Decimal("0.10")) == Decimal("0.1")


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        (7, 4, 3),
        (-7, 4, -3),
        (7, -4, 3),
        (-7, -4, -3),
        (Decimal("-7.5"), 2, Decimal("-1.5")),
        (-7.5, 2, -1.5),
        (7, inf, 7.0),
        (INT64_MIN, -1, 0),
        (10**18 + 7, 10, 7),
    ],
)
def test_a_remainder_has_the_sign_of_the_dividend(left, right, result):
    assert same(call("%", left, right), result)


def test_division_gives_a_double_whatever_the_numbers_are():
    assert same(call("/", 6, 3), 2.0)
    assert same(call("/", Decimal(1), Decimal(3)), 1 / 3)
    assert same(call("/", 1, inf), 0.0)


@pytest.mark.parametrize("sign", ["/", "%"])
@pytest.mark.parametrize("zero", [0, 0.0, -0.0, Decimal("0.00")])
def test_division_by_zero_is_unknown(sign, zero):
    assert call(sign, 1, zero) is None
    assert call(sign, 1.5, zero) is None
    assert call(sign, Decimal("1.5"), zero) is None


def test_a_decimal_below_all_doubles_divides_a_double_as_zero_does():
    assert call("/", 1.0, Decimal("1e-400")) is None
    assert call("%", 1.0, Decimal("1e-400")) is None


def test_signs_change_and_go_within_64_bits():
    assert same(call("negative", 5), -5)
    assert same(call("negative", Decimal("-2.5")), Decimal("2.5"))
    assert str(call("negative", 0.0)) == "0.0"
    assert call("negative", INT64_MIN) is None
    assert same(call("abs", -5), 5)
    assert same(call("abs", -inf), inf)
    assert same(call("abs", Decimal("-" + "1" * 38)), Decimal("1" * 38))
    assert call("abs", INT64_MIN) is None


@pytest.mark.parametrize(
    ("value", "digits", "result"),
    [
        (2.5, 0, 3.0),
        (-2.5, 0, -3.0),
        (0.285, 2, 0.29),
        (1.005, 2, 1.01),
        (1e300, 38, 1e300),
        (inf, 2, inf),
        (1234.5, -2, 1200.0),
        (Decimal("2.5"), 0, Decimal("3")),
        (Decimal("-2.345"), 2, Decimal("-2.35")),
        (Decimal("12"), 5, Decimal("12")),
        (15, -1, 20),
        (-15, -1, -20),
        (15, 3, 15),
        (4, -1, 0),
        (4, -38, 0),
        (INT64_MAX, -1, None),
        (Decimal("9" * 38), -1, None),
    ],
)
def test_rounding_is_half_away_from_zero_of_the_number_as_written(value, digits, result):
    assert same(call("round", value, digits), result)


def test_rounding_never_gives_a_negative_zero():
    assert str(call("round", -0.4, 0)) == "0.0"


@pytest.mark.parametrize(
    ("value", "below", "above"),
    [
        (2.5, 2, 3),
        (-2.5, -3, -2),
        (7, 7, 7),
        (Decimal("-0.5"), Decimal("-1"), Decimal("0")),
        (Decimal("1e20"), Decimal("1e20"), Decimal("1e20")),
        (Decimal("9" * 38), Decimal("9" * 38), Decimal("9" * 38)),
        (1e300, None, None),
        (2.0**63, None, None),
        (inf, None, None),
        (-inf, None, None),
        (2**64, None, None),
    ],
)
def test_floor_and_ceil_give_whole_numbers(value, below, above):
    assert same(call("floor", value), below)
    assert same(call("ceil", value), above)


def test_digits_of_round_must_be_whole_and_within_a_decimal():
    check = lookup("round").check
    assert check((None, 38)) is None
    assert check((None, -38)) is None
    for digits in (39, -39, 1.0, Decimal(1), None):
        assert "whole number" in check((None, digits))
