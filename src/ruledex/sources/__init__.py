"""Read rules and events from files, row by row. A broken row is returned as a value and does not end the file."""

from ruledex.sources.event_file import read_events
from ruledex.sources.row import BadRow, Columns, RuleRow
from ruledex.sources.rule_file import RuleFile

__all__ = ["BadRow", "Columns", "RuleFile", "RuleRow", "read_events"]
