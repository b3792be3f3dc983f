"""An event's own weights, as a user may give them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ruledex.errors import EventError
from ruledex.language.reference import Weights


def checked_weights(weights: Mapping[str, Any]) -> Weights:
    """Weights as floats, what is None left out; an error where one is not finite, or negative."""
    found: dict[str, float | dict[Any, float]] = {}
    for name, given in weights.items():
        if isinstance(given, Mapping):
            found[name] = {value: _number(name, weight) for value, weight in given.items() if weight is not None}
        elif given is not None:
            found[name] = _number(name, given)
    return found


def _number(name: str, weight: Any) -> float:
    number = float(weight) if isinstance(weight, int | float | Decimal) else math.nan
    if not (math.isfinite(number) and number >= 0):
        raise EventError(f"the weight of {name} is {weight!r}; weights are finite and not negative")
    return number
