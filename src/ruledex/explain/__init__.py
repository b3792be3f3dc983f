"""Explains why a rule is true of an event or not: every clause with its truth and values, and the smallest change."""

from ruledex.explain.clause import Clause, Seen
from ruledex.explain.explanation import Change, Explanation, Original, explain, explain_text, original_of

__all__ = ["Change", "Clause", "Explanation", "Original", "Seen", "explain", "explain_text", "original_of"]
