"""Full-text queries of Elasticsearch on one field or several, by the words that fields.py makes of a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ruledex.errors import RuleSyntaxError, RuleTypeError, quoted
from ruledex.formats.conditions import FALSE, TRUE, all_of, any_of, string
from ruledex.formats.elasticsearch.fields import Field, NotVisibleError, has_phrase, has_word, words_of
from ruledex.formats.elasticsearch.query import Query, Scope, at_least, body_of, field_body, least_of, value_place
from ruledex.language.any_text import ANY_TEXT
from ruledex.language.structured_parts import Place, json_text
from ruledex.language.tree import Expression, Operand

_WORDS: Final = ("operator", "minimum_should_match", "zero_terms_query", "analyzer", "lenient", "fuzziness")
_SCORING: Final = ("auto_generate_synonyms_phrase_query", "fuzzy_transpositions", "prefix_length", "max_expansions")
_PHRASES: Final = ("slop", "zero_terms_query", "analyzer", "max_expansions")


def match_query(query: Query, given: Any, place: Place, scope: Scope) -> Expression:
    """Return `match`: a text has one of the words, or as many as the query says."""
    name, at, body = field_body(given, place, "query", (*_WORDS, *_SCORING))
    where = value_place(at, given[name], "query")
    return has_words(query, query.field(name, at, scope), body.get("query"), where, body, at)


def match_phrase(query: Query, given: Any, place: Place, scope: Scope) -> Expression:
    """Return `match_phrase` or `match_phrase_prefix`: a text has the words behind each other."""
    name, at, body = field_body(given, place, "query", _PHRASES)
    where = value_place(at, given[name], "query")
    is_prefix = place.step == "match_phrase_prefix"
    return phrase(query, query.field(name, at, scope), body.get("query"), where, body, at, is_prefix)


def match_bool_prefix(query: Query, given: Any, place: Place, scope: Scope) -> Expression:
    """Return `match_bool_prefix`: as `match`, but the last word is only a beginning."""
    name, at, body = field_body(given, place, "query", (*_WORDS, *_SCORING))
    where = value_place(at, given[name], "query")
    return has_words(query, query.field(name, at, scope), body.get("query"), where, body, at, is_prefix=True)


def multi_match(query: Query, given: Any, place: Place, scope: Scope) -> Expression:
    """Return `multi_match`: as `match` and its kin, on several fields."""
    known = (*_WORDS, *_SCORING, "query", "fields", "type", "tie_breaker", "slop")
    body = body_of(given, place, known)
    kind = body.get("type", "best_fields")
    operands = query_fields(query, body.get("fields", ["*"]), Place(place, "fields"), scope)
    if kind == "cross_fields":
        return _across(operands, body, place)
    make = _KINDS.get(kind) if isinstance(kind, str) else None
    if make is None:
        raise RuleSyntaxError(f"{place}.type: there is no type {quoted(kind)}; the types are {', '.join(_KINDS)}")
    return any_of(make(query, field, body.get("query"), Place(place, "query"), body, place) for field in operands)


def query_fields(query: Query, given: Any, place: Place, scope: Scope) -> list[Field | Operand]:
    """Return the fields of a list of names, which may have weights. A star is every text of the event."""
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not names:
        raise RuleSyntaxError(f"{place}: fields are a list of names, not {json_text(given)}")
    found: list[Field | Operand] = []
    for i, name in enumerate(names):
        at = Place(place, i)
        plain = string(name, at, "the name of a field").partition("^")[0]
        if plain == "*":
            if scope is not None:
                raise RuleSyntaxError(f"{at}: a star is every text of the event, not of a nested object")
            found.append(ANY_TEXT)
            continue
        try:
            found.append(query.field(plain, at, scope))
        except NotVisibleError as error:
            query.note(at, error.message.partition(": ")[2])
    return found


def _across(operands: list[Field | Operand], body: Mapping[str, Any], place: Place) -> Expression:
    check_analyser(body, place)
    words = _distinct_words(body.get("query"), Place(place, "query"))
    each = [any_of(has_word(_text_operand(field, place), [word]) for field in operands) for word in words]
    return _enough(each, body, place)


# One field.


def has_words(
    query: Query,
    field: Field | Operand,
    given: Any,
    where: Place,
    body: Mapping[str, Any],
    place: Place,
    is_prefix: bool = False,
) -> Expression:
    """Return that a field has the words of a text. A field that is no text has the value itself."""
    check_analyser(body, place)
    if _is_exact(field, given):
        assert isinstance(field, Field)
        return query.same(field, [given], [where])
    operand, words = _text_operand(field, where), words_of(string(_as_text(given), where, "a text"))
    last = words.pop() if is_prefix and words else None
    words = list(dict.fromkeys(words))
    if last is None and _operator(body, place) == "or" and "minimum_should_match" not in body and words:
        return has_word(operand, words)
    each = [has_word(operand, [word]) for word in words]
    if last is not None:
        each.append(has_phrase(operand, [last], is_prefix=True))
    return _enough(each, body, place)


def phrase(
    query: Query,
    field: Field | Operand,
    given: Any,
    where: Place,
    body: Mapping[str, Any],
    place: Place,
    is_prefix: bool = False,
) -> Expression:
    """Return that a text has words behind each other."""
    check_analyser(body, place)
    if body.get("slop", 0) not in (0, "0"):
        raise RuleSyntaxError(f"{Place(place, 'slop')}: words with others between them cannot be said here")
    if _is_exact(field, given):
        assert isinstance(field, Field)
        return query.like(field, [str(given), None], False, where) if is_prefix else query.same(field, [given], [where])
    words = words_of(string(_as_text(given), where, "a text"))
    return has_phrase(_text_operand(field, where), words, is_prefix) if words else _no_words(body)


def check_analyser(body: Mapping[str, Any], place: Place) -> None:
    """Raise if a query asks for another analyser, or for words that are only similar."""
    if body.get("analyzer", "standard") != "standard":
        raise RuleSyntaxError(f"{Place(place, 'analyzer')}: the only analyser here is standard: words in lower case")
    if body.get("fuzziness", 0) not in (0, "0"):
        raise RuleSyntaxError(f"{Place(place, 'fuzziness')}: similar words cannot be said here")


def _is_exact(field: Field | Operand, given: Any) -> bool:
    if not isinstance(field, Field):
        return False
    return field.kind not in (None, "text") or (field.kind is None and not isinstance(given, str))


def _text_operand(field: Field | Operand, place: Place) -> Operand:
    if not isinstance(field, Field):
        return field
    if field.kind not in (None, "text", "keyword"):
        raise RuleTypeError(f"{place}: {field.name} is of type {field.kind}, which has no words")
    return field.operand


def _as_text(given: Any) -> Any:
    return json_text(given) if isinstance(given, bool | int | float) else given


def _distinct_words(given: Any, place: Place) -> list[str]:
    return list(dict.fromkeys(words_of(string(_as_text(given), place, "a text"))))


def _operator(body: Mapping[str, Any], place: Place) -> str:
    given = body.get("operator", "or")
    if not isinstance(given, str) or given.lower() not in ("or", "and"):
        raise RuleSyntaxError(f"{Place(place, 'operator')}: an operator is or, or and, not {json_text(given)}")
    return given.lower()


def _enough(each: list[Expression], body: Mapping[str, Any], place: Place) -> Expression:
    if not each:
        return _no_words(body)
    if _operator(body, place) == "and":
        return all_of(each)
    at = Place(place, "minimum_should_match")
    share = body.get("minimum_should_match")
    return at_least(1 if share is None else max(1, least_of(share, len(each), at)), each, place)


def _no_words(body: Mapping[str, Any]) -> Expression:
    return TRUE if body.get("zero_terms_query") == "all" else FALSE


def _prefixed(make: Callable[..., Expression]) -> Callable[..., Expression]:
    return lambda *arguments: make(*arguments, is_prefix=True)


_KINDS: Final[dict[str, Callable[..., Expression]]] = {
    "best_fields": has_words,
    "most_fields": has_words,
    "phrase": phrase,
    "phrase_prefix": _prefixed(phrase),
    "bool_prefix": _prefixed(has_words),
    "cross_fields": has_words,  # by `_across`
}
