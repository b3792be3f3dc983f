"""Rewrites of trees, one pass per file. `pipeline.py` has their order."""
