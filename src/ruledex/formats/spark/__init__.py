"""Reads and writes conditions of Spark SQL."""
