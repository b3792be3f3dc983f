"""Functions that tests add to the language, in a module that other processes can import."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np

import ruledex

CALLS: list[int] = []  # how many values each call of a vectorised function had


@ruledex.function("tx_risk", takes=["number", "string"], gives="number", version="1")
def risk(amount, country):
    """The risk of an amount in a country."""
    if amount < 0:
        raise ValueError("amounts are not negative")
    return amount * (2 if country == "XX" else 1)


@ruledex.function("tx_odd", takes=["number"], gives="boolean", version="1")
def odd(number):
    return {0: False, 1: True, 2: None, 3: 1, 4: np.bool_(True), 5: float("nan")}.get(number)


@ruledex.function("tx_later", takes=["time"], gives="time", version="1")
def later(time):
    return time + timedelta(days=1) if isinstance(time, datetime) else None


@ruledex.function("tx_half", takes=["number"], gives="number", version="1", vectorised=True)
def half(numbers):
    CALLS.append(len(numbers))
    assert numbers.dtype == np.float64
    if (numbers < 0).any():
        raise ValueError("not negative")
    return np.where(numbers > 100, np.nan, numbers / 2)


@ruledex.function("tx_join", takes=["string", "string"], gives="string", version="1", vectorised=True)
def join(left, right):
    return [a + b if a != "none" else None for a, b in zip(left, right, strict=True)]


@ruledex.function("tx_short", takes=["string"], gives="string", version="1", vectorised=True)
def short(texts):
    return list(texts)[1:]
