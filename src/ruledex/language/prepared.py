"""A function of one attribute, made ready for events that have a plain scalar there.

`values_of` (resolve.py) says what a call is for any event: with arrays, missing values and limits. Most rules call
functions of one attribute and constants, and most events have one plain value there. What does not depend on the event
is then found once: the functions, the constants as they fit, the types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from ruledex.language.functions.registry import FUNCTIONS
from ruledex.language.resolve import fit_values, spark_type
from ruledex.language.schema import Schema
from ruledex.language.tree import Attribute, Call, Node, Operand
from ruledex.language.value import Family, fit, is_missing

SCALARS: Final = frozenset((int, float, str, bool))
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
        return value if type(value) in SCALARS and value == value else None


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
