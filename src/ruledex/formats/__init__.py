"""Read rules that were written for other systems. One module per format; `read` joins them.

A rule that cannot be read becomes a fault and does not stop the others. Where a rule means something else here than in
its own system, a note says so, with the place.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ruledex.errors import InputError, RuleError, RuleFault, RuleLimitError, RuleSyntaxError, did_you_mean, quoted
from ruledex.formats.documents import Document, Source, documents_of
from ruledex.formats.guessing import OWN, Guess, guess, hint_of
from ruledex.formats.rules import ForeignRule, ForeignRules, Note, Translator
from ruledex.language.parser import parse
from ruledex.language.rule_checks import check_depth
from ruledex.language.structured_parts import Place
from ruledex.language.text import tree_text

if TYPE_CHECKING:
    from collections.abc import Callable

FORMATS: Final = ("eventbridge", "jsonlogic", "mongo")

AUTO: Final = "auto"  # asks for a guess

__all__ = ["AUTO", "FORMATS", "ForeignRule", "ForeignRules", "Guess", "Note", "guess", "hint_of", "read"]


def read(source: Source, format: str, **options: Any) -> ForeignRules:  # noqa: A002  # as `open` and others call it
    """Read rules of another system: a file or folder of JSON, a mapping of ids to rules, or pairs of them.

    The result is a sequence of rules; `faults` are those that cannot be used, `definitions` the named conditions that
    the rules use. The options are those of the format (docs/formats.md). The format `"auto"` is `guess`'s.

    >>> from ruledex import formats
    >>> rules = formats.read({"big": {"detail": {"size": [{"numeric": [">", 100]}]}}, "bad": {"a": 1}}, "eventbridge")
    >>> rules[0].id, rules[0].text
    ('big', 'detail.size > 100 OR `detail.size` > 100')
    >>> print(rules.faults[0])
    rule 'bad': $.a: a field takes a list of values, or an object of fields, not 1
    """
    if format == AUTO:
        source = source if isinstance(source, str | os.PathLike | Mapping) else _pairs(source)
        format = _guessed(source)  # noqa: A001
    translator = _translator(format, options)
    found, faults = list[ForeignRule](), list[RuleFault]()
    for document in documents_of(source, translator.keys):
        if document.error is not None:
            faults.append(RuleFault(document.rule_id, document.error, document.line, document.file))
            continue
        try:
            found.append(_translated(document, translator))
        except RuleError as error:
            faults.append(RuleFault(document.rule_id, document.placed(error), document.line, document.file))
    return ForeignRules(found, faults, dict(translator.definitions), format)


def _pairs(source: Any) -> Any:
    return list(source) if isinstance(source, Iterable) and not isinstance(source, bytes) else source


def _guessed(source: Source) -> str:
    found = guess(source)
    if found.format == OWN:
        raise InputError(f"these are rules of ruledex already ({found.reason}), and need no format")
    return found.format


def _translated(document: Document, translator: Translator) -> ForeignRule:
    notes: list[Note] = []
    try:
        tree = translator.translate(document.content, Place(), notes)
        check_depth(tree, "")
        text = tree_text(tree)
    except RecursionError:
        raise RuleLimitError("the rule nests too deep") from None
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RuleSyntaxError("the rule has half of a surrogate pair, which is not Unicode") from None
    try:
        parse(text)
    except RuleError as error:
        raise type(error)(f"$: in the language of ruledex this is no rule: {error.message}", hint=error.hint) from None
    given = document
    return ForeignRule(given.rule_id, text, tree, given.score, given.tags, given.content, notes, given.file, given.line)


def _translator(name: str, options: dict[str, Any]) -> Translator:
    if name not in FORMATS:
        hint = did_you_mean(name, FORMATS) if isinstance(name, str) else ""
        raise InputError(f"there is no format {quoted(name)}; {hint or 'the formats are ' + ', '.join(FORMATS)}")
    make: Callable[..., Translator] = importlib.import_module(f"ruledex.formats.{name}").translator
    try:
        return make(**options)
    except TypeError:
        raise InputError(f"the format {name} has no option among {', '.join(map(quoted, options))}") from None
