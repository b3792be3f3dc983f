"""Rules of the workloads as each peer writes them.

A rule is first brought to ANDs and ORs of tests `attribute sign constant`. A test is true if the attribute is there and
compares so. That is exact on events with one value per attribute, as all events of these workloads are: NOT is pushed
down to the predicates, XOR is expanded, and what is unknown is not true.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ruledex.language.parser import parse
from ruledex.language.text import path_text
from ruledex.language.tree import And, Attribute, Between, Compare, Expression, In, Not, Or
from ruledex.rewrite.negation import expand_xor, push_not

OPPOSITES = {"=": "!=", "<": ">=", "<=": ">", ">": "<=", ">=": "<", "in": "not in"}
MISSING_IS_FALSE = ("=", "in")  # signs that no missing value satisfies in any of the languages


class Test(NamedTuple):
    """`name sign value`, where the value of `in` and `not in` is a tuple."""

    name: str
    sign: str
    value: Any


class Branch(NamedTuple):
    """All of its parts, or some of them."""

    is_and: bool
    parts: tuple[Test | Branch, ...]


Plain = Test | Branch


class CannotSayError(Exception):
    """A peer has no way to write a rule."""


def plain(text: str) -> Plain:
    """Return a rule as ANDs and ORs of tests."""
    return _plain(expand_xor(push_not(parse(text))))


def _plain(tree: Expression) -> Plain:
    match tree:
        case And(children) | Or(children):
            return Branch(isinstance(tree, And), tuple(_plain(child) for child in children))
        case Not(Between(operand, low, high)):
            name = _name(operand)
            return Branch(False, (Test(name, "<", low), Test(name, ">", high)))
        case Between(operand, low, high):
            name = _name(operand)
            return Branch(True, (Test(name, ">=", low), Test(name, "<=", high)))
        case Not(child):
            found = _plain(child)
            assert isinstance(found, Test)
            return Test(found.name, OPPOSITES[found.sign], found.value)
        case Compare(operand, op, value):
            return Test(_name(operand), op, value)
        case In(operand, values):
            return Test(_name(operand), "in", values)
    raise AssertionError(tree)


def _name(operand: object) -> str:
    assert isinstance(operand, Attribute)
    return path_text(operand.path)


def tests_of(tree: Plain) -> Iterator[Test]:
    """Yield all tests of a rule."""
    if isinstance(tree, Test):
        yield tree
    else:
        for part in tree.parts:
            yield from tests_of(part)


def _written(tree: Plain, write: Callable[[Test], str], both: str, either: str) -> str:
    if isinstance(tree, Test):
        return write(tree)
    return f"({(both if tree.is_and else either).join(_written(part, write, both, either) for part in tree.parts)})"


# Conditions as texts.


def python_condition(tree: Plain) -> str:
    """Return a condition on `get`, the method of a dict."""

    def write(test: Test) -> str:
        sign = "==" if test.sign == "=" else test.sign
        if test.sign in MISSING_IS_FALSE:
            return f"get({test.name!r}) {sign} {test.value!r}"
        return f"((x := get({test.name!r})) is not None and x {sign} {test.value!r})"

    return _written(tree, write, " and ", " or ")


def sql(tree: Plain) -> str:
    """Return a condition of SQL, which is true or else false or NULL."""

    def write(test: Test) -> str:
        value = f"({', '.join(map(_sql_constant, test.value))})" if "in" in test.sign else _sql_constant(test.value)
        return f"{test.name} {test.sign.replace('!=', '<>')} {value}"

    return _written(tree, write, " AND ", " OR ")


def _sql_constant(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)


def a_tree(tree: Plain) -> str:
    """Return an expression of the crate a-tree. What is undefined is unknown there too."""

    def write(test: Test) -> str:
        value = f"[{', '.join(map(_sql_constant, test.value))}]" if "in" in test.sign else _sql_constant(test.value)
        return f"{test.name} {test.sign.replace('!=', '<>')} {value}"

    return _written(tree, write, " and ", " or ")


def rule_engine(tree: Plain) -> str:
    """Return a rule of rule-engine, where what is missing is null."""

    def write(test: Test) -> str:
        if test.sign == "not in":
            return f"({test.name} != null and not ({test.name} in {json.dumps(test.value)}))"
        return _unless_null(test)

    return _written(tree, write, " and ", " or ")


def zen(tree: Plain) -> str:
    """Return an expression of zen-engine, where what is missing is null."""
    return _written(tree, _unless_null, " and ", " or ")


def _unless_null(test: Test) -> str:
    """Return a test that is false of null, as JSON writes constants."""
    sign = "==" if test.sign == "=" else test.sign
    compared = f"{test.name} {sign} {json.dumps(test.value)}"
    return compared if test.sign in MISSING_IS_FALSE else f"({test.name} != null and {compared})"


def cel(tree: Plain) -> str:
    """Return an expression of CEL on the map `e`."""

    def write(test: Test) -> str:
        name, value = f"e.{test.name}", json.dumps(test.value)
        match test.sign:
            case "not in":
                condition = f"!({name} in {value})"
            case "=":
                condition = f"{name} == {value}"
            case sign:
                condition = f"{name} {sign} {value}"
        return f"(has({name}) && {condition})"

    return _written(tree, write, " && ", " || ")


# Conditions as documents.


def json_logic(tree: Plain) -> str:
    """Return a rule of JsonLogic."""
    return json.dumps(_json_logic(tree))


def _json_logic(tree: Plain) -> Any:
    if isinstance(tree, Branch):
        return {"and" if tree.is_and else "or": [_json_logic(part) for part in tree.parts]}
    name, sign, value = tree
    variable = {"var": name}
    match sign:
        case "=":
            return {"===": [variable, value]}
        case "in":
            return {"in": [variable, list(value)]}
        case "!=":
            condition: Any = {"!==": [variable, value]}
        case "not in":
            condition = {"!": [{"in": [variable, list(value)]}]}
        case _:
            condition = {sign: [variable, value]}
    return {"and": [{"!==": [variable, None]}, condition]}


def lucene(tree: Plain) -> str:
    """Return a rule as JSON, from which the driver makes a query of Lucene."""
    return json.dumps(_nested(tree))


def _nested(tree: Plain) -> Any:
    if isinstance(tree, Branch):
        return ["and" if tree.is_and else "or", *(_nested(part) for part in tree.parts)]
    return [tree.sign, tree.name, *(tree.value if "in" in tree.sign else (tree.value,))]


def event_ruler(tree: Plain) -> list[str]:
    """Return the patterns of which one must match: event-ruler has no other OR between fields.

    A pattern has one condition per attribute.
    """
    return [json.dumps(_pattern(conjunction)) for conjunction in _conjunctions(tree)]


def _conjunctions(tree: Plain) -> list[list[Test]]:
    """Return the conjunctions of a rule that is a DNF as it is written."""
    if isinstance(tree, Branch) and not tree.is_and:
        return [conjunction for part in tree.parts for conjunction in _conjunctions(part)]
    return [_conjunction(tree)]


def _conjunction(tree: Plain) -> list[Test]:
    if isinstance(tree, Test):
        return [tree]
    if not tree.is_and:
        raise CannotSayError("an OR below an AND")
    return [test for part in tree.parts for test in _conjunction(part)]


def _pattern(conjunction: list[Test]) -> dict[str, Any]:
    pattern: dict[str, Any] = {}
    for name, sign, value in conjunction:
        match sign:
            case "=":
                found: Any = [value]
            case "in":
                found = list(value)
            case "!=" | "not in":
                found = [{"anything-but": list(value) if sign == "not in" else [value]}]
            case _:
                before = pattern.pop(name, [{"numeric": []}])
                if not isinstance(before[0], dict) or len(before[0].get("numeric", "full")) > 2:
                    raise CannotSayError("a range beside another condition on the same attribute")
                # The lower bound stands first.
                bounds = [before[0]["numeric"], [sign, value]]
                found = [{"numeric": _numeric([part for bound in sorted(bounds, reverse=True) for part in bound])}]
        if name in pattern:
            raise CannotSayError("two conditions on one attribute")
        pattern[name] = found
    return pattern


def _numeric(bounds: list[Any]) -> list[Any]:
    """Return bounds as event-ruler takes them: it refuses a range of one number."""
    match bounds:
        case [">=", low, "<=", high] if low == high:
            return ["=", low]
    return bounds
