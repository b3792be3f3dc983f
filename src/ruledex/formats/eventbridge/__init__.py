"""Reads and writes event patterns of Amazon EventBridge."""
