"""The parser: every operator, how tightly it binds, what is refused, and the error messages."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from ruledex.errors import PatternError, RuleError, RuleLimitError, RuleSyntaxError, RuleTypeError
from ruledex.language.parser import parse, parse_operand
from ruledex.language.text import tree_text
from ruledex.language.tree import (
    MAX_DEPTH,
    And,
    Attribute,
    Between,
    Call,
    Compare,
    CompareOperands,
    In,
    Is,
    IsNull,
    Like,
    Not,
    NullSafe,
    Or,
    Rlike,
    SetTest,
    Truth,
    Xnor,
    Xor,
    depth_of,
)
from ruledex.language.value import INT64_MIN
from ruledex.language.value_types import Version
from ruledex.limits import Limits

A, B, C, D = (Attribute((name,)) for name in "abcd")
P, Q, R, S = (Compare(name, "=", True) for name in (A, B, C, D))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a = 1", Compare(A, "=", 1)),
        ("a == 1", Compare(A, "=", 1)),
        ("a != 1", Not(Compare(A, "=", 1))),
        ("a <> 1", Not(Compare(A, "=", 1))),
        ("a < 1", Compare(A, "<", 1)),
        ("a <= 1", Compare(A, "<=", 1)),
        ("a > 1", Compare(A, ">", 1)),
        ("a >= 1", Compare(A, ">=", 1)),
        ("a <=> 1", NullSafe(A, 1)),
        ("a <=> NULL", IsNull(A)),
        ("a = NULL", Truth(None)),
        ("a IN (1, 2)", In(A, (1, 2))),
        ("a IN (1, NULL)", In(A, (1,), (), True)),
        ("a IN (NULL)", Truth(None)),
        ("a NOT IN ('x')", Not(In(A, ("x",)))),
        ("a BETWEEN 1 AND 2.5", Between(A, 1, Decimal("2.5"))),
        ("a NOT BETWEEN 1 AND 2", Not(Between(A, 1, 2))),
        ("a LIKE 'x%'", Like(A, ("x%",))),
        ("a NOT LIKE 'x%'", Not(Like(A, ("x%",)))),
        ("a ILIKE 'x%'", Like(A, ("x%",), False, True)),
        ("a LIKE ANY ('x', 'y')", Like(A, ("x", "y"))),
        ("a LIKE SOME ('x', 'y')", Like(A, ("x", "y"))),
        ("a LIKE ALL ('x', 'y')", Like(A, ("x", "y"), True)),
        ("a NOT LIKE ALL ('x', 'y')", Not(Like(A, ("x", "y")))),
        ("a NOT LIKE ANY ('x', 'y')", Not(Like(A, ("x", "y"), True))),
        ("a ILIKE ALL ('x', 'y')", Like(A, ("x", "y"), True, True)),
        ("a LIKE '10!%' ESCAPE '!'", Like(A, (r"10\%",))),
        ("a RLIKE '^x'", Rlike(A, "^x")),
        ("a REGEXP '^x'", Rlike(A, "^x")),
        ("a NOT RLIKE '^x'", Not(Rlike(A, "^x"))),
        ("a IS NULL", IsNull(A)),
        ("a IS NOT NULL", Not(IsNull(A))),
        ("a IS TRUE", Is(P, True)),
        ("a IS NOT FALSE", Not(Is(P, False))),
        ("a IS UNKNOWN", Is(P, None)),
        ("a IS NULL IS NOT TRUE", Not(Is(IsNull(A), True))),
        ("(a OR a) IS TRUE", Is(Or((P, P)), True)),
        ("NOT a IS TRUE", Not(Is(P, True))),
        ("a", P),
        ("a = TRUE", P),
        ("NOT a", Not(P)),
        ("! a", Not(P)),
        ("a AND b", And((P, Q))),
        ("a OR b", Or((P, Q))),
        ("a XOR b", Xor((P, Q))),
        ("a XNOR b", Xnor((P, Q))),
        ("TRUE", Truth(True)),
        ("FALSE", Truth(False)),
        ("NULL", Truth(None)),
        ("a = b", CompareOperands(A, "=", B)),
        ("a != b", Not(CompareOperands(A, "=", B))),
        ("a <=> b", CompareOperands(A, "<=>", B)),
        ("subset_of(a, 1, 2)", SetTest(A, "subset_of", (1, 2))),
        ("superset_of(a, 'x')", SetTest(A, "superset_of", ("x",))),
        ("SET_EQUALS(a, 1)", SetTest(A, "set_equals", (1,))),
        ("a % 4 = 1", Compare(Call("%", (A, 4)), "=", 1)),
        ("-a = 1", Compare(Call("negative", (A,)), "=", 1)),
        ("lower(a) = 'x'", Compare(Call("lower", (A,)), "=", "x")),
        ("version(a) < '4.10'", Compare(Call("version", (A,)), "<", Version("4.10"))),
        ("a = -9223372036854775808", Compare(A, "=", INT64_MIN)),
        ("a = +5", Compare(A, "=", 5)),
        ("a = 1.5D", Compare(A, "=", 1.5)),
        ("a = DATE '2024-02-29'", Compare(A, "=", date(2024, 2, 29))),
        ("a = TIMESTAMP '2024-02-29 10:30:00Z'", Compare(A, "=", datetime(2024, 2, 29, 10, 30, tzinfo=UTC))),
        ("a = TIMESTAMP '2024-02-29'", Compare(A, "=", datetime(2024, 2, 29))),
        ("year(a) = 2024", Compare(Call("year", (A,)), "=", 2024)),
        ("date(a) = '2024-02-29'", Compare(Call("date", (A,)), "=", date(2024, 2, 29))),
    ],
)
def test_every_operator_has_its_tree(text, tree):
    assert parse(text) == tree


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("5 < age", "age > 5"),
        ("5 <= age", "age >= 5"),
        ("5 > age", "age < 5"),
        ("5 >= age", "age <= 5"),
        ("5 = age", "age = 5"),
        ("'x' != name", "name != 'x'"),
        ("5 <=> age", "age <=> 5"),
        ("NULL <=> age", "age IS NULL"),
        ("10 < age % 20", "age % 20 > 10"),
    ],
)
def test_a_constant_may_stand_at_either_side(text, same):
    assert parse(text) == parse(same)


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("1 < 2", True),
        ("'a' = 'b'", False),
        ("1 = 1.0", True),
        ("9007199254740993 = 9007199254740992", False),
        ("NULL = 1", None),
        ("NULL <=> NULL", True),
        ("1 <=> NULL", False),
        ("2 + 3 * 4 = 14", True),
        ("5 IN (1, 5)", True),
        ("5 IN (1, NULL)", None),
        ("1 IS NULL", False),
        ("NULL IS NULL", True),
        ("length('abc') = 3", True),
        ("1 / 0 = 1", None),
        ("DATE '2024-01-01' < TIMESTAMP '2024-01-01 00:00:01'", True),
    ],
)
def test_constants_at_both_sides_are_folded(text, truth):
    assert parse(text) == Truth(truth)


@pytest.mark.parametrize("wrapped", ["({})", "(({}))", "( ( {} ) )", "(/* a */({}) -- b\n)"])
@pytest.mark.parametrize("constant", ["1", "-1", "9223372036854775808", "-2.5", "1e3", "'a'", "r'a'", "NULL", "1^2"])
@pytest.mark.parametrize(
    "rule",
    [
        *("x = {}", "{} = x", "x != {}", "{} < x", "x <=> {}", "x IN ({})", "x IN ({}, {})", "x NOT IN ({})"),
        *("x BETWEEN {} AND {}", "x LIKE {}", "x NOT ILIKE {}", "x LIKE ANY ({}, {})", "x RLIKE {}", "x + {} > {}"),
        "y = 1 AND (x IN ({})) OR z = 2",
    ],
)
def test_parentheses_around_a_constant_change_nothing(rule, constant, wrapped):
    plain = rule.replace("{}", constant)
    in_parentheses = rule.replace("{}", wrapped.replace("{}", constant))
    try:
        expected = parse(plain)
    except RuleError as error:
        with pytest.raises(type(error)):
            parse(in_parentheses)
    else:
        assert parse(in_parentheses) == expected


@pytest.mark.parametrize("number", ["-(1)", "-((1))", "(-(1))", "-(+(1))", "- - -1", "+(-1)", "-(-(-(1)))"])
def test_signs_stand_before_parentheses_too(number):
    for rule in ("x = {}", "x IN (2, {})", "x BETWEEN {} AND 7", "x BETWEEN -7 AND {}"):
        assert parse(rule.format(number)) == parse(rule.format("-1"))


@pytest.mark.parametrize("text", ["x IN ((1, 2))", "x IN (())", "x IN ((y))", "x BETWEEN (1 AND 3)", "x LIKE (('a')"])
def test_parentheses_around_anything_else_than_one_constant_are_refused(text):
    with pytest.raises(RuleSyntaxError):
        parse(text)


def test_a_hundred_thousand_parentheses_around_a_constant_are_read():
    n = 100_000
    assert parse(f"x IN ({'(' * n}1{')' * n})") == parse("x IN (1)")


def test_a_bound_of_null_leaves_the_other_bound():
    assert parse("a BETWEEN NULL AND 5") == And((Truth(None), Compare(A, "<=", 5)))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a OR b AND c", Or((P, And((Q, R))))),
        ("a AND b OR c", Or((And((P, Q)), R))),
        ("a XOR b AND c", Xor((P, And((Q, R))))),
        ("a OR b XOR c", Or((P, Xor((Q, R))))),
        ("NOT a AND b", And((Not(P), Q))),
        ("NOT (a AND b)", Not(And((P, Q)))),
        ("NOT NOT a", Not(Not(P))),
        ("a XOR b XNOR c XNOR d", Xnor((Xor((P, Q)), R, S))),
        ("a XOR (b XOR c)", Xor((P, Xor((Q, R))))),
        ("(a AND b) AND c", And((And((P, Q)), R))),
        ("a AND b AND c AND d", And((P, Q, R, S))),
        ("NOT a = b", Not(CompareOperands(A, "=", B))),
        ("a + b * c < d", CompareOperands(Call("+", (A, Call("*", (B, C)))), "<", D)),
        ("(a + b) * c < d", CompareOperands(Call("*", (Call("+", (A, B)), C)), "<", D)),
        ("a - b - c < d", CompareOperands(Call("-", (Call("-", (A, B)), C)), "<", D)),
        ("-a % 4 = 1", Compare(Call("%", (Call("negative", (A,)), 4)), "=", 1)),
        ("a BETWEEN 1 AND 2 AND b", And((Between(A, 1, 2), Q))),
        ("a NOT IN (1) OR b", Or((Not(In(A, (1,))), Q))),
    ],
)
def test_operators_bind_as_in_sql_with_xor_between_and_and_or(text, tree):
    assert parse(text) == tree


def test_keywords_and_functions_are_read_in_any_case_and_names_are_not():
    assert parse("a in (1) aNd lOwEr(b) Like 'x'") == parse("a IN (1) AND lower(b) LIKE 'x'")
    assert parse("A = 1") != parse("a = 1")


def test_paths_are_dotted_or_in_backticks():
    assert parse_operand("device.os") == Attribute(("device", "os"))
    assert parse_operand("`device.os`") == Attribute(("device.os",))
    assert parse_operand("a . `b c` . `and`") == Attribute(("a", "b c", "and"))
    assert parse_operand("a.and") == Attribute(("a", "and"))


def test_comments_stand_anywhere_between_words():
    assert parse("-- who\na /* is */ = -- what\n 1 -- end") == parse("a = 1")


def test_functions_have_aliases_and_defaults():
    assert parse("char_length(a) = 3") == parse("length(a) = 3")


def test_bytes_are_read_as_utf_8():
    assert parse("naïve = 'é'".encode()) == parse("naïve = 'é'")


def test_positions_count_characters_from_the_start_of_each_predicate():
    tree = parse("é = 1 AND (b OR 5 < lower.c) AND NOT d IN (2)")
    first, either, negated = tree.children
    assert first.position == 0
    assert [child.position for child in either.children] == [11, 16]
    assert negated.child.position == 37


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("a = 1^2.5", [2.5]),
        ("(a > 1)^2", [2.0]),
        ("((a > 1)^2)^3", [6.0]),
        ("a^3", [3.0]),
        ("a BETWEEN 1 AND 2 AND (b BETWEEN 1 AND 2)^4", [1.0, 4.0]),
        ("a LIKE 'x'^2", [2.0]),
        ("(a < b)^2", [2.0]),
        ("subset_of(a, 1)^2", [2.0]),
        ("a = 1^0", [0.0]),
        ("a != 1^5", [5.0]),
    ],
)
def test_weights_stand_behind_values_and_predicates(text, weights):
    tree = parse(text)
    leaves = tree.children if isinstance(tree, And) else (tree.child if isinstance(tree, Not) else tree,)
    assert [leaf.weight for leaf in leaves] == weights


def test_a_list_has_a_weight_for_each_value():
    assert parse("a IN ('CA'^3, 'NY')").weights == (3.0, 1.0)
    assert parse("(a IN ('CA'^3, 'NY'))^2").weights == (6.0, 2.0)
    assert parse("a IN ('CA', 'NY')").weights == ()


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", RuleSyntaxError, "the rule ends here, expected an attribute"),
        ("   ", RuleSyntaxError, "the rule ends here"),
        ("a =", RuleSyntaxError, "the rule ends here, expected"),
        ("a = 1 b", RuleSyntaxError, "found 'b', expected an operator"),
        ("a BETWEN 1 AND 2", RuleSyntaxError, "did you mean BETWEEN?"),
        ("a NOT LIK 'x'", RuleSyntaxError, "did you mean LIKE?"),
        ("a IS NUL", RuleSyntaxError, "did you mean NULL?"),
        ("a IS UNKNOWM", RuleSyntaxError, "did you mean UNKNOWN?"),
        ("lower(a) IS TRUE", RuleTypeError, "not a condition"),
        ("(@a)^2", RuleSyntaxError, "takes no weight"),
        ("a BETWEEN 1 OR 2", RuleSyntaxError, "found 'OR', expected AND"),
        ("lowr(a) = 'x'", RuleSyntaxError, "there is no function lowr; did you mean lower?"),
        ("subset_off(a, 1)", RuleSyntaxError, "did you mean subset_of?"),
        ("nothing_like_it(a) = 1", RuleSyntaxError, "there is no function nothing_like_it\n"),
        ("substring(a) = 'x'", RuleSyntaxError, "takes 2 or 3 argument(s), not 1"),
        ("lower() = 'x'", RuleSyntaxError, "lower() needs at least one argument"),
        ("(a = 1", RuleSyntaxError, "this parenthesis is never closed"),
        ("a = 1)", RuleSyntaxError, "this parenthesis was never opened"),
        ("lower(a = 'x'", RuleSyntaxError, "this parenthesis is never closed"),
        ("a IN ()", RuleSyntaxError, "only a constant is allowed here"),
        ("a IN (b)", RuleSyntaxError, "write a string in quotes: 'b'"),
        ("a IN 1", RuleSyntaxError, "found '1', expected ("),
        ("a IN (1", RuleSyntaxError, "the rule ends here, expected a comma"),
        ("a, b", RuleSyntaxError, "found ',', expected"),
        ("a. = 1", RuleSyntaxError, "expected a name after the dot"),
        ("AND a", RuleSyntaxError, "found 'AND', expected an attribute"),
        ("a = 5AND b = 6", RuleSyntaxError, "this is not a number"),
        ("a = DATE '2024-02-30'", RuleSyntaxError, "'2024-02-30' is not a date; write DATE '2024-12-31'"),
        ("5", RuleTypeError, "a constant is not a condition"),
        ("lower(a)", RuleTypeError, "lower() gives a string, not a condition"),
        ("a IN (1, 'x')", RuleTypeError, "a list has values of one type"),
        ("a BETWEEN 1 AND 'x'", RuleTypeError, "a list has values of one type"),
        ("length(a) = 'x'", RuleTypeError, "length() gives a number, and this is a string"),
        ("a % 2 = 'x'", RuleTypeError, "%() gives a number, and this is a string"),
        ("lower(a % 2) = 'x'", RuleTypeError, "lower() takes a string"),
        ("1 = 'x'", RuleTypeError, "a number and a string never compare"),
        ("(a = 1) = (b = 2)", RuleTypeError, "a condition cannot be compared"),
        ("version(a) < 'soon'", RuleTypeError, "'soon' is not a version"),
        ("cidr(a) = '10.0.0.300'", RuleTypeError, "is not an address"),
        ("cidr(a) < '10.0.0.0/8'", RuleTypeError, "networks have no order"),
        ("lower(a) < length(b)", RuleTypeError, "they never compare"),
        ("a LIKE 5", RuleTypeError, "a LIKE pattern is a string"),
        ("length(a) LIKE 'x'", RuleTypeError, "LIKE compares strings"),
        ("a LIKE 'x\\\\'", PatternError, "the escape '\\\\' is at the end"),
        ("a LIKE 'x!y' ESCAPE '!'", PatternError, "is before 'y'"),
        ("a LIKE 'x' ESCAPE 'ab'", RuleSyntaxError, "ESCAPE takes one character"),
        ("a RLIKE '('", PatternError, "RE2 refuses this regular expression: missing )"),
        (r"a RLIKE '(x)\\1'", PatternError, "RE2 refuses"),
        ("a RLIKE '(?=x)'", PatternError, "RE2 refuses"),
        ("a RLIKE '(x{1000}){1000}'", PatternError, "RE2 refuses"),
        ("a = 1^-2", RuleSyntaxError, "a weight is not negative"),
        ("a = 1^1e400", RuleSyntaxError, "too large"),
        ("a = 1^1e301", RuleSyntaxError, "a weight is finite"),
        ("a = 1^x", RuleSyntaxError, "expected a weight, such as ^2.5"),
        ("(a = 1 AND b = 2)^2", RuleSyntaxError, "this takes no weight"),
        ("(NOT (a OR b))^2", RuleSyntaxError, "this takes no weight"),
        ("TRUE^2", RuleSyntaxError, "take no weight"),
        ("a BETWEEN 1^2 AND 3", RuleSyntaxError, "a bound takes no weight"),
        ("a > 1 ^ 2 ^ 3", RuleSyntaxError, "a weight is not allowed here"),
        ("round(a, b) = 1", RuleTypeError, "the digits of round() must be a constant"),
        ("round(a, 99) = 1", RuleTypeError, "the digits of round must be"),
    ],
)
def test_what_is_not_a_rule_is_refused_with_what_was_found_and_what_would_be_right(text, error, message):
    with pytest.raises(error) as caught:
        parse(text)
    assert message in str(caught.value)


def test_an_error_shows_the_line_with_a_caret_below_the_fault():
    with pytest.raises(RuleSyntaxError) as caught:
        parse("a = 1\nAND b BETWEN 2 AND 3\nAND c")
    assert (caught.value.line, caught.value.column, caught.value.code) == (2, 7, "syntax")
    assert str(caught.value).splitlines() == [
        "line 2, column 7: found 'BETWEN', expected an operator such as AND, = or IN; did you mean BETWEEN?",
        "    AND b BETWEN 2 AND 3",
        "          ^",
    ]


def test_of_a_long_line_the_error_shows_the_part_around_the_fault():
    with pytest.raises(RuleSyntaxError) as caught:
        parse("a = 1 AND " * 1000 + "b BETWEN 2" + " AND c = 1" * 1000)
    _, shown, caret = str(caught.value).splitlines()
    assert len(shown) < 120
    assert shown[caret.index("^") :].startswith("BETWEN")


@pytest.mark.parametrize("n", [120, 254, 300, 1_000, 20_000])
@pytest.mark.parametrize(
    "nested",
    [
        lambda n: f"a{'[1]' * n} = 3",
        lambda n: f"a{'[1].b' * n} = 3",
        lambda n: f"a{'::INT' * n} = 3",
        lambda n: f"{'CAST(' * n}a{' AS INT)' * n} = 3",
        lambda n: f"{'element_at(' * n}a{', 1)' * n} = 3",
        lambda n: f"{'lower(' * n}a{')' * n} = 'x'",
        lambda n: f"{'size(filter(' * n}a{', i -> TRUE))' * n} = 3",
        lambda n: f"{'(' * n}a = 1{') IS TRUE' * n}",
        lambda n: f"(a = 1){' IS NOT TRUE' * n}",
        lambda n: f"now(){' - INTERVAL 1 DAY' * n} > a",
    ],
)
def test_operands_nest_as_deep_as_the_limit_and_no_deeper(nested, n):
    try:
        tree = parse(nested(n))
    except RuleError:
        return
    assert parse(tree_text(tree)) == tree
    assert depth_of(tree) <= MAX_DEPTH


def test_ten_thousand_parentheses_are_read_and_nesting_past_the_limit_is_refused():
    assert parse("(" * 10_000 + "a = 1" + ")" * 10_000) == parse("a = 1")
    assert parse("(" * 10_000 + "lower(a) = 'x'" + ")" * 10_000) == parse("lower(a) = 'x'")
    with pytest.raises(RuleSyntaxError, match="the rule ends here"):
        parse("(" * 10_000)
    with pytest.raises(RuleSyntaxError, match="never closed"):
        parse("(" * 10_000 + "a")
    with pytest.raises(RuleLimitError, match=f"over the limit of {MAX_DEPTH}"):
        parse("NOT " * 10_000 + "a")
    with pytest.raises(RuleLimitError):
        parse("a AND (b OR (" * 5_000 + "c" + "))" * 5_000)
    with pytest.raises(RuleLimitError):
        parse("-" + "(-" * 10_000 + "a" + ")" * 10_000 + " = 1")


def test_the_deepest_tree_that_the_limit_allows_is_read():
    nested = "a"
    for _ in range((MAX_DEPTH - 2) // 2):
        nested = f"b AND (c OR ({nested}))"
    assert isinstance(parse(nested), And)


def test_a_rule_of_a_megabyte_is_read():
    values = ", ".join(f"'{number:08}'" for number in range(90_000))
    assert len(parse(f"a IN ({values})").values) == 90_000
    assert len(parse(" OR ".join(f"a{number % 100} = {number}" for number in range(80_000))).children) == 80_000
    assert len(parse(f"lower(a) = '{'x' * 1_000_000}'").value) == 1_000_000


def test_a_rule_over_the_limit_of_length_is_refused():
    with pytest.raises(RuleLimitError, match="characters, over the limit"):
        parse("a = 1" + " " * Limits().rule_characters)


@pytest.mark.parametrize("text", ["a = 1\0", "\0", "a\0b = 1", b"a = 1\x00"])
def test_a_nul_byte_outside_of_a_string_is_refused(text):
    with pytest.raises(RuleSyntaxError, match="unexpected character"):
        parse(text)


def test_what_is_not_utf_8_is_refused_at_its_place():
    with pytest.raises(RuleSyntaxError, match="not UTF-8") as caught:
        parse("é = '".encode() + b"\xff'")
    assert caught.value.position == 5
    with pytest.raises(RuleSyntaxError, match="half of a surrogate pair"):
        parse("a = '\ud800'")


@pytest.mark.parametrize("text", ["a = 'x", 'a = "x', "`a = 1", "a = 'it\\'s", "a /* = 1", "a RLIKE r'x"])
def test_what_is_never_closed_is_said_to_be(text):
    with pytest.raises(RuleSyntaxError, match="never closed"):
        parse(text)


def test_errors_survive_being_sent_to_another_process():
    import pickle

    with pytest.raises(RuleError) as caught:
        parse("a BETWEN 1")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_negative_decimal_keeps_all_its_digits():
    tree = parse("a >= -2150227390631063106310639334336.5")
    assert isinstance(tree, Compare)
    assert tree.value == Decimal("-2150227390631063106310639334336.5")
