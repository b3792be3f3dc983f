"""Converts a tree to and from its structured form: JSON, for programs that make rules without writing text.

`from_structured(to_structured(tree)) == tree` for every tree that the parser makes. Reading uses the same constructors
as the parser, so both refuse the same rules. The form is described in docs/structured.md, and
as a JSON Schema in rule.schema.json beside this file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from ruledex import limits
from ruledex.errors import RuleLimitError, RuleSyntaxError, RuleTypeError, did_you_mean, quoted
from ruledex.language import build
from ruledex.language.any_text import SIGN, is_any_text
from ruledex.language.build import SET_TESTS, Constant, Item
from ruledex.language.definitions import named_condition
from ruledex.language.functions.arrays import FILTER
from ruledex.language.lambdas import with_variable
from ruledex.language.operand_syntax import LAMBDAS, call_with_lambda, filter_of
from ruledex.language.parser import parse_operand
from ruledex.language.reader import check_text
from ruledex.language.rule_checks import check_nesting, check_required
from ruledex.language.structured_parts import (
    Json,
    Place,
    check_fields,
    constant_in,
    constant_out,
    flag_of,
    json_text,
    placed,
    read_list,
    weight_in,
)
from ruledex.language.text import path_text
from ruledex.language.tree import (
    BRANCH_OF,
    MAX_DEPTH,
    And,
    Attribute,
    Between,
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
    Not,
    NullSafe,
    Operand,
    Or,
    Required,
    Rlike,
    SetTest,
    Truth,
    Value,
    Weighed,
    Xnor,
    Xor,
)

_BRANCHES: Final = {name.lower(): kind for name, kind in BRANCH_OF.items()}
_NAME_OF_BRANCH: Final[dict[type, str]] = {kind: name for name, kind in _BRANCHES.items()}
_TESTS: Final = {"is_true": True, "is_false": False, "is_unknown": None}
_NAME_OF_TEST: Final = {truth: name for name, truth in _TESTS.items()}
_AROUND: Final = ("not", "required", *_TESTS)  # ops of one condition
_COMPARISONS: Final = ("=", "<", "<=", ">", ">=", "<=>")


# Tree to JSON.


def to_structured(tree: Expression) -> Json:
    """Return a tree of the parser as JSON values. Positions are left out.

    >>> from ruledex.language.structured import to_structured
    >>> to_structured(ruledex.parse("age >= 18"))
    {'op': '>=', 'operand': {'attribute': 'age'}, 'value': 18}
    """
    match tree:
        case Truth(value):
            return value
        case And() | Or() | Xor() | Xnor():
            return {"op": _NAME_OF_BRANCH[type(tree)], "children": [to_structured(child) for child in tree.children]}
        case Not(child):
            return {"op": "not", "child": to_structured(child)}
        case Is(child, truth):
            return {"op": _NAME_OF_TEST[truth], "child": to_structured(child)}
        case Required(child):
            return {"op": "required", "child": to_structured(child)}
        case Weighed(child, weight):
            return to_structured(child) | {"weight": weight}
        case Named(name):
            return {"named": name}
        case Compare(operand, op, value, weight):
            return {"op": op, "operand": _operand_out(operand), "value": constant_out(value)} | _weight_out(weight)
        case NullSafe(operand, value, weight):
            return {"op": "<=>", "operand": _operand_out(operand), "value": constant_out(value)} | _weight_out(weight)
        case CompareOperands(left, op, right, weight):
            return {"op": op, "operand": _operand_out(left), "other": _operand_out(right)} | _weight_out(weight)
        case In(operand, values, weights, has_null):
            listed = [*map(constant_out, values), *([None] if has_null else [])]
            given = {"weights": [*weights, *([1.0] if has_null else [])]} if weights else {}
            return {"op": "in", "operand": _operand_out(operand), "values": listed} | given
        case Between(operand, low, high, weight):
            bounds = {"low": constant_out(low), "high": constant_out(high)}
            return {"op": "between", "operand": _operand_out(operand)} | bounds | _weight_out(weight)
        case Like(operand, patterns, every, ignore_case, weight):
            flags = {name: True for name, is_set in (("every", every), ("ignore_case", ignore_case)) if is_set}
            written = {"op": "like", "operand": _operand_out(operand), "patterns": list(patterns)}
            return written | flags | _weight_out(weight)
        case Rlike(operand, pattern, weight):
            return {"op": "rlike", "operand": _operand_out(operand), "pattern": pattern} | _weight_out(weight)
        case IsNull(operand):
            return {"op": "is_null", "operand": _operand_out(operand)}
        case Exists(operand, _, _, weight):
            variable, body = with_variable(tree)
            written = {"op": "exists", "operand": _operand_out(operand), "variable": variable}
            return written | {"child": to_structured(body)} | _weight_out(weight)
        case SetTest(operand, test, values, weight):
            listed = [constant_out(value) for value in values]
            return {"op": test, "operand": _operand_out(operand), "values": listed} | _weight_out(weight)
    raise TypeError(f"{type(tree).__name__} is made only by rewrites and has no structured form")


def _weight_out(weight: float) -> dict[str, Json]:
    return {} if weight == 1.0 else {"weight": weight}


def _operand_out(operand: Operand) -> Json:
    if isinstance(operand, Attribute):
        return {"attribute": path_text(operand.path)}
    if is_any_text(operand):
        return {"attribute": SIGN}
    arguments = [_argument_out(argument) for argument in operand.arguments]
    return {"function": operand.function, "arguments": arguments}


def _argument_out(argument: Operand | Value | Exists) -> Json:
    if isinstance(argument, Exists):
        return to_structured(argument)
    return _operand_out(argument) if isinstance(argument, Attribute | Call) else constant_out(argument)


# JSON to tree.


def from_structured(document: Json) -> Expression:
    """Return the tree of a structured rule. Raises `RuleError`; its message starts with the JSON path of the fault.

    >>> from ruledex.language.structured import from_structured
    >>> ruledex.to_text(from_structured({"op": ">=", "operand": {"attribute": "age"}, "value": 18}))
    'age >= 18'
    """
    _check_nesting(document)
    tree = _expression(document, Place())
    placed(Place(), check_nesting, tree, "")
    placed(Place(), check_required, tree, "")
    return tree


def _check_nesting(document: Json) -> None:
    """Raise if a document nests too deep for the readers below, which recurse."""
    most = 2 * MAX_DEPTH + 4  # a node is an object and, where it has children, a list around them
    pending: list[tuple[Json, int]] = [(document, 1)]
    while pending:
        value, depth = pending.pop()
        if depth > most:
            raise RuleLimitError(f"$: the document nests deeper than a rule of depth {MAX_DEPTH} can")
        if isinstance(value, Mapping):
            pending.extend((child, depth + 1) for child in value.values())
        elif isinstance(value, list | tuple):
            pending.extend((child, depth + 1) for child in value)


def _expression(document: Json, place: Place) -> Expression:
    if document is None or isinstance(document, bool):
        return Truth(document)
    if not isinstance(document, Mapping):
        raise RuleSyntaxError(f"{place}: a condition is an object, true, false or null, not {json_text(document)}")
    if "named" in document:
        check_fields(document, place, ("named",), also=())
        return placed(Place(place, "named"), named_condition, document["named"])
    name = document.get("op")
    kind = _BRANCHES.get(name) if isinstance(name, str) else None
    if kind is not None:
        check_fields(document, place, ("children",))
        children = read_list(document, "children", place, least=2)
        inner = Place(place, "children")
        return kind(tuple([_expression(child, Place(inner, i)) for i, child in enumerate(children)]))
    if isinstance(name, str) and name in _AROUND:
        check_fields(document, place, ("child",), () if name == "required" else ("weight",))
        child = _expression(document["child"], Place(place, "child"))
        if name == "required":
            return Required(child)
        return _weighted(Not(child) if name == "not" else Is(child, _TESTS[name]), document, place)
    return _predicate(document, place)


def _predicate(document: Mapping[str, Json], place: Place) -> Expression:
    if "op" not in document:
        raise RuleSyntaxError(f"{place}: a condition has an op, or is named", hint=f"one of {', '.join(_OPS)}")
    name = document["op"]
    read = _READERS.get(name) if isinstance(name, str) else None
    if read is None:
        hint = did_you_mean(name, _OPS) if isinstance(name, str) else ""
        raise RuleSyntaxError(f"{Place(place, 'op')}: there is no op {json_text(name)}", hint=hint)
    return read(name, document, place)


def _comparison(op: str, document: Mapping[str, Json], place: Place) -> Expression:
    if "other" in document:
        check_fields(document, place, ("operand", "other"), ("weight",))
        right: Item = _operand(document["other"], Place(place, "other"))
    else:
        check_fields(document, place, ("operand", "value"), ("weight",))
        right = constant_in(document["value"], Place(place, "value"))
    return _weighted(placed(place, build.comparison, _left(document, place), op, right, "", 0), document, place)


def _in(_op: str, document: Mapping[str, Json], place: Place) -> Expression:
    check_fields(document, place, ("operand", "values"), ("weights",))
    constants = _constants(document, place)
    if "weights" in document:
        weights = read_list(document, "weights", place, least=1)
        inner = Place(place, "weights")
        if len(weights) != len(constants):
            raise RuleSyntaxError(f"{inner}: there are {len(constants)} values and {len(weights)} weights")
        for i, (constant, weight) in enumerate(zip(constants, weights, strict=True)):
            constant.weight, constant.weighted = weight_in(weight, Place(inner, i)), True
    return placed(place, build.membership, _left(document, place), constants, "", 0)


def _between(_op: str, document: Mapping[str, Json], place: Place) -> Expression:
    check_fields(document, place, ("operand", "low", "high"), ("weight",))
    low, high = (constant_in(document[end], Place(place, end)) for end in ("low", "high"))
    return _weighted(placed(place, build.between, _left(document, place), low, high, "", 0), document, place)


def _like(_op: str, document: Mapping[str, Json], place: Place) -> Expression:
    check_fields(document, place, ("operand", "patterns"), ("every", "ignore_case", "weight"))
    inner = Place(place, "patterns")
    patterns = [constant_in(p, Place(inner, i)) for i, p in enumerate(read_list(document, "patterns", place, least=1))]
    every, ignore_case = (flag_of(document, name, place) for name in ("every", "ignore_case"))
    made = placed(place, build.like, _left(document, place), patterns, every, ignore_case, "\\", "", 0)
    return _weighted(made, document, place)


def _rlike(_op: str, document: Mapping[str, Json], place: Place) -> Expression:
    check_fields(document, place, ("operand", "pattern"), ("weight",))
    pattern = constant_in(document["pattern"], Place(place, "pattern"))
    return _weighted(placed(place, build.regular_expression, _left(document, place), pattern, "", 0), document, place)


def _is_null(_op: str, document: Mapping[str, Json], place: Place) -> Expression:
    check_fields(document, place, ("operand",), ("weight",))
    return _weighted(placed(place, build.null_test, _left(document, place), "", 0), document, place)


def _set_test(op: str, document: Mapping[str, Json], place: Place) -> Expression:
    check_fields(document, place, ("operand", "values"), ("weight",))
    made = placed(place, build.call, op, [_left(document, place), *_constants(document, place)], "", 0)
    assert isinstance(made, SetTest)
    return _weighted(made, document, place)


def _lambda(op: str, document: Mapping[str, Json], place: Place) -> Expression:
    check_fields(document, place, ("operand", "variable", "child"), ("weight",))
    variable = document["variable"]
    if not isinstance(variable, str) or not variable:
        raise RuleSyntaxError(f"{Place(place, 'variable')}: the name of an element is a string")
    placed(Place(place, "variable"), check_text, variable)
    items = [_left(document, place), _expression(document["child"], Place(place, "child"))]
    made = placed(place, call_with_lambda, op, variable, items, "", 0)
    assert isinstance(made, Exists | Not)
    return _weighted(made, document, place)


_READERS: Final[dict[str, Callable[[str, Mapping[str, Json], Place], Expression]]] = {
    **dict.fromkeys(_COMPARISONS, _comparison),
    "in": _in,
    "between": _between,
    "like": _like,
    "rlike": _rlike,
    "is_null": _is_null,
    **dict.fromkeys(SET_TESTS, _set_test),
    **dict.fromkeys(LAMBDAS, _lambda),
}
_OPS: Final = (*_BRANCHES, *_AROUND, *_READERS)


# Operands and constants.


def _left(document: Mapping[str, Json], place: Place) -> Item:
    return _operand(document["operand"], Place(place, "operand"))


def _operand(document: Json, place: Place) -> Item:
    """Return an attribute or a function. A function of constants only is a constant, as in text."""
    if isinstance(document, Mapping) and "attribute" in document:
        check_fields(document, place, ("attribute",), also=())
        name = document["attribute"]
        if not isinstance(name, str):
            raise RuleSyntaxError(f"{Place(place, 'attribute')}: a path is a string, not {json_text(name)}")
        read = _known_attribute if len(name) <= _LONGEST_KNOWN else _attribute
        return placed(Place(place, "attribute"), read, name)
    if isinstance(document, Mapping) and "function" in document:
        return _call(document, place)
    raise RuleSyntaxError(
        f"{place}: this is not an operand: {json_text(document)}", hint='write {"attribute": …} or {"function": …}'
    )


def _attribute(name: str) -> Operand:
    operand = parse_operand(name)
    if not isinstance(operand, Attribute) and not is_any_text(operand):
        raise RuleSyntaxError(f"{quoted(name)} is not the path of an attribute")
    return operand


_LONGEST_KNOWN: Final = 100  # characters: such names take at most about 4 KB each, and all of them 64 MB


@lru_cache(maxsize=16_384)
def _known_attribute(name: str) -> Operand:
    return _attribute(name)


limits.forget_when_changed(_known_attribute.cache_clear)  # the limit path_steps


def _call(document: Mapping[str, Json], place: Place) -> Item:
    check_fields(document, place, ("function", "arguments"), also=())
    name = document["function"]
    if not isinstance(name, str):
        raise RuleSyntaxError(f"{Place(place, 'function')}: a function's name is a string, not {json_text(name)}")
    if name.lower() in SET_TESTS:
        raise RuleTypeError(f"{place}: {name} is a condition, not a function of values", hint="write it as an op")
    inner = Place(place, "arguments")
    items: list[Item] = []
    for i, argument in enumerate(read_list(document, "arguments", place, least=0)):
        if isinstance(argument, Mapping) and "op" in argument:
            items.append(_expression(argument, Place(inner, i)))
            continue
        is_operand = isinstance(argument, Mapping) and ("attribute" in argument or "function" in argument)
        items.append((_operand if is_operand else constant_in)(argument, Place(inner, i)))
    return placed(place, filter_of if name.lower() == FILTER else build.call, name, items, "", 0)


def _constants(document: Mapping[str, Json], place: Place) -> list[Constant]:
    inner = Place(place, "values")
    values = read_list(document, "values", place, least=1)
    return [constant_in(value, Place(inner, i)) for i, value in enumerate(values)]


def _weighted(made: Expression, document: Mapping[str, Json], place: Place) -> Expression:
    if "weight" not in document:
        return made
    inner = Place(place, "weight")
    return placed(inner, build.with_weight, made, weight_in(document["weight"], inner), "", 0)
