"""Convert rules of another system inside a task of a build. What cannot be converted stays, with the reason."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson
import pyarrow as pa

from ruledex.errors import RuleError, RuleSyntaxError
from ruledex.explain import Original
from ruledex.formats import ForeignRule, read
from ruledex.index.parts import BAD, ORIGINAL, TAGS, tags_text
from ruledex.language.definitions import names_in_text

DEFINITIONS: Final = "definitions"  # JSON of the named conditions that a rule uses, null for most
OWN_IDS: Final = ("growthbook",)  # formats in which a row holds several rules, with ids of their own


def convert_batches(
    format: str,  # noqa: A002
    options: Mapping[str, Any],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield rules in the language of ruledex, with originals and definitions. Rows have id, expr, score, maybe tags.

    A row that cannot be converted keeps its text, and its original is the code and the message of the error behind a
    mark. A row that holds several rules gives several, with ids of the format's own.
    """
    for batch in batches:
        rows = batch.to_pylist()
        found, definitions = convert_texts([row["expr"] for row in rows], format, options)
        made: list[dict[str, Any]] = []
        for row, rules in zip(rows, found, strict=True):
            if isinstance(rules, RuleError):
                made.append(_refused(row, rules))
                continue
            made += [_converted(row, rule, format, definitions) for rule in rules]
        strings = {name: pa.string() for name in ("expr", TAGS, ORIGINAL, DEFINITIONS)}
        types = {"id": batch.schema.field("id").type, "expr": strings["expr"], "score": pa.float64(), **strings}
        yield pa.RecordBatch.from_pylist(made, pa.schema(types))


def _refused(row: Mapping[str, Any], error: RuleError) -> dict[str, Any]:
    return {**row, TAGS: row.get(TAGS), ORIGINAL: BAD + json.dumps([error.code, str(error)])}


def _converted(
    row: Mapping[str, Any],
    rule: ForeignRule,
    format: str,  # noqa: A002
    definitions: Mapping[str, str],
) -> dict[str, Any]:
    names = names_in_text(rule.text)
    used = {name: text for name, text in definitions.items() if name in names}
    try:
        tags = row.get(TAGS) or tags_text(rule.tags)
    except RuleError as error:
        return _refused(row, error)
    return {
        "id": rule.id if format in OWN_IDS else row["id"],
        "expr": rule.text,
        "score": rule.score if row["score"] is None else row["score"],
        TAGS: tags,
        ORIGINAL: Original(format, rule.original).stored(),
        DEFINITIONS: json.dumps(used) if used else None,
    }


_PLAIN: Final = ("cel", "sigma", "spark")  # formats of texts; all others are JSON


class ConvertedTexts(NamedTuple):
    """For each text its rules, or why there are none; and the named conditions that the rules use."""

    found: list[list[ForeignRule] | RuleError]
    definitions: dict[str, str]


def convert_texts(texts: Sequence[str | None], format: str, options: Mapping[str, Any]) -> ConvertedTexts:  # noqa: A002
    """Convert texts. Most hold one rule; a file of features holds several. A rule that cannot be read stops no other.

    >>> from ruledex.spark.jobs.build.converting import convert_texts
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
