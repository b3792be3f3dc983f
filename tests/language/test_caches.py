"""Caches of the language are bounded by bytes: long names and patterns are read each time."""

from __future__ import annotations

import gc
import tracemalloc
from contextlib import suppress

import pytest

from ruledex.errors import RuleError
from ruledex.language.parser import parse
from ruledex.language.pattern import is_like
from ruledex.language.structured import from_structured

MEGABYTE = 1024 * 1024
LONG = 8_000


def name(i: int) -> str:
    return f"a{i}" + "n" * LONG


def structured(i: int) -> None:
    from_structured({"op": "=", "operand": {"attribute": name(i)}, "value": 1})


def time_pattern(i: int) -> None:
    with pytest.raises(RuleError):
        parse(f"to_date(x, 'yyyy{'-' * (LONG + i)}') = DATE '2024-01-01'")


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(lambda i: parse(f"{name(i)} = 1 AND {name(i)} > 2"), id="names"),
        pytest.param(lambda i: parse(".".join("é" * (LONG // 8)) + f".x{i} = 1"), id="paths"),
        pytest.param(structured, id="structured names"),
        pytest.param(lambda i: is_like("x", f"{i}" + "%x" * 300, False), id="LIKE patterns"),
        pytest.param(time_pattern, id="time patterns"),
    ],
)
def test_hundreds_of_long_rules_leave_nothing_behind(read) -> None:
    with suppress(RuleError):
        read(1000)
    gc.collect()
    tracemalloc.start()
    try:
        for i in range(100):
            with suppress(RuleError):  # another limit
                read(i)
        gc.collect()
        left = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert left < MEGABYTE // 4
