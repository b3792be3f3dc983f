"""Correlation rules as data. They count what rules find over time, so they are kept beside the rules, not indexed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sigma.correlations import SigmaCorrelationRule, SigmaExtendedCorrelationCondition

_TAGS: Final = ("title", "name", "level", "status", "tags")
_LOGSOURCE: Final = ("category", "product", "service")


def sigma_tags(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a Sigma rule says of itself as the tags of a rule."""
    found = {name: document[name] for name in _TAGS if document.get(name)}
    source = document.get("logsource")
    if isinstance(source, Mapping):
        found["logsource"] = {name: source[name] for name in _LOGSOURCE if source.get(name)}
    return found


def references_of(rule: SigmaCorrelationRule) -> list[str]:
    """Return the names or ids of the rules that a correlation counts."""
    if rule.rules is not None:
        return [reference.reference for reference in rule.rules]
    condition = rule.condition
    return condition.get_referenced_rules() if isinstance(condition, SigmaExtendedCorrelationCondition) else []


def correlation_record(rule: SigmaCorrelationRule, rule_id: str, ids: Mapping[str, str]) -> dict[str, Any]:
    """Return a correlation as data of JSON. `ids` has the ids of the rules that it names."""
    made: dict[str, Any] = {
        "correlate": rule_id,
        "type": rule.type.name.lower(),
        "rules": [ids[reference] for reference in references_of(rule)],
        "seconds": rule.timespan.seconds,
        "group_by": list(rule.group_by or ()),
        "generate": rule.generate,
    }
    condition = rule.condition.to_dict()
    if isinstance(condition, str):
        made["condition"] = condition
        made["names"] = {name: ids[name] for name in references_of(rule)}
    else:
        made["condition"] = condition
    if len(rule.aliases):
        made["aliases"] = {
            alias: {ids.get(name, name): field for name, field in mapping.items()}
            for alias, mapping in rule.aliases.to_dict().items()
        }
    tags = sigma_tags(rule.to_dict())
    if tags:
        made["tags"] = tags
    return made
