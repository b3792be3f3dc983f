"""Tells Spark of the data source `ruledex`: it looks into every installed module whose name begins with `pyspark_`."""

from __future__ import annotations

from ruledex.spark.sql.source import RuledexSource as DefaultSource

__all__ = ["DefaultSource"]
