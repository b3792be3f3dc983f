"""Finds the values of an operand in an event: the values on a path, and functions applied to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import tzinfo
from itertools import product
from threading import local
from typing import Any, Final, NamedTuple, TypeAlias

from ruledex import limits
from ruledex.errors import EventError
from ruledex.language.any_text import is_any_text, texts_of
from ruledex.language.functions.registry import FUNCTIONS, function_of
from ruledex.language.functions.signature import Function
from ruledex.language.functions.text import INT32_MAX, INT32_MIN
from ruledex.language.plain import SCALARS, plain, plain_leaves
from ruledex.language.schema import Schema
from ruledex.language.tree import Attribute, Call, Node, Operand, Value
from ruledex.language.value import Family, family_of, fit, is_missing

# Functions whose result is an INT in Spark. All other whole numbers that a function returns are BIGINT here.
_PARTS: Final = ("year", "quarter", "month", "weekofyear", "dayofyear", "day", "dayofweek", "hour", "minute", "second")
_OF_32_BITS: Final = frozenset((*_PARTS, "cast_int", "date_diff", "hash", "instr", "length", "size"))
_DECLARED: Final = {"int": "int", "float": "float", "double": "double"}


def spark_type(argument: Operand | Value, schema: Schema) -> str:
    """Return Spark's name for the type of an argument, or "" if the value alone says what it is."""
    if isinstance(argument, Attribute):
        return schema.column_types.get(argument.path) or _DECLARED.get(schema.of(argument).type, "")
    if isinstance(argument, Call) and argument.function == "cast_decimal":
        sizes = [*argument.arguments[1:], 10, 0]
        precision, scale = sizes[0], sizes[1] if len(argument.arguments) == 3 else 0
        return f"decimal({precision},{scale})"
    if isinstance(argument, Call):
        return "int" if argument.function in _OF_32_BITS else ""
    is_int = type(argument) is int and INT32_MIN <= argument <= INT32_MAX
    return "int" if is_int else ""  # as Spark reads a constant


Event: TypeAlias = Mapping[str, Any]
Values: TypeAlias = tuple[Any, ...] | None

MISSING: Final = None  # absent, null, NaN, or an array of only these
EMPTY: Final = ()  # an array without elements


def values_of(operand: Operand, event: Event, schema: Schema) -> Values:
    """Return the values of an operand in an event that are neither null nor NaN, or `MISSING`, or `EMPTY`.

    A call over several arrays has one value per combination of their values. If it exceeds the limit `event_products`
    or `concat_characters`, it is `MISSING`.
    """
    if isinstance(operand, Attribute):
        leaves = leaves_of(event, operand.path)
        # No leaf at all, not even a null one: the path led through empty arrays only.
        return schema.admitted(operand, _present(leaves)) if leaves else EMPTY
    if is_any_text(operand):
        return texts_of(event)
    function = function_of(operand)
    if function.of_path:
        attribute = operand.arguments[0]
        assert isinstance(attribute, Attribute)  # build.py lets nothing else pass
        return _present((function.call(event, attribute.path, spark_type(attribute, schema)),))
    zone = schema.zone
    if function.raw:
        from ruledex.language.arrays import values_of_array  # which stands on this module

        return values_of_array(operand, event, schema)
    arguments = [values_of(a, event, schema) if isinstance(a, Node) else (a,) for a in operand.arguments]
    arguments += [(p.default,) for p in function.parameters[len(arguments) :]]
    keywords: dict[str, Any] = {"zone": zone} if function.zoned else {}
    if function.typed:
        keywords["types"] = [spark_type(argument, schema) for argument in operand.arguments]
    if function.whole:
        constants = [values[0] for values in arguments[1:] if values is not None]
        result = function.call(arguments[0], *constants, **keywords)
        return _present(result if isinstance(result, tuple) else (result,))
    if function.nullable:
        fitted = [
            fit_values(v, function.parameter_at(i).family, zone) if v else [None] for i, v in enumerate(arguments)
        ]
    elif None in arguments:
        return MISSING
    else:
        fitted = [fit_values(values, function.parameter_at(i).family, zone) for i, values in enumerate(arguments)]
    if len(fitted) > 1 and _is_over_limit(function, fitted):
        over_limit.n += 1
        return MISSING
    return _present([function.call(*chosen, **keywords) for chosen in product(*fitted)])


def _is_over_limit(function: Function, arguments: list[list[Any]]) -> bool:
    """Return whether the results of a call, for all combinations of its arguments' values, are too many or too long."""
    if not all(arguments):
        return False
    limit = limits.current()
    n_results, n_arrays = 1, 0
    for values in arguments:
        if len(values) > 1:
            n_results *= len(values)
            n_arrays += 1
            # A single array gives no more results than the event has values.
            if n_arrays > 1 and n_results > limit.event_products:
                return True
    if not function.joins:
        return False
    return sum(sum(map(len, values)) * (n_results // len(values)) for values in arguments) > limit.concat_characters


class OverLimit(local):
    """Counts, per thread, the calls of functions whose value was unknown because of a limit."""

    n = 0


over_limit: Final = OverLimit()


def _present(values: Any) -> Values:
    kept = tuple(value for value in values if not is_missing(value))
    return kept or (EMPTY if values == () else MISSING)


def mapping_of(event: Any) -> Event:
    """Return an event as a mapping: one that is given, the fields of an object, or a JSON object as text.

    Raises EventError for anything else.
    """
    if isinstance(event, str | bytes | bytearray | memoryview):
        import orjson  # not needed to read rules

        try:
            event = orjson.loads(event)
        except orjson.JSONDecodeError as error:
            raise EventError(f"an event is not JSON: {error}") from None
    found = plain(event)
    if not isinstance(found, Mapping):
        shown = "null" if event is None else type(event).__name__
        raise EventError(f"an event is a mapping of names to values, not {shown}")
    return found


def leaves_of(value: Any, path: tuple[str, ...]) -> list[Any]:
    """Return all values at the end of a path, through arrays on the way and at the end, with None for absent ones.

    The values are plain (language/plain.py). Raises EventError if arrays exceed the limit `event_depth` or
    `event_lists`.
    """
    for step, name in enumerate(path):
        if type(value) is not dict:
            value = plain(value)
            if isinstance(value, list | tuple):
                return _leaves_through_arrays(value, path[step:], path)
            if not isinstance(value, Mapping):
                return [None]
        value = value.get(name)
    if type(value) not in SCALARS:
        value = plain_leaves(value, path)
        if isinstance(value, list | tuple):
            return list(value)
    return [value]


def _leaves_through_arrays(array: Sequence[Any], below: tuple[str, ...], path: tuple[str, ...]) -> list[Any]:
    found: list[Any] = [array]
    for name in below:
        found = [v.get(name) if isinstance(v, Mapping) else None for v in opened_arrays(found)]
    leaves: list[Any] = []
    for value in found:
        leaf = value if type(value) in SCALARS else plain_leaves(value, path)
        if isinstance(leaf, list | tuple):
            leaves += leaf
        else:
            leaves.append(leaf)
    return leaves


def opened_arrays(values: list[Any]) -> Iterator[Any]:
    """Yield the values, plain and in order, with arrays opened to any depth.

    There is no recursion, since an array may contain itself.
    """
    limit = limits.current()
    n_arrays = 0
    opened = [iter(values)]
    while opened:
        for given in opened[-1]:
            value = plain(given)
            if isinstance(value, list | tuple):
                n_arrays += 1
                if len(opened) > limit.event_depth:
                    message = f"lists nest deeper than the limit event_depth of {limit.event_depth:,}, or without end"
                    raise EventError(message)
                if n_arrays > limit.event_lists:
                    raise EventError(f"more lists than the limit event_lists of {limit.event_lists:,} hold a value")
                opened.append(iter(value))
                break
            yield value
        else:
            opened.pop()


def fit_values(values: Sequence[Any] | None, family: Family | None, zone: tzinfo) -> list[Any]:
    """Return the values that can be compared with constants of a family, converted to it."""
    if values is None or family is None:
        return []
    return [v for v in (fit(value, family, zone) for value in values) if v is not None]


def common_family(left: Any, right: Any) -> Family | None:
    """Return the family in which two values compare, or None. A text compared with a date or time is read as one."""
    families = {family_of(left), family_of(right)}
    if len(families) == 1:
        return families.pop()
    return Family.TIME if families == {Family.TIME, Family.STRING} else None


_PLAIN_TYPES: Final = frozenset((int, float, str, bool))
_Step = Callable[[Any], Any]


class Prepared(NamedTuple):
    """The path of the attribute, and what returns the value of the operand for a plain value there, or None."""

    path: tuple[str, ...]
    call: _Step

    def scalar(self, event: Mapping[str, Any]) -> Any:
        """Return the value of the attribute if it is a plain scalar that is not missing, else None."""
        value: Any = event
        for step in self.path:
            if type(value) is not dict:
                return None
            value = value.get(step)
        return value if type(value) in _PLAIN_TYPES and value == value else None


def prepare(operand: Operand, schema: Schema) -> Prepared | None:
    """Return a call of functions of one attribute and constants, or None for any other operand."""
    calls: list[tuple[Call, int]] = []
    at: Any = operand
    while isinstance(at, Call):
        places = [place for place, argument in enumerate(at.arguments) if isinstance(argument, Node)]
        if len(places) != 1:
            return None
        calls.append((at, places[0]))
        at = at.arguments[places[0]]
    if not calls or not isinstance(at, Attribute) or schema.family(at) is Family.TIME:
        return None
    steps = []
    for call, place in reversed(calls):
        step = _step(call, place, schema)
        if step is None:
            return None
        steps.append(step)
    return Prepared(at.path, steps[0] if len(steps) == 1 else _one_after_another(steps))


def _one_after_another(steps: list[_Step]) -> _Step:
    def run(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return value

    return run


def _step(call: Call, place: int, schema: Schema) -> _Step | None:
    """Return one call as a function of the argument at a place, as `values_of` computes it."""
    function = FUNCTIONS.get(call.function)  # one of a user may be replaced
    if function is None or function.of_path or function.raw or function.whole or function.joins:
        return None
    zone, nullable = schema.zone, function.nullable
    given: list[Any] = [*call.arguments, *(p.default for p in function.parameters[len(call.arguments) :])]
    fitted = [
        fit_values((value,), function.parameter_at(n).family, zone) for n, value in enumerate(given) if n != place
    ]
    if not all(fitted):
        return None
    constants = [value for (value,) in fitted]
    before, after = constants[:place], constants[place:]
    family, compute = function.parameter_at(place).family, function.call
    keywords: dict[str, Any] = {"zone": zone} if function.zoned else {}
    if function.typed:
        keywords["types"] = [spark_type(argument, schema) for argument in call.arguments]

    def step(value: Any) -> Any:
        if value is None:
            if not nullable:
                return None
        elif family is not Family.ANY:
            value = fit(value, family, zone)
            if value is None:
                return None
        result = compute(*before, value, *after, **keywords)
        return None if is_missing(result) else result

    return step
