"""Rules and events by the million, as Spark jobs on a session that the caller owns.

Plain functions on DataFrames, lazy where Spark is, for classic sessions and for Spark Connect. Paths are those that the
workers see.
"""

from __future__ import annotations

from ruledex.spark.match import match

__all__ = ["match"]
