"""Rewrites of trees, one a file; `pipeline.py` is their order."""
