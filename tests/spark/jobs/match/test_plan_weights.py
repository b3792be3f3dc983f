"""Columns that may hold weights."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    MapType,
    StringType,
    StructType,
)

from ruledex.errors import RuledexError
from ruledex.spark.jobs.match.plan import check_answer, require_weights

NUMBER, TEXT = DoubleType(), StringType()


@pytest.mark.parametrize(
    "kind",
    [
        MapType(TEXT, NUMBER),
        MapType(TEXT, MapType(IntegerType(), DecimalType(3, 1))),
        StructType().add("a", FloatType()).add("b", MapType(TEXT, IntegerType())),
    ],
    ids=lambda kind: kind.simpleString(),
)
def test_columns_that_can_hold_weights(kind):
    require_weights("w", kind)


@pytest.mark.parametrize(
    "kind",
    [NUMBER, ArrayType(NUMBER), MapType(IntegerType(), NUMBER), MapType(TEXT, TEXT), StructType().add("a", TEXT)],
    ids=lambda kind: kind.simpleString(),
)
def test_columns_that_cannot(kind):
    with pytest.raises(RuledexError, match="weights are a map or a struct"):
        require_weights("w", kind)


@pytest.mark.parametrize("top", [-1, "3", True, 2.5])
def test_the_number_of_best_rules_is_checked_when_a_match_is_planned(top):
    with pytest.raises(RuledexError, match="it must be a whole number, 0 or more"):
        check_answer(top, "sum", None, explode=False, count=False)
