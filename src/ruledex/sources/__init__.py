"""Read rules and events from files, row by row. A broken row is returned as a value and does not end the file."""

from ruledex.sources.event_file import EventFile, read_columns, read_events
from ruledex.sources.rule_file import EMPTY_ID, BadRow, Columns, DefinitionRow, Row, RuleFile, RuleRow, definition_in

__all__ = [
    "EMPTY_ID",
    "BadRow",
    "Columns",
    "DefinitionRow",
    "EventFile",
    "Row",
    "RuleFile",
    "RuleRow",
    "definition_in",
    "read_columns",
    "read_events",
]
