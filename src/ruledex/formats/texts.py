"""Converts rules of other systems that lie in a column of texts, each by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from ruledex.errors import RuleError, RuleSyntaxError
from ruledex.formats import read
from ruledex.formats.rules import ForeignRule

_PLAIN: Final = ("cel", "sigma", "spark")  # formats of texts; all others are JSON


class ConvertedTexts(NamedTuple):
    """For each text its rules, or why there are none; and the named conditions that the rules use."""

    found: list[list[ForeignRule] | RuleError]
    definitions: dict[str, str]


def convert_texts(texts: Sequence[str | None], format: str, options: Mapping[str, Any]) -> ConvertedTexts:  # noqa: A002
    """Convert texts. Most hold one rule; a file of features holds several. A rule that cannot be read stops no other.

    >>> from ruledex.formats.texts import convert_texts
    >>> [rules[0].text for rules in convert_texts(['{"a": ["x"]}'], "eventbridge", {}).found]
    ["a = 'x'"]
    """
    found: list[list[ForeignRule] | RuleError] = [[] for _ in texts]
    documents: list[tuple[int, Any]] = []
    for row, text in enumerate(texts):
        try:
            documents.append((row, text if format in _PLAIN and text is not None else _parsed(text)))
        except RuleError as error:
            found[row] = error
    converted = read(documents, format, **options)
    row_of = [row for row, _ in documents]
    for fault in converted.faults:
        found[row_of[fault.line - 1]] = fault.error
    for rule in converted:
        rules = found[row_of[rule.line - 1]]
        if isinstance(rules, list):
            rules.append(rule)
    for row, rules in enumerate(found):
        if rules == []:
            found[row] = RuleError("this holds no rule that could be true of one event")
    return ConvertedTexts(found, converted.definitions)


def _parsed(text: str | None) -> Any:
    if text is None:
        raise RuleError("there is no text")
    try:
        return orjson.loads(text)
    except ValueError as error:
        raise RuleSyntaxError(f"$: this is not JSON: {error}") from None
