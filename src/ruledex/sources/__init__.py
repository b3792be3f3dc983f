"""Rules and events from files, row by row; a broken row is a value, not the end."""

from ruledex.sources.event_file import read_events
from ruledex.sources.row import BadRow, Columns, RuleRow
from ruledex.sources.rule_file import RuleFile

__all__ = ["BadRow", "Columns", "RuleFile", "RuleRow", "read_events"]
