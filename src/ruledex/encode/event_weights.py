"""An event's own weights, as a user may give them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ruledex.errors import EventError
from ruledex.language.reference import Weights
from ruledex.language.shown import shown
from ruledex.language.value import as_double


def checked_weights(weights: Mapping[str, Any] | None) -> Weights:
    """Weights as floats, what is None left out; an error where one is not finite, or negative."""
    found: dict[str, float | dict[Any, float]] = {}
    if weights is None:
        return found
    if not isinstance(weights, Mapping):
        raise EventError(f"weights are a mapping of attributes to numbers, not {type(weights).__name__}")
    for name, given in weights.items():
        if isinstance(given, Mapping):
            found[name] = {value: _number(name, weight) for value, weight in given.items() if weight is not None}
        elif given is not None:
            found[name] = _number(name, given)
    return found


def _number(name: str, weight: Any) -> float:
    is_number = isinstance(weight, int | float) or (isinstance(weight, Decimal) and not weight.is_nan())
    number = as_double(weight) if is_number else math.nan
    if not (math.isfinite(number) and number >= 0):
        raise EventError(f"the weight of {name!s:.100} is {shown(weight):.100}; weights are finite and not negative")
    return number
