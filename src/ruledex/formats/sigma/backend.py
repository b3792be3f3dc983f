"""The backend of pySigma that writes rules of ruledex: `sigma convert -t ruledex`.

Conditions become trees. A tree becomes a text only where a query is finished. Correlation rules count what rules find
over time, so they are kept as data beside the rules, and are not indexed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

import orjson
from sigma.conditions import (
    ConditionAND,
    ConditionFieldEqualsValueExpression,
    ConditionItem,
    ConditionNOT,
    ConditionOR,
    ConditionValueExpression,
)
from sigma.conversion.base import TextQueryBackend
from sigma.conversion.state import ConversionState
from sigma.correlations import SigmaCorrelationRule, SigmaExtendedCorrelationCondition
from sigma.exceptions import SigmaBackendError, SigmaConditionError, SigmaError, SigmaValueError
from sigma.modifiers import SigmaWideModifier, modifier_mapping
from sigma.processing.pipeline import ProcessingPipeline
from sigma.rule import SigmaRule
from sigma.types import SigmaFieldReference, SigmaQueryExpression

from ruledex.errors import RuleError
from ruledex.formats.conditions import all_of, any_of, negate
from ruledex.formats.rules import Note
from ruledex.formats.sigma.values import any_value, field_condition, keyword_condition, looks_for_numbers, same_as_field
from ruledex.language.parser import parse
from ruledex.language.text import tree_text
from ruledex.language.tree import Attribute, Expression

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


Callback = Callable[[SigmaRule | SigmaCorrelationRule, str | None, int, Any, Any], Any]

modifier_mapping.setdefault("utf16le", SigmaWideModifier)  # the specification's name, which pySigma 1.5 lacks

_SELECTOR: Final = re.compile(r"\b(?:1|any|all)\s+of\s+([\w*]+)")
_NUMBERS_UNSEEN: Final = "a keyword is looked for in texts: numbers of the event are not seen"


class RuledexBackend(TextQueryBackend):
    """Converts Sigma rules to rules of ruledex. `dotted_names=False` is shorter, for events without dots in names."""

    name: ClassVar[str] = "ruledex"
    identifier: ClassVar[str] = "ruledex"  # as sigma-cli finds it
    formats: ClassVar[dict[str, str]] = {
        "default": "One rule as text per condition",
        "jsonl": "One JSON object per rule, with id and tags, as `ruledex build` reads it; correlations too",
    }
    correlation_methods: ClassVar[dict[str, str] | None] = {"default": "Correlations as data, in the format jsonl"}
    finalize_correlation_subqueries = True

    def __init__(
        self,
        processing_pipeline: ProcessingPipeline | None = None,
        collect_errors: bool = False,
        dotted_names: bool | str = True,
        **options: Any,
    ) -> None:
        super().__init__(processing_pipeline, collect_errors, **options)
        self.notes: list[Note] = []
        self._dotted_names = str(dotted_names).lower() not in ("false", "0", "no")
        self.init_processing_pipeline()

    def tree_of(self, rule: SigmaRule, notes: list[Note]) -> Expression:
        """Return the tree of a rule. Adds to `notes` what it approximates. The rule is changed by the pipeline."""
        self.notes = notes
        self.last_processing_pipeline.apply(rule)
        return any_of(self._trees(rule))

    def _trees(self, rule: SigmaRule) -> list[Expression]:
        trees: list[Expression] = []
        for condition in rule.detection.parsed_condition:
            _check_selectors(condition.condition, rule)
            tree: Any = self.convert_condition(condition.parsed, ConversionState())
            if tree is None:
                raise SigmaConditionError(f"nothing is left of the condition {condition.condition!r}")
            trees.append(tree)
        return trees

    # Conditions.

    def convert_condition_or(self, cond: ConditionOR, state: ConversionState) -> Any:
        """Return the OR of conditions."""
        parts = self._parts(cond, state)
        return any_value(parts) if parts else None

    def convert_condition_and(self, cond: ConditionAND, state: ConversionState) -> Any:
        """Return the AND of conditions."""
        parts = self._parts(cond, state)
        return all_of(parts) if parts else None

    def convert_condition_not(self, cond: ConditionNOT, state: ConversionState) -> Any:
        """Return what holds where a condition does not, also where its field is missing."""
        parts = self._parts(cond, state)
        return negate(parts[0]) if parts else None

    def _parts(self, cond: ConditionItem, state: ConversionState) -> list[Expression]:
        found: list[Any] = [self.convert_condition(arg, state) for arg in cond.args]
        return [part for part in found if part is not None]  # a pipeline may drop detection items

    def convert_condition_field_eq_val(self, cond: ConditionFieldEqualsValueExpression, state: ConversionState) -> Any:
        """Return that a field has a value."""
        del state
        if isinstance(cond.value, SigmaQueryExpression):
            return _parsed(cond.value.finalize(_written(cond.field)))
        try:
            left = self._spellings(cond.field)
            if isinstance(cond.value, SigmaFieldReference):
                return same_as_field(cond.value, left, self._spellings(cond.value.field))
            return field_condition(cond.value, left)
        except (SigmaError, RuleError) as error:
            raise SigmaValueError(f"the field {cond.field}: {_message(error)}") from None

    def convert_condition_val(self, cond: ConditionValueExpression, state: ConversionState) -> Any:
        """Return that some text of the event has a keyword in it."""
        del state
        if isinstance(cond.value, SigmaQueryExpression):
            return _parsed(cond.value.finalize())
        try:
            found = keyword_condition(cond.value)
        except RuleError as error:
            raise SigmaValueError(error.message) from None
        note = Note("$.detection", _NUMBERS_UNSEEN)
        if looks_for_numbers(cond.value) and note not in self.notes:
            self.notes.append(note)
        return found

    def _spellings(self, field: str) -> list[Attribute]:
        """Return the ways in which an event may write a name: `a.b` is a field in an object, or a name with a dot."""
        steps = tuple(field.split("."))
        if len(steps) == 1 or not all(steps):
            return [Attribute((field,))]
        return [Attribute(steps), Attribute((field,))] if self._dotted_names else [Attribute(steps)]

    # What pySigma calls for `sigma convert`.

    def finish_query(self, rule: SigmaRule | SigmaCorrelationRule, query: Any, state: ConversionState) -> Any:
        """Return the tree as it is."""
        del rule, state
        return query

    def finalize_query_default(self, rule: SigmaRule, query: Any, index: int, state: ConversionState) -> str:
        """Return a tree as a text."""
        del rule, index, state
        return tree_text(query)

    def finalize_query_jsonl(self, rule: SigmaRule, query: Any, index: int, state: ConversionState) -> str:
        """Return a rule as a line of JSON."""
        del state
        rule_id = str(rule.id or rule.title) + (f":{index + 1}" if len(rule.detection.parsed_condition) > 1 else "")
        return _line({"id": rule_id, "expr": tree_text(query), "tags": sigma_tags(rule.to_dict())})

    def finalize_output_jsonl(self, queries: list[str]) -> str:
        """Return all lines. A rule that several correlations name stands once."""
        return "\n".join(dict.fromkeys(queries))

    def convert_correlation_rule(
        self,
        rule: SigmaCorrelationRule,
        output_format: str | None = None,
        method: str | None = None,
        callback: Callback | None = None,
    ) -> list[Any]:
        """Return the rules of a correlation and the correlation itself, as lines of JSON."""
        del method, callback
        if output_format != "jsonl":
            raise SigmaBackendError(
                f"the correlation {rule.title!r} is no rule of ruledex: the format jsonl has it as data (-f jsonl)"
            )
        self.last_processing_pipeline.apply(rule)
        rules = [line for reference in rule.referenced_rules for line in reference.rule.get_conversion_result()]
        names = {r.reference: str(r.rule.id or r.rule.title) for r in rule.referenced_rules}
        made = [_line(correlation_record(rule, str(rule.id or rule.title), names))]
        rule.set_conversion_result(made)
        return rules + made


def _line(record: dict[str, Any]) -> str:
    return orjson.dumps(record, default=str).decode()


def _check_selectors(condition: str, rule: SigmaRule) -> None:
    """Raise if `1 of` or `all of` names no detection, which pySigma would leave out of the condition."""
    for pattern in _SELECTOR.findall(condition):
        expression = ".*" if pattern == "them" else pattern.replace("*", ".*")
        if not any(re.fullmatch(expression, name) for name in rule.detection.detections):
            raise SigmaConditionError(f"no detection has a name like {pattern}")


def _parsed(query: str) -> Expression:
    try:
        return parse(query)
    except RuleError as error:
        message = f"the pipeline gives the query {query!r}, which is no rule of ruledex: {error.message}"
        raise SigmaValueError(message) from None


def _message(error: Exception) -> str:
    return error.message if isinstance(error, RuleError) else str(error)


def _written(field: str) -> str:
    """Return a name as a rule writes it."""
    return ".".join(step if step.isidentifier() else f"`{step}`" for step in field.split("."))
