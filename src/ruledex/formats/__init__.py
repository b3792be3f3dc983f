"""Read and write rules of other systems. One module or folder per format; `read` and `write` join them.

A rule that cannot be read becomes a fault and does not stop the others. Where a rule means something else here than in
its own system, a note says so, with the place.
"""

from __future__ import annotations

import importlib
import inspect
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ruledex.errors import InputError, RuleError, RuleFault, RuleLimitError, RuleSyntaxError, did_you_mean, quoted
from ruledex.formats.checking import TreeCheck
from ruledex.formats.conditions import bounded_growth, check_written_size
from ruledex.formats.documents import Document, Files, Source, documents_of, without_repeated_ids
from ruledex.formats.guessing import OWN, Guess, guess, hint_of
from ruledex.formats.rules import ForeignRule, ForeignRules, Note, SetTranslator, Translator
from ruledex.formats.writing import OwnDocuments, Progress, Written, WrittenRule, WrittenRules, given_rules, rule_tree
from ruledex.language.definitions import check_definitions
from ruledex.language.rule_checks import check_nesting
from ruledex.language.structured_parts import Place
from ruledex.language.text import tree_text

if TYPE_CHECKING:
    from collections.abc import Callable

# The module of each format that has `translator`.
_READERS: Final = {
    "cel": "cel.reader",
    "elasticsearch": "elasticsearch.reader",
    "eventbridge": "eventbridge.reader",
    "growthbook": "growthbook",
    "jsonlogic": "jsonlogic",
    "mongo": "mongo",
    "mustang": "mustang.reader",
    "sigma": "sigma.reader",
    "spark": "spark.reader",
}
FORMATS: Final = tuple(_READERS)
# Formats that can be written: the module and the function that writes a rule, and the key of a rule in a file.
_WRITERS: Final = {
    "cel": ("cel.writer", "write_cel", "expression"),
    "elasticsearch": ("elasticsearch.writer", "write_query", "query"),
    "eventbridge": ("eventbridge.writer", "write_pattern", "EventPattern"),
    "jsonlogic": ("jsonlogic_writer", "write_jsonlogic", "rule"),
    "mongo": ("mongo_writer", "write_condition", "condition"),
    "mustang": ("mustang.writer", "write_criteria", "criteria"),
    "spark": ("spark.reader", "write_where", "where"),
}
WRITABLE: Final = tuple(_WRITERS)
_EVERY: Final = 256  # rules between two calls of `progress`

AUTO: Final = "auto"  # asks for a guess

__all__ = [
    "AUTO",
    "FORMATS",
    "WRITABLE",
    "ForeignRule",
    "ForeignRules",
    "Guess",
    "Note",
    "WrittenRule",
    "WrittenRules",
    "check_format",
    "guess",
    "hint_of",
    "read",
    "write",
]


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
    found, faults, check = list[ForeignRule](), list[RuleFault](), TreeCheck()
    if isinstance(source, Mapping) and getattr(translator, "root_key", None) in source:
        source = [("rules", source)]
    whole = translator if isinstance(translator, SetTranslator) else None
    files = translator if isinstance(translator, Files) else None
    documents = list(documents_of(source, translator.keys, files))
    if (split := getattr(translator, "split", None)) is not None:
        documents = [part for document in documents for part in ([document] if document.error else split(document))]
    for document in without_repeated_ids(documents if whole is None else whole.gather(documents)):
        if document.error is not None:
            faults.append(RuleFault(document.rule_id, document.error, document.line, document.file))
            continue
        try:
            found.append(_translated(document, translator, check))
        except RuleError as error:
            faults.append(document.fault(error))
    correlations = [] if whole is None else whole.correlations
    return ForeignRules(found, faults, dict(translator.definitions), format, correlations, options)


def _pairs(source: Any) -> Any:
    return list(source) if isinstance(source, Iterable) and not isinstance(source, bytes) else source


def _guessed(source: Source) -> str:
    found = guess(source)
    if found.format == OWN:
        raise InputError(f"these are rules of ruledex already ({found.reason}), and need no format")
    return found.format


def write(
    rules: Written,
    format: str,  # noqa: A002
    *,
    definitions: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> WrittenRules:
    """Write rules of ruledex in the format of another system.

    Rules are an index, what `read` returned, a file of rules, a mapping of ids to texts, or pairs of them. The result
    is a sequence of rules with a `document` each; `faults` are those that the format cannot say. A rule that was read
    in this format, and not changed since, is written as its owner wrote it. `definitions` has named conditions that the
    rules use beside their own. The options are those of the format (docs/formats.md).

    >>> from ruledex import formats
    >>> written = formats.write({"adults": "age >= 18 AND country IN ('IN', 'US')", "any": "* LIKE '%x%'"}, "spark")
    >>> written.documents()
    {'adults': "`age` >= 18L AND `country` IN ('IN', 'US')"}
    >>> print(written.faults[0])
    line 2, rule 'any': Spark SQL has no * for any field (it looks at every text of an event, in all columns)
    """
    _check_name(format, WRITABLE, "written")
    if progress is not None and not callable(progress):
        raise InputError(f"progress is a function of two numbers, the rules done and all rules, not {quoted(progress)}")
    module, function, key = _WRITERS[format]
    writer: Any = importlib.import_module(f"ruledex.formats.{module}")
    write_rule: Callable[..., Any] = getattr(writer, function)
    with_id: Callable[..., Any] = getattr(writer, "with_id", lambda document, _: document)
    given, faults, schema = given_rules(rules, check_definitions({} if definitions is None else definitions))
    found, lines = list[WrittenRule](), dict[int | str, int]()
    _check_options(format, write_rule, options)
    read_options = rules.options if isinstance(rules, ForeignRules) and definitions is None else None
    own = OwnDocuments(format, find_translator(format), write_rule, options, read_options, schema.definitions)
    for n_done, rule in enumerate(given):
        if progress is not None and n_done % _EVERY == 0:
            progress(n_done, len(given))
        notes = list(rule.notes)
        try:
            if rule.id in lines:
                raise RuleError(f"this id was given before, in line {lines[rule.id]}")
            lines[rule.id] = rule.line
            if rule.original is not None and own.has(rule.original, rule.text):
                found.append(WrittenRule(rule.id, rule.original.rule, str(rule.text), rule.score, rule.tags))
                continue
            tree, text = rule_tree(rule, schema)
            document = with_id(write_rule(tree, notes, **options), rule.id)
        except RuleError as error:
            faults.append(RuleFault(rule.id, error, rule.line))
        except RecursionError:
            faults.append(RuleFault(rule.id, RuleLimitError("the rule nests too deep"), rule.line))
        else:
            found.append(WrittenRule(rule.id, document, text, rule.score, rule.tags, notes))
    if progress is not None:
        progress(len(given), len(given))
    return WrittenRules(found, faults, key)


def _translated(document: Document, translator: Translator, check: TreeCheck) -> ForeignRule:
    notes: list[Note] = []
    try:
        with bounded_growth():
            tree = translator.translate(document.content, Place(), notes)
        check_written_size(tree)
        check_nesting(tree, "")
        text = tree_text(tree)
    except RecursionError:
        raise RuleLimitError("the rule nests too deep") from None
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RuleSyntaxError("the rule has half of a surrogate pair, which is not Unicode") from None
    check.check(tree, text)
    given = document
    original = given.content if given.original is None else given.original
    return ForeignRule(given.rule_id, text, tree, given.score, given.tags, original, notes, given.file, given.line)


def _check_name(name: Any, known: tuple[str, ...], what: str) -> None:
    if isinstance(name, str) and name in known:
        return
    if isinstance(name, str) and name in FORMATS:
        raise InputError(f"rules cannot be {what} in the format {name}; those that can are {', '.join(known)}")
    hint = did_you_mean(name, known) if isinstance(name, str) else ""
    raise InputError(f"there is no format {quoted(name)}; {hint or 'the formats are ' + ', '.join(known)}")


def _check_options(name: str, made: Callable[..., Any], options: dict[str, Any]) -> None:
    known = list(inspect.signature(made).parameters)[2:]
    if any(option not in known for option in options):
        raise _no_option(name, options, known)


def check_format(name: str, options: Mapping[str, Any]) -> None:
    """Raise an error unless there is such a format with such options. Files that options name are not read."""
    known = list(inspect.signature(find_translator(name)).parameters)
    if any(option not in known for option in options):
        raise _no_option(name, options, known)


def _translator(name: str, options: dict[str, Any]) -> Translator:
    check_format(name, options)
    try:
        return find_translator(name)(**options)
    except TypeError as error:
        raise InputError(f"the options of the format {name} are of other types: {error}") from None


def _no_option(name: str, options: Mapping[str, Any], known: list[str]) -> InputError:
    unknown = [option for option in options if option not in known]
    hint = did_you_mean(unknown[0], known)
    if not hint:
        hint = f"its options are {', '.join(known)}" if known else "it has none"
    return InputError(f"the format {name} has no option {' or '.join(map(quoted, unknown))}; {hint}")


def find_translator(name: str) -> Callable[..., Translator]:
    """Return what makes a translator of a format from its options."""
    _check_name(name, FORMATS, "read")
    make: Callable[..., Translator] = importlib.import_module(f"ruledex.formats.{_READERS[name]}").translator
    return make
