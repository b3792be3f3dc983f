"""What the language says of a rule, for editors: tokens, errors, lint, completions, tree and structured form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from ruledex.errors import RuleError
from ruledex.language.build import SET_TESTS
from ruledex.language.checked import to_text
from ruledex.language.definitions import shown_name
from ruledex.language.functions.registry import lookup, names
from ruledex.language.parser import parse
from ruledex.language.scanner import TOKEN
from ruledex.language.schema import Schema
from ruledex.language.structured import from_structured, to_structured
from ruledex.language.text import RESERVED, path_text
from ruledex.language.tree import BRANCHES, Expression, Named, Not, Required, Truth, Weighed
from ruledex.service.messages import Analysed, AnalyseIn, Completion, Token
from ruledex.service.problems import Problem, fault_of
from ruledex.service.request import Request
from ruledex.service.rules import findings_of, text_of

if TYPE_CHECKING:
    from ruledex.service.worker import Worker

_WORD: Final = re.compile(r"@?(?:[\w.]|`[^`]*`?)*\Z")
_OPERATORS: Final = ("AND", "OR", "NOT", "XOR", "XNOR", "IN", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "IS", "NULL")
_OTHERS: Final = ("TRUE", "FALSE", "ANY", "ALL", "DATE", "TIMESTAMP")
_KINDS: Final = {"number": "number", "string": "string", "raw": "string", "quoted": "attribute", "sign": "sign"} | {
    "named": "definition"
}
_MOST_COMPLETIONS: Final = 50


def _called() -> dict[str, str]:
    """Return all that is written as a call, by name, and what it is for. Users may add functions at any time."""
    found = {name: function.summary for name in names() if (function := lookup(name)) is not None}
    found |= dict.fromkeys(SET_TESTS, "Compares all values of an attribute, as a set.")
    return dict(sorted(found.items()))


async def analyse(worker: Worker, request: Request) -> None:
    """Answer what the language says of a rule."""
    given = await request.read(AnalyseIn)
    schema, paths = Schema(), list[tuple[str, ...]]()
    if given.index is not None:
        if not request.caller.may("read", given.index):
            raise Problem(403, "scope", "The token does not allow this", "it needs the scope read")
        await worker.look_for(given.index)
        index = worker.indexes.get(given.index).index
        schema, paths = await worker.long_work.run(lambda: (index.schema, index.paths))
    elif given.schema is not None:
        schema = Schema.of_mapping(given.schema)
    await request.answer(200, await worker.long_work.run(analyse_rule, given, schema, paths, request))


def analyse_rule(given: AnalyseIn, schema: Schema, paths: list[tuple[str, ...]], request: Request) -> Analysed:
    """Return what the language says of a rule under a schema; `paths` are attributes that rules use."""
    found = Analysed([], None, [], [], None, None, None)
    try:
        text = text_of(given, request.settings.rule_characters)
    except RuleError as error:  # of the structured form
        found.error = fault_of(error)
        return found
    if text is None:
        raise Problem(422, "body", "The body is not as expected", "give a text, or a rule")
    found.tokens = tokens_of(text)
    if given.position is not None:
        found.completions = completions_at(text, given.position, schema, paths)
    try:
        tree = parse(text) if given.rule is None else from_structured(given.rule)
        found.findings = findings_of(text, schema)
    except RuleError as error:
        found.error = fault_of(error)
        return found
    found.text, found.tree, found.structured = to_text(tree), tree_of(tree), to_structured(tree)
    return found


def tokens_of(text: str) -> list[Token]:
    """Return the pieces of a text, without blanks and comments. What cannot be read is one piece to the end."""
    found: list[Token] = []
    at = 0
    while True:
        match = TOKEN.match(text, at)
        if match is None:
            begin = at + len(text[at:]) - len(text[at:].lstrip())
            return [*found, Token("error", begin, len(text))]
        kind = match.lastgroup or "end"
        if kind == "end":
            return found
        begin, at = match.span(kind)
        if kind == "word":
            found.append(Token(_kind_of_word(match[kind], text, at), begin, at))
        else:
            found.append(Token(_KINDS[kind], begin, at))  # type: ignore[arg-type]


def _kind_of_word(word: str, text: str, end: int) -> Any:
    if word.upper() in RESERVED:
        return "keyword"
    is_call = text[end:].lstrip().startswith("(")
    if is_call and (lookup(word) is not None or word.lower() in SET_TESTS):
        return "function"
    return "keyword" if word.upper() in (*_OPERATORS, *_OTHERS) and not is_call else "attribute"


def completions_at(text: str, position: int, schema: Schema, paths: list[tuple[str, ...]]) -> list[Completion]:
    """Return the words that begin as the text before a position does. Inside a string there are none."""
    if not 0 <= position <= len(text):
        raise Problem(422, "body", "The body is not as expected", "the position is outside of the text")
    before = text[:position]
    if any(token.kind in ("string", "error") and token.end >= position for token in tokens_of(before)):
        unclosed = tokens_of(before)[-1]
        if unclosed.kind == "string" or not before[unclosed.begin :].startswith("`"):
            return []
    word = _WORD.search(before)
    begin = word.start() if word else position
    prefix = before[begin:].lower().replace("`", "")
    declared = dict(schema.attributes)
    attributes = {path_text(path): "" for path in paths if path}
    attributes |= {name: str(kind.type) for name, kind in declared.items() if hasattr(kind, "type")}
    offered = [Completion(name, "attribute", begin, detail) for name, detail in sorted(attributes.items())]
    offered += [Completion(shown_name(name), "definition", begin, about) for name, about in schema.definitions.items()]
    offered += [Completion(f"{name}(", "function", begin, about) for name, about in _called().items()]
    offered += [Completion(name, "keyword", begin) for name in sorted((*_OPERATORS, *_OTHERS))]
    return [one for one in offered if one.text.lower().replace("`", "").startswith(prefix)][:_MOST_COMPLETIONS]


def tree_of(tree: Expression) -> dict[str, Any]:
    """Return a tree as values: what each part is, its text, and where a predicate begins."""
    if isinstance(tree, Truth):
        return {"kind": "constant", "text": to_text(tree)}
    if isinstance(tree, BRANCHES):
        return {"kind": type(tree).__name__.lower(), "children": [tree_of(child) for child in tree.children]}
    if isinstance(tree, Not | Required | Weighed):
        return {"kind": type(tree).__name__.lower(), "children": [tree_of(tree.child)]}
    if isinstance(tree, Named):
        return {"kind": "named", "text": to_text(tree), "position": tree.position}
    return {"kind": "predicate", "text": to_text(tree), "position": getattr(tree, "position", None)}
