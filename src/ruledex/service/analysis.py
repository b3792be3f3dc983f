"""What the language says of a rule, for editors: tokens, errors, lint, completions, tree and structured form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ruledex.errors import RuleError
from ruledex.index import RuleReader
from ruledex.language.build import SET_TESTS
from ruledex.language.definitions import shown_name
from ruledex.language.functions.registry import lookup, names
from ruledex.language.parser import parse
from ruledex.language.scanner import TOKEN
from ruledex.language.schema import Schema
from ruledex.language.structured import from_structured, to_structured
from ruledex.language.text import RESERVED, path_text, to_text
from ruledex.language.tree import BRANCHES, Expression, Named, Not, Required, Truth, Weighed
from ruledex.service.dry_runs import findings_of
from ruledex.service.messages import Analysed, AnalyseIn, Completion, Token
from ruledex.service.problems import Problem, fault_of
from ruledex.service.request import Request
from ruledex.service.rules import text_of
from ruledex.service.vocabulary import Path, Values

if TYPE_CHECKING:
    from ruledex.service.worker import Worker

_OPERATORS: Final = ("AND", "OR", "NOT", "XOR", "XNOR", "IN", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "IS", "NULL")
_OTHERS: Final = ("TRUE", "FALSE", "ANY", "ALL", "DATE", "TIMESTAMP")
_KINDS: Final = {"number": "number", "string": "string", "raw": "string", "quoted": "attribute", "sign": "sign"} | {
    "named": "definition"
}
_COMPARISONS: Final = ("=", "==", "!=", "<>", "<=>", "<", "<=", ">", ">=")
_MOST_COMPLETIONS: Final = 50
_MOST_VALUES: Final = 20


def _called() -> dict[str, str]:
    """Return all that is written as a call, by name, and what it is for. Users may add functions at any time."""
    found = {name: function.summary for name in names() if (function := lookup(name)) is not None}
    found |= dict.fromkeys(SET_TESTS, "Compares all values of an attribute, as a set.")
    return dict(sorted(found.items()))


class Words(NamedTuple):
    """What an editor's rule may refer to: the schema it must fit, and the words that are known besides."""

    schema: Schema = Schema()
    known: Schema = Schema()  # with the types that other rules imply
    paths: Sequence[Path] = ()  # attributes that rules use
    values: Sequence[Values] = ()  # values by attribute, as rules write them; those of the first count most
    names: frozenset[str] = frozenset()  # with which attributes of rules and recent events begin; empty: not known


async def analyse(worker: Worker, request: Request) -> None:
    """Answer what the language says of a rule."""
    given = await request.read(AnalyseIn)
    words = Words()
    if given.index is not None:
        if not request.caller.may("read", given.index):
            raise Problem(403, "scope", "The token does not allow this", "it needs the scope read")
        await worker.look_for(given.index)
        words = await _words_of(worker, given.index, with_values=given.position is not None)
    elif given.schema is not None:
        schema = Schema.of_mapping(given.schema)
        words = Words(schema, schema)
    most = request.settings.rule_characters
    await request.answer(200, await worker.long_work.run(analyse_rule, given, words, most))


async def _words_of(worker: Worker, name: str, *, with_values: bool) -> Words:
    index = worker.indexes.get(name).index
    vocabulary = await worker.long_work.run(worker.vocabularies.of, name, index)
    of_events = await worker.vocabularies.event_values(worker, name)
    names = vocabulary.names | {path[0] for path in of_events}
    words = Words(RuleReader(index).schema, vocabulary.schema, vocabulary.paths, names=names)
    if not with_values:
        return words
    of_rules = await worker.long_work.run(lambda: vocabulary.values)
    return words._replace(values=[of_events, of_rules])


def analyse_rule(given: AnalyseIn, words: Words, most_characters: int) -> Analysed:
    """Return what the language says of a rule."""
    found = Analysed([], None, [], [], None, None, None)
    try:
        text = text_of(given, most_characters)
    except RuleError as error:  # of the structured form
        found.error = fault_of(error)
        return found
    if text is None:
        raise Problem(422, "body", "The body is not as expected", "give a text, or a rule")
    found.tokens = tokens_of(text)
    if given.position is not None:
        found.completions = completions_at(text, given.position, words)
    try:
        tree = parse(text) if given.rule is None else from_structured(given.rule)
        found.findings = findings_of(text, words.schema, words.known, words.names)
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


def completions_at(text: str, position: int, words: Words) -> list[Completion]:
    """Return the words that may stand at a position and begin as the text before it does.

    Where a value is expected these are values, the most frequent first. Inside another string there are none.
    """
    if not 0 <= position <= len(text):
        raise Problem(422, "body", "The body is not as expected", "the position is outside of the text")
    before = text[:position]
    tokens = tokens_of(before)
    last = tokens[-1] if tokens else None
    if last is not None and last.end == position:
        if last.kind == "error" and before[last.begin] in "'\"":  # a string that is not finished
            return _values_at(text, position, tokens[:-1], last.begin, words)
        if last.kind == "string" or (last.kind == "error" and before[last.begin] not in "`@"):
            return []
    begin = _begin_of_word(before, tokens)
    prefix = before[begin:].lower().replace("`", "")
    offered = _values_at(text, position, [token for token in tokens if token.end <= begin], begin, words)
    offered += [one for one in _names(words, begin) if one.text.lower().replace("`", "").startswith(prefix)]
    return offered[:_MOST_COMPLETIONS]


def _begin_of_word(before: str, tokens: list[Token]) -> int:
    """Return where the word at the end of a text begins, the steps of a path before it included."""
    begin = len(before)
    for token in reversed(tokens):
        is_point = token.kind == "sign" and before[token.begin : token.end] == "."
        if token.end < begin or (token.kind in ("sign", "string") and not is_point):
            break
        if begin < len(before) and not is_point and before[begin] != ".":
            break  # two words without a point between them
        begin = token.begin
    return begin


def _names(words: Words, begin: int) -> Iterator[Completion]:
    declared = {**words.known.attributes, **words.schema.attributes}
    attributes = {path_text(path): "" for path in words.paths if path}
    attributes |= {name: str(kind.type) for name, kind in declared.items() if hasattr(kind, "type")}
    for name, detail in sorted(attributes.items()):
        yield Completion(name, "attribute", begin, detail)
    for name, about in words.schema.definitions.items():
        yield Completion(shown_name(name), "definition", begin, about)
    for name, about in _called().items():
        yield Completion(f"{name}(", "function", begin, about)
    for name in sorted((*_OPERATORS, *_OTHERS)):
        yield Completion(name, "keyword", begin)


def _values_at(text: str, position: int, tokens: list[Token], begin: int, words: Words) -> list[Completion]:
    """Return the values of the attribute that the tokens compare with what begins here."""
    path = compared_path(text, tokens)
    if path is None:
        return []
    counted: Counter[str] = Counter()
    for values in words.values:
        counted.update(values.get(path, ()))
    typed = text[begin:position]
    quote = typed[:1] if typed[:1] in ("'", '"') else ""
    wanted = typed.removeprefix(quote).lower()
    closes = bool(quote) and text.startswith(quote, position)  # as editors do that write both quotes at once
    found = []
    for literal, n_times in sorted(counted.items(), key=lambda item: (-item[1], item[0])):
        is_text = literal.startswith("'")
        inner = literal[1:-1] if is_text else literal
        if (quote and not is_text) or not inner.lower().startswith(wanted):
            continue
        if quote == '"':
            literal = '"' + inner.replace("''", "'").replace('"', '""') + '"'
        detail = f"{n_times:,} times"
        found.append(Completion(literal[:-1] if closes else literal, "value", begin, detail))
        if len(found) == _MOST_VALUES:
            break
    return found


def compared_path(text: str, tokens: list[Token]) -> Path | None:
    """Return the attribute that is compared with what follows the tokens, as in `a.b =` or `a.b IN ('x',`, or None."""
    at = len(tokens) - 1

    def shown(number: int) -> str:
        return text[tokens[number].begin : tokens[number].end].upper() if number >= 0 else ""

    while at >= 1 and shown(at) == "," and tokens[at - 1].kind in ("string", "number"):
        at -= 2
    if shown(at) == "(" and shown(at - 1) == "IN":
        at -= 2
        if shown(at) == "NOT":
            at -= 1
    elif at == len(tokens) - 1 and shown(at) in _COMPARISONS:
        at -= 1
    else:
        return None
    end = at
    while at >= 2 and tokens[at].kind == "attribute" and shown(at - 1) == "." and tokens[at - 2].kind == "attribute":
        at -= 2
    if at < 0 or tokens[at].kind != "attribute" or shown(at - 1) == ".":
        return None
    return tuple(_name(text[token.begin : token.end]) for token in tokens[at : end + 1 : 2])


def _name(written: str) -> str:
    return written[1:-1].replace("``", "`") if written.startswith("`") else written


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
