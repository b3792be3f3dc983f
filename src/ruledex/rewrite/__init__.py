"""Rewrites of trees. `pipeline.py` has their order."""
