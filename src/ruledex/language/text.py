"""Writes a tree as the text of a rule, with as few parentheses as its meaning allows.

`parse(tree_text(tree)) == tree` for every tree that the parser makes.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from typing import Final

from ruledex.errors import RuledexError, quoted
from ruledex.language.any_text import SIGN, is_any_text
from ruledex.language.lambdas import with_variable
from ruledex.language.scanner import NAME
from ruledex.language.time_syntax import added_text, interval_text, moment_text
from ruledex.language.tree import (
    BRANCHES,
    And,
    Attribute,
    Between,
    Bound,
    Call,
    Compare,
    CompareOperands,
    Exists,
    Expression,
    In,
    Is,
    IsNull,
    Like,
    Named,
    Node,
    Not,
    NullSafe,
    Operand,
    Or,
    Predicate,
    Required,
    Rlike,
    SetTest,
    Truth,
    Untrue,
    Value,
    Weak,
    Weighed,
    Within,
    Xnor,
    Xor,
)
from ruledex.language.value_types import Interval, Moment, Network, Version

_PLAIN_NAME: Final = re.compile(NAME)
# fmt: off
RESERVED: Final = frozenset((
    "AND", "OR", "NOT", "XOR", "XNOR", "TRUE", "FALSE", "NULL", "IN", "BETWEEN", "LIKE", "ILIKE", "RLIKE",
    "REGEXP", "IS", "ESCAPE", "ANY", "SOME", "ALL",
))
# fmt: on
_ACCESS: Final = ("[]", ".", "filter")
_SIGNS: Final = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "div": 2}

# How tightly the text of a node binds: a child that binds more loosely than its place needs parentheses.
_OR, _XOR, _AND, _NOT, _LEAF = range(5)


def tree_text(tree: Expression) -> str:
    """Return a tree as the text of a rule."""
    return _write(tree)[0]


_BRANCH: Final[dict[type, tuple[str, int]]] = {
    And: (" AND ", _AND),
    Or: (" OR ", _OR),
    Xor: (" XOR ", _XOR),
    Xnor: (" XNOR ", _XOR),
}


def _write(tree: Expression) -> tuple[str, int]:
    if isinstance(tree, BRANCHES):
        word, tightness = _BRANCH[type(tree)]
        parts: list[str] = []
        for child in tree.children:  # a loop, not a comprehension: the stack is short for the deepest rules
            text, own = _write(child)
            # XOR and XNOR fold together from the left, so the other one needs no parentheses at the left end.
            chained = own == tightness == _XOR and not parts and type(child) is not type(tree)
            parts.append(text if own > tightness or chained else f"({text})")
        return word.join(parts), tightness
    match tree:
        case Not(child):
            return _negation_text(child), _NOT
        case Is(child, truth):
            return _is_text(child, truth, ""), _LEAF
        case Untrue(literal):
            return _is_text(literal, True, "NOT "), _LEAF
        case Weighed(child, weight):
            return f"({_write(child)[0]}){_weight(weight) or '^1'}", _LEAF
        case Required(child):
            return f"REQUIRED({_write(child)[0]})", _LEAF
        case Named(name):
            return f"@{_name(name, first=False)}", _LEAF
        case Truth(value):
            return "NULL" if value is None else str(value).upper(), _LEAF
        case Weak(predicate):
            assert not isinstance(predicate, CompareOperands)
            return f"{operand_text(predicate.operand)} IS NULL OR {_negation_text(predicate)}", _OR
        case Within():
            written = as_written(tree)
            return (_within_text(tree), _OR) if written is None else (predicate_text(written), _LEAF)
    return predicate_text(tree), _LEAF


def _is_text(child: Expression, truth: bool | None, negation: str) -> str:
    text = _write(child)[0]
    is_bare = isinstance(child, Compare) and child.value is True and child.op == "=" and child.weight == 1
    is_bare = is_bare or isinstance(child, Named)
    word = "UNKNOWN" if truth is None else str(truth).upper()
    return f"{text if is_bare else f'({text})'} IS {negation}{word}"


def _negation_text(child: Expression) -> str:
    if isinstance(child, Within):
        child = as_written(child) or child
    match child:
        case Compare(operand, "=", value, weight) if not isinstance(value, bool):
            return f"{operand_text(operand)} != {constant_text(value)}{_weight(weight)}"
        case CompareOperands(left, "=", right) if child.weight == 1:
            return f"{operand_text(left)} != {operand_text(right)}"
        case IsNull(operand):
            return f"{operand_text(operand)} IS NOT NULL"
        case Is(tested, truth):
            return _is_text(tested, truth, "NOT ")
        case Exists(operand, Not(body), level, 1.0):
            return _lambda_text("forall", Exists(operand, body, level))
        case In() | Rlike() | Between(_, _, _, 1.0):
            name = operand_text(child.operand)
            return f"{name} NOT{predicate_text(child).removeprefix(name)}"
        case Like(_, patterns) if len(patterns) == 1 or child.weight == 1:
            return predicate_text(child, negated=True)
    text, tightness = _write(child)
    return f"NOT {text}" if tightness >= _NOT else f"NOT ({text})"


def predicate_text(predicate: Predicate, negated: bool = False) -> str:
    """Return a predicate as text. `negated` is only for LIKE, whose ANY and ALL change places."""
    match predicate:
        case Compare(Call("like" | "ilike" as like, (left, right)), "=", True, weight):
            return _weigh(f"{_operand_text(left, 0)} {like.upper()} {_operand_text(right, 0)}", weight)
        case Compare(operand, "=", True, weight):
            return f"{operand_text(operand)}{_weight(weight)}"
        case Compare(operand, op, value, weight):
            return f"{operand_text(operand)} {op} {constant_text(value)}{_weight(weight)}"
        case NullSafe(operand, value, weight):
            return f"{operand_text(operand)} <=> {constant_text(value)}{_weight(weight)}"
        case In(operand, values, weights, has_null):
            listed = [
                constant_text(v) + _weight(w) for v, w in zip(values, weights or [1.0] * len(values), strict=True)
            ]
            return f"{operand_text(operand)} IN ({', '.join(listed + ['NULL'] * has_null)})"
        case Between(operand, low, high, weight):
            return _weigh(f"{operand_text(operand)} BETWEEN {constant_text(low)} AND {constant_text(high)}", weight)
        case Like(operand, patterns, every, ignore_case, weight):
            word = ("NOT " if negated else "") + ("ILIKE" if ignore_case else "LIKE")
            listed = [string_text(pattern) for pattern in patterns]
            if isinstance(operand, Call) and operand.function == "collate_like":
                operand = Call("collate", operand.arguments)
            if len(patterns) == 1:
                return f"{operand_text(operand)} {word} {listed[0]}{_weight(weight)}"
            quantifier = "ALL" if every != negated else "ANY"
            return _weigh(f"{operand_text(operand)} {word} {quantifier} ({', '.join(listed)})", weight)
        case Rlike(operand, pattern, weight):
            return f"{operand_text(operand)} RLIKE {string_text(pattern)}{_weight(weight)}"
        case IsNull(operand):
            return f"{operand_text(operand)} IS NULL"
        case CompareOperands(left, op, right, weight):
            return _weigh(f"{operand_text(left)} {op} {operand_text(right)}", weight)
        case SetTest(operand, test, values, weight):
            listed = [operand_text(operand), *map(constant_text, values)]
            return f"{test}({', '.join(listed)}){_weight(weight)}"
        case Exists():
            return f"{_lambda_text('exists', predicate)}{_weight(predicate.weight)}"
        case Within():
            return _within_text(predicate)


def _lambda_text(function: str, exists: Exists) -> str:
    variable, body = with_variable(exists)
    return f"{function}({operand_text(exists.operand)}, {variable} -> {tree_text(body)})"


def as_written(node: Within) -> Compare | In | Between | None:
    """Return the one predicate that expresses a set of values, or None if it takes several."""
    values, bounds = node.values, node.bounds
    if values and not bounds:
        return Compare(node.operand, "=", values[0]) if len(values) == 1 else In(node.operand, values)
    if len(bounds) != 1 or values:
        return None
    low, high = bounds[0].low, bounds[0].high
    if low is None and high is not None:
        return Compare(node.operand, "<=" if bounds[0].high_closed else "<", high)
    if high is None and low is not None:
        return Compare(node.operand, ">=" if bounds[0].low_closed else ">", low)
    if low is not None and high is not None and bounds[0].low_closed and bounds[0].high_closed:
        return Between(node.operand, low, high)
    return None


def _within_text(node: Within) -> str:
    parts = [_piece_text(node.operand, Within(node.operand, node.values, ()))] if node.values else []
    parts += [_piece_text(node.operand, Within(node.operand, (), (bound,))) for bound in node.bounds]
    return " OR ".join(parts)


def _piece_text(operand: Operand, piece: Within) -> str:
    written = as_written(piece)
    if written is not None:
        return predicate_text(written)
    bound = piece.bounds[0]
    ends = Bound(bound.low, bound.low_closed, None, False), Bound(None, False, bound.high, bound.high_closed)
    return f"({' AND '.join(_piece_text(operand, Within(operand, (), (end,))) for end in ends)})"


def _weight(weight: float) -> str:
    if weight == 1.0:
        return ""
    return f"^{int(weight)}" if weight.is_integer() and weight < 1e15 else f"^{weight!r}"


def _weigh(text: str, weight: float) -> str:
    return text if weight == 1.0 else f"({text}){_weight(weight)}"


# Operands and constants.


def operand_text(operand: Operand) -> str:
    """Return an operand as text: a path, a call, or arithmetic with the parentheses that it needs."""
    return _operand_text(operand, 0)


def _operand_text(operand: Operand | Value, outer: int) -> str:
    if isinstance(operand, Attribute):
        return path_text(operand.path)
    if not isinstance(operand, Call):
        return constant_text(operand)
    if is_any_text(operand):
        return SIGN
    if operand.function in _ACCESS:
        return _access_text(operand)
    tightness = _SIGNS.get(operand.function)
    if tightness is None:
        if operand.function == "negative":
            inner = _operand_text(operand.arguments[0], 3)
            return f"-({inner})" if inner.startswith("-") else f"-{inner}"  # two signs would start a comment
        if operand.function == "add_interval":
            start, interval = operand.arguments
            assert isinstance(interval, Interval)
            text = f"{_operand_text(start, 1)}{added_text(interval)}"
            return f"({text})" if outer > 1 else text
        if operand.function == "collate":
            return f"{_operand_text(operand.arguments[0], 3)} COLLATE {operand.arguments[1]}"
        listed = [_operand_text(argument, 0) for argument in operand.arguments]
        if operand.function.startswith("cast_"):
            sizes = f"({', '.join(listed[1:])})" if listed[1:] else ""
            return f"CAST({listed[0]} AS {operand.function.removeprefix('cast_').upper()}{sizes})"
        return f"{operand.function}({', '.join(listed)})"
    left, right = operand.arguments
    text = f"{_operand_text(left, tightness)} {operand.function.upper()} {_operand_text(right, tightness + 1)}"
    return f"({text})" if tightness < outer else text


def _access_text(call: Call) -> str:
    first, *others = call.arguments
    if isinstance(first, Exists):
        return _lambda_text("filter", first)
    text = _operand_text(first, 0)
    if call.function == ".":
        return f"{text}.{_name(str(others[0]), first=False)}"
    return f"{text}[{others[0]}]"


def path_text(path: tuple[str, ...]) -> str:
    """Return a path as text, `*` for that of the whole event.

    Names that are not plain, and a first name that is a keyword, are in backticks.
    """
    return ".".join(_name(name, first=i == 0) for i, name in enumerate(path)) or SIGN


def _name(name: str, first: bool) -> str:
    if _PLAIN_NAME.fullmatch(name) and not (first and name.upper() in RESERVED):
        return name
    return "`" + name.replace("`", "``") + "`"


def constant_text(value: Value) -> str:
    """Return a constant as text. Reading it gives the same type again."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        return f"{value:f}" if value.as_tuple().exponent < 0 else f"{value:f}BD"  # type: ignore[operator]
    if isinstance(value, float):
        return f"{value!r}" if "e" in repr(value) else f"{value!r}D"
    if isinstance(value, str):
        return string_text(value)
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, Interval):
        return interval_text(value)
    if isinstance(value, Moment):
        return moment_text(value)
    assert isinstance(value, Version | Network)
    return string_text(value.text)


_ESCAPES: Final = str.maketrans({"'": "''", "\\": "\\\\", "\0": "\\u0000"})


def string_text(text: str) -> str:
    """Return a string in quotes."""
    return f"'{text.translate(_ESCAPES)}'"


def to_text(tree: Expression) -> str:
    """Return a tree as the text of a rule.

    >>> from ruledex import parse, to_text
    >>> to_text(parse("not (a=1 or b in (2,3))"))
    'NOT (a = 1 OR b IN (2, 3))'
    """
    return tree_text(check_tree(tree))


def check_tree(tree: Expression) -> Expression:
    """Return the tree. Raises if it is not one."""
    if not isinstance(tree, Node):
        raise RuledexError(f"a tree is what parse() gives, not {quoted(tree)}")
    return tree
