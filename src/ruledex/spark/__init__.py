"""Build, match and inspect indexes with Spark jobs, on a session that the caller owns.

The functions take and return DataFrames, are lazy where Spark is lazy, and work on classic sessions and through Spark
Connect. Paths are paths as the workers see them.
"""

from __future__ import annotations

from ruledex.artifact import set_storage_options
from ruledex.spark.jobs.backtest import backtest
from ruledex.spark.jobs.build.job import BuildReport, build_index
from ruledex.spark.jobs.coverage import coverage
from ruledex.spark.jobs.match.plan import match, match_ids
from ruledex.spark.jobs.match.stream import pins
from ruledex.spark.jobs.profile.job import profile
from ruledex.spark.jobs.ratify.job import ratify
from ruledex.spark.sql.functions import RegisteredIndex, register
from ruledex.spark.sql.source import RuledexSource
from ruledex.spark.worker.distribution import ship
from ruledex.spark.worker.faults import check_columns

__all__ = [
    "BuildReport",
    "RegisteredIndex",
    "RuledexSource",
    "backtest",
    "build_index",
    "check_columns",
    "coverage",
    "match",
    "match_ids",
    "pins",
    "profile",
    "ratify",
    "register",
    "set_storage_options",
    "ship",
]
