"""Index, which finds the rules that are true of an event, and what else other families may use of it.

The module `parts` builds an index in several processes. Everything else in this folder is its own affair. Names are
loaded at their first use, so that this import is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ruledex.index.answers import Rule
    from ruledex.index.collection import Indexes, index_roots, is_index_name
    from ruledex.index.column_check import FAULTS, describe_faults, rules_by_missing
    from ruledex.index.coverage import IndexCoverage, coverage_of, same_rules
    from ruledex.index.filters import check_filter, without_rules
    from ruledex.index.identities import RuleId
    from ruledex.index.index import Index
    from ruledex.index.inputs import Stats
    from ruledex.index.live.home import verify_index
    from ruledex.index.live.waiting import changes_together
    from ruledex.index.opening import read_schema
    from ruledex.index.ranges import RuleRange, RuleReader
    from ruledex.index.state import IndexMatches
    from ruledex.index.tags import json_tags, read_json_tags

__all__ = [
    "FAULTS",
    "Index",
    "IndexCoverage",
    "IndexMatches",
    "Indexes",
    "Rule",
    "RuleId",
    "RuleRange",
    "RuleReader",
    "Stats",
    "changes_together",
    "check_filter",
    "coverage_of",
    "describe_faults",
    "index_roots",
    "is_index_name",
    "json_tags",
    "read_json_tags",
    "read_schema",
    "rules_by_missing",
    "same_rules",
    "verify_index",
    "without_rules",
]

_MODULES = {
    "FAULTS": "column_check",
    "Index": "index",
    "IndexCoverage": "coverage",
    "IndexMatches": "state",
    "Indexes": "collection",
    "Rule": "answers",
    "RuleId": "identities",
    "RuleRange": "ranges",
    "RuleReader": "ranges",
    "Stats": "inputs",
    "changes_together": "live.waiting",
    "check_filter": "filters",
    "describe_faults": "column_check",
    "coverage_of": "coverage",
    "index_roots": "collection",
    "is_index_name": "collection",
    "json_tags": "tags",
    "read_json_tags": "tags",
    "read_schema": "opening",
    "rules_by_missing": "column_check",
    "same_rules": "coverage",
    "verify_index": "live.home",
    "without_rules": "filters",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
