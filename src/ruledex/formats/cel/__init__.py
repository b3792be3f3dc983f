"""Reads and writes expressions of CEL, the Common Expression Language."""
