"""Replaces moments counted from now by integers. Keeps all three truth values.

    ts > now() - INTERVAL 1 DAY           =  place(ts) > p             with the place p of the moment
    ts BETWEEN now() AND now() + …        =  place(ts) BETWEEN p AND q if one function has both places, and else
                                             is_between(ts, now(), now() + …)
    ts IN (now(), DATE '2024-01-01')      =  place(ts) IN (p) OR ts IN (DATE '2024-01-01')

functions/moment_places.py says what `place` is. Moments with different functions are never compared or merged.
"""

from __future__ import annotations

from datetime import tzinfo

from ruledex.language.functions.moment_places import has_start, place_moment
from ruledex.language.schema import Schema
from ruledex.language.time_syntax import operand_of_constant
from ruledex.language.tree import Between, Call, Compare, Expression, In, NullSafe, Operand, Or, Predicate, Value
from ruledex.language.value_types import Moment


def place_moments(predicate: Predicate, schema: Schema) -> Expression:
    """Return a predicate that has moments without them."""
    zone = schema.zone
    match predicate:
        case Compare(operand, op, Moment() as moment, weight):
            place, at = _place(operand, moment, zone)
            return Compare(place, op, at, weight)
        case NullSafe(operand, Moment() as moment, weight):
            place, at = _place(operand, moment, zone)
            return NullSafe(place, at, weight)
        case Between(operand, low, high, weight):
            return _between(operand, low, high, weight, zone)
    assert isinstance(predicate, In)
    return _membership(predicate, zone)


def _place(operand: Operand, moment: Moment, zone: tzinfo) -> tuple[Operand, int]:
    months, form, at = place_moment(moment, zone)
    return Call("moment_place", (operand, months, form)), at


def _between(operand: Operand, low: Value, high: Value, weight: float, zone: tzinfo) -> Expression:
    if isinstance(low, Moment) and isinstance(high, Moment) and low.is_date == high.is_date:
        for moment, other in ((low, high), (high, low)):
            months, form, at = place_moment(moment, zone)
            same_form = place_moment(other, zone)[:2] == (months, form)
            # Now, or now plus the months of the function, is at 0 in most forms.
            is_start = has_start(form) and other == Moment(months, 0, other.is_date)
            if same_form or is_start:
                ends = (at, place_moment(other, zone)[2] if same_form else 0)
                first, last = ends if moment is low else (ends[1], ends[0])
                return Between(Call("moment_place", (operand, months, form)), first, last, weight)
    ends_of = (operand_of_constant(low), operand_of_constant(high))
    return Compare(Call("is_between", (operand, *ends_of)), "=", True, weight)


def _membership(predicate: In, zone: tzinfo) -> Expression:
    """Return one list per function, and one of the other constants."""
    parts: dict[Operand, list[tuple[Value, float]]] = {}
    weights = predicate.weights or (1.0,) * len(predicate.values)
    for value, weight in zip(predicate.values, weights, strict=True):
        operand, at = (
            _place(predicate.operand, value, zone) if isinstance(value, Moment) else (predicate.operand, value)
        )
        parts.setdefault(operand, []).append((at, weight))
    made = [
        In(operand, tuple(v for v, _ in members), tuple(w for _, w in members), predicate.has_null)
        for operand, members in parts.items()
    ]
    return made[0] if len(made) == 1 else Or(tuple(made))
