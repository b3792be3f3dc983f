"""Rules and events by the million, as Spark jobs on a session that the caller owns.

Plain functions on DataFrames, lazy where Spark is, for classic sessions and for Spark Connect. Paths are those that the
workers see.
"""

from __future__ import annotations

from ruledex.spark.backtest import backtest
from ruledex.spark.build import BuildReport, build_index
from ruledex.spark.coverage import coverage
from ruledex.spark.distribution import ship
from ruledex.spark.match import match
from ruledex.spark.pins import pins
from ruledex.spark.profile import profile
from ruledex.spark.ratify import ratify
from ruledex.spark.udf import match_ids

__all__ = [
    "BuildReport",
    "backtest",
    "build_index",
    "coverage",
    "match",
    "match_ids",
    "pins",
    "profile",
    "ratify",
    "ship",
]
