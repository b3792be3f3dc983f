"""Queries of Elasticsearch that are one text: `query_string` in Lucene's syntax, and `simple_query_string`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ruledex.errors import RuleSyntaxError, quoted
from ruledex.formats.conditions import FALSE, TRUE, all_of, any_of, negate, string
from ruledex.formats.elasticsearch.fields import ONE, Field, NotVisibleError, has_word_like, words_of
from ruledex.formats.elasticsearch.full_text import check_analyser, has_words, phrase, query_fields
from ruledex.formats.elasticsearch.query import Query, Scope, at_least, body_of, least_of, wildcard_parts
from ruledex.language.structured_parts import Place, json_text
from ruledex.language.tree import Compare, Expression, Operand

_KNOWN: Final = ("query", "fields", "default_operator", "minimum_should_match", "analyzer", "lenient")
_SCORING: Final = (
    "analyze_wildcard",
    "auto_generate_synonyms_phrase_query",
    "fuzzy_max_expansions",
    "fuzzy_prefix_length",
    "fuzzy_transpositions",
    "max_determinized_states",
    "quote_field_suffix",
    "tie_breaker",
)
_TOKEN: Final = re.compile(
    r"""(?P<space>[\s\u3000]+)
      | (?P<word>AND|OR|NOT)(?=[\s()]|$)
      | (?P<sign>&&|\|\||[+\-!():])
      | (?P<boost>\^[0-9]+(?:\.[0-9]+)?)
      | (?P<fuzzy>~[0-9.]*)
      | "(?P<phrase>(?:\\.|[^"\\])*)"
      | /(?P<regexp>(?:\\.|[^/\\])*)/
      | (?P<range>[\[{][^\]}]*[\]}])
      | (?P<order>[<>]=?)
      | (?P<term>(?:\\.|[^\s+\-!():^\[\]"{}~\\/<>])(?:\\.|[^\s!():^\[\]"{}~\\/])*)
    """,
    re.VERBOSE | re.DOTALL,
)
_RANGE: Final = re.compile(r'([\[{])\s*("[^"]*"|\S+)\s+TO\s+("[^"]*"|[^\s\]}]+)\s*([\]}])', re.DOTALL)
_NUMBER: Final = re.compile(r"-?\d{1,18}(?:\.\d{1,15})?", re.ASCII)
_JOINS: Final = {"AND": "AND", "&&": "AND", "OR": "OR", "||": "OR"}
_NOT: Final = ("NOT", "!", "-")


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


class _Clause(NamedTuple):
    condition: Expression
    occurs: str  # must, should or must_not


class _Text:
    """What both syntaxes share: the fields that are searched, and what one word of the query means."""

    def __init__(self, query: Query, body: Mapping[str, Any], place: Place, scope: Scope) -> None:
        check_analyser(body, place)
        self._query = query
        self._scope = scope
        self._place = Place(place, "query")
        self.text = string(body.get("query"), self._place, "a query")
        given = body.get("default_operator", "or")
        if not isinstance(given, str) or given.lower() not in ("or", "and"):
            raise RuleSyntaxError(f"{Place(place, 'default_operator')}: it is or, or and, not {json_text(given)}")
        self.operator = given.lower()
        name = "fields" if "fields" in body else "default_field"
        self.fields = query_fields(query, body.get(name, ["*"]), Place(place, name), scope)

    def refuse(self, at: int, why: str) -> RuleSyntaxError:
        """Return an error with the column of the query."""
        return RuleSyntaxError(f"{self._place}: column {at + 1}: {why}")

    def named(self, name: str, at: int) -> list[Field | Operand]:
        """Return the field that a query names, as a list, or an empty one if it is not visible from here."""
        if "*" in name or not all(name.split(".")):
            raise self.refuse(at, f"{quoted(name)} is not the name of one field")
        try:
            return [self._query.field(name, self._place, self._scope)]
        except NotVisibleError as error:
            self._query.note(self._place, error.message.partition(": ")[2])
            return []

    def words(self, fields: list[Field | Operand], text: str) -> Expression:
        """Return that one of the fields has the words of a text."""
        return any_of(self._words(field, text) for field in fields)

    def _words(self, field: Field | Operand, text: str) -> Expression:
        body = {"operator": self.operator}
        found = has_words(self._query, field, text, self._place, body, self._place)
        if isinstance(field, Field) and field.kind is None:  # a number or boolean, as far as the text names one
            if _NUMBER.fullmatch(text):
                return any_of((found, Compare(field.operand, "=", float(text) if "." in text else int(text))))
            if text in ("true", "false"):
                return any_of((found, Compare(field.operand, "=", text == "true")))
        return found

    def phrase(self, fields: list[Field | Operand], text: str) -> Expression:
        """Return that one of the fields has the words of a text behind each other."""
        return any_of(phrase(self._query, field, text, self._place, {}, self._place) for field in fields)

    def pattern(self, fields: list[Field | Operand], parts: list[str | None]) -> Expression:
        """Return that one of the fields has a word that fits a pattern."""
        return any_of(self._pattern(field, parts) for field in fields)

    def _pattern(self, field: Field | Operand, parts: list[str | None]) -> Expression:
        if isinstance(field, Field) and field.kind not in (None, "text"):
            return self._query.like(field, parts, False, self._place)
        lower = [part if part in (None, ONE) else str(part).lower() for part in parts]
        if any(part not in (None, ONE) and words_of(str(part)) != [part] for part in lower):
            self._query.note(self._place, "no word fits this pattern: words have letters and digits only")
            return FALSE
        return has_word_like(field.operand if isinstance(field, Field) else field, lower)


def query_string(query: Query, given: Any, place: Place, scope: Scope) -> Expression:
    """Return `query_string`: a text in Lucene's syntax."""
    known = (*_KNOWN, *_SCORING, "default_field", "allow_leading_wildcard", "phrase_slop", "fuzziness", "type")
    body = body_of(given, place, (*known, "enable_position_increments", "escape", "max_expansions", "rewrite"))
    if body.get("phrase_slop", 0) not in (0, "0"):
        raise RuleSyntaxError(f"{Place(place, 'phrase_slop')}: words with others between them cannot be said here")
    reader = _Lucene(_Text(query, {**body, "fuzziness": 0}, place, scope), query, Place(place, "query"))
    clauses = reader.clauses_to_end()
    must = [clause.condition for clause in clauses if clause.occurs == "must"]
    should = [clause.condition for clause in clauses if clause.occurs == "should"]
    share = body.get("minimum_should_match")
    if share is None or not should:
        return joined(clauses, is_whole=True)
    least = least_of(share, len(should), Place(place, "minimum_should_match"))
    must_not = [negate(clause.condition) for clause in clauses if clause.occurs == "must_not"]
    return all_of((*must, *must_not, at_least(max(least, 0 if must else 1), should, place)))


def joined(clauses: list[_Clause], is_whole: bool) -> Expression:
    """Return what Lucene makes of clauses. Nothing but negations is true of no event, unless it is the whole query."""
    must = [clause.condition for clause in clauses if clause.occurs == "must"]
    should = [clause.condition for clause in clauses if clause.occurs == "should"]
    must_not = [negate(clause.condition) for clause in clauses if clause.occurs == "must_not"]
    if must:
        return all_of((*must, *must_not))
    if should:
        return all_of((any_of(should), *must_not))
    return all_of(must_not) if is_whole and must_not else FALSE


class _Lucene:
    """Reads one query in Lucene's syntax."""

    def __init__(self, text: _Text, query: Query, place: Place) -> None:
        self._text = text
        self._query = query
        self._place = place
        self._at = 0
        self._tokens: list[_Token] = []
        at = 0
        while at < len(text.text):
            found = _TOKEN.match(text.text, at)
            if found is None:
                raise text.refuse(at, f"a query cannot have {quoted(text.text[at])} here; write a backslash before it")
            assert found.lastgroup is not None
            if found.lastgroup != "space":
                self._tokens.append(_Token(found.lastgroup, found[found.lastgroup], at))
            at = found.end()

    def _next(self) -> _Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else _Token("end", "", len(self._text.text))

    def clauses_to_end(self) -> list[_Clause]:
        """Return the clauses of the whole text."""
        clauses = self._clauses(self._text.fields)
        if self._next().kind != "end":
            raise self._text.refuse(self._next().at, f"{quoted(self._next().text)} closes nothing")
        return clauses

    def _clauses(self, fields: list[Field | Operand]) -> list[_Clause]:
        found: list[_Clause] = []
        while self._next().kind != "end" and self._next().text != ")":
            join = ""
            if self._next().kind in ("word", "sign") and self._next().text in _JOINS:
                join = _JOINS[self._next().text]
                if not found:
                    raise self._text.refuse(self._next().at, f"nothing stands before {self._next().text}")
                self._at += 1
            sign = self._next().text if self._next().kind in ("word", "sign") else ""
            is_not, is_required = sign in _NOT, sign == "+"
            self._at += is_not or is_required
            condition = self._clause(fields)
            self._add(found, condition, join, is_not, is_required)
        return found

    def _add(self, found: list[_Clause], condition: Expression, join: str, is_not: bool, is_required: bool) -> None:
        """Add a clause as Lucene's classic parser does: AND and OR change the clause before, too."""
        before = found[-1] if found else None
        if before is not None and before.occurs != "must_not":
            if join == "AND":
                found[-1] = _Clause(before.condition, "must")
            elif join == "OR" and self._text.operator == "and":
                found[-1] = _Clause(before.condition, "should")
        if is_not:
            occurs = "must_not"
        elif self._text.operator == "and":
            occurs = "should" if join == "OR" and not is_required else "must"
        else:
            occurs = "must" if is_required or join == "AND" else "should"
        found.append(_Clause(condition, occurs))

    def _clause(self, fields: list[Field | Operand]) -> Expression:
        token = self._next()
        follows = self._tokens[self._at + 1] if self._at + 1 < len(self._tokens) else None
        if token.kind == "term" and follows is not None and follows.text == ":" and follows.kind == "sign":
            self._at += 2
            name = _unescaped(token.text)
            if token.text == "*" and self._next().text == "*":
                self._at += 1
                return TRUE
            if name == "_exists_":
                wanted = self._next()
                self._at += 1
                return any_of(self._is_there(field) for field in self._text.named(_unescaped(wanted.text), wanted.at))
            return self._clause(self._text.named(name, token.at))
        self._at += 1
        made = self._value(token, fields)
        while self._next().kind in ("boost", "fuzzy"):
            if self._next().kind == "fuzzy" and self._next().text not in ("~0", "~1.0"):
                raise self._text.refuse(self._next().at, "similar words, and words with others between, cannot be said")
            self._at += 1
        return made

    def _value(self, token: _Token, fields: list[Field | Operand]) -> Expression:
        match token.kind:
            case "phrase":
                return self._text.phrase(fields, _unescaped(token.text))
            case "term":
                return self._term(token.text, fields)
            case "regexp":
                return any_of(self._regexp(field, token) for field in fields)
            case "range":
                return self._range(token, fields)
            case "order":
                value = self._next()
                if value.kind not in ("term", "phrase"):
                    raise self._text.refuse(value.at, f"a value follows after {token.text}")
                self._at += 1
                names = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}
                return self._within({names[token.text]: _unescaped(value.text)}, fields, token)
            case "sign" if token.text == "(":
                made = joined(self._clauses(fields), is_whole=False)
                if self._next().text != ")":
                    raise self._text.refuse(token.at, "this ( is not closed")
                self._at += 1
                return made
        raise self._text.refuse(token.at, f"a word or a phrase is expected, not {quoted(token.text) or 'the end'}")

    def _term(self, text: str, fields: list[Field | Operand]) -> Expression:
        parts = wildcard_parts(text)
        if parts == [None]:
            return any_of(self._is_there(field) for field in fields)
        if None in parts or ONE in parts:
            return self._text.pattern(fields, parts)
        return self._text.words(fields, _unescaped(text))

    def _regexp(self, field: Field | Operand, token: _Token) -> Expression:
        if not isinstance(field, Field):
            raise self._text.refuse(token.at, "a regular expression needs a field: name:/expression/")
        return self._query.matches_whole(field, token.text.replace("\\/", "/"), "ALL", False, self._place)

    def _range(self, token: _Token, fields: list[Field | Operand]) -> Expression:
        found = _RANGE.fullmatch(token.text)
        if found is None:
            raise self._text.refuse(token.at, "a range is written [low TO high], or with braces to leave out an end")
        ends = {"gte" if found[1] == "[" else "gt": found[2], "lte" if found[4] == "]" else "lt": found[3]}
        bounds = {name: _unescaped(text.strip('"')) for name, text in ends.items() if text != "*"}
        return self._within(bounds, fields, token)

    def _within(self, bounds: dict[str, str], fields: list[Field | Operand], token: _Token) -> Expression:
        found = []
        for field in fields:
            if not isinstance(field, Field):
                raise self._text.refuse(token.at, "a range needs a field: name:[low TO high]")
            values: dict[str, Any] = dict(bounds)
            if field.kind is None and all(_NUMBER.fullmatch(text) for text in bounds.values()):
                values = {name: float(text) if "." in text else int(text) for name, text in bounds.items()}
            found.append(self._query.within(field, values, self._place, {}))
        return any_of(found)

    def _is_there(self, field: Field | Operand) -> Expression:
        return self._query.has_value(field, self._place) if isinstance(field, Field) else TRUE


def _unescaped(text: str) -> str:
    return re.sub(r"(?s)\\(.)", r"\1", text)


# The simple syntax.

_SIMPLE: Final = re.compile(
    r"""(?P<space>\s+) | (?P<sign>[+|()]) | (?P<minus>-) | "(?P<phrase>(?:\\.|[^"\\])*)"(?P<slop>~[0-9]+)?
      | (?P<term>(?:\\.|[^\s+|()"\\])+)""",
    re.VERBOSE | re.DOTALL,
)


def simple_query_string(query: Query, given: Any, place: Place, scope: Scope) -> Expression:
    """Return `simple_query_string`: words with + for and, | for or, - for not, * for a beginning."""
    body = body_of(given, place, (*_KNOWN, *_SCORING, "flags"))
    for name in ("flags", "minimum_should_match"):
        if body.get(name) not in (None, "ALL"):
            raise RuleSyntaxError(f"{Place(place, name)}: {name} cannot be said here")
    return _Simple(_Text(query, body, place, scope)).whole()


class _Simple:
    """Reads one query in the simple syntax, in which nothing is an error."""

    def __init__(self, text: _Text) -> None:
        self._text = text
        self._at = 0

    def whole(self) -> Expression:
        """Return the condition of the whole text."""
        found = self._joined(nested=False)
        return FALSE if found is None else found

    def _joined(self, nested: bool) -> Expression | None:
        text, made, join, is_not = self._text, None, self._text.operator, False
        while self._at < len(text.text):
            found = _SIMPLE.match(text.text, self._at)
            self._at = found.end() if found else self._at + 1
            if found is None or found.lastgroup == "space":
                is_not = is_not and found is not None and found.lastgroup != "space"
                continue
            sign = found["sign"]
            if found["minus"]:
                is_not = not is_not
                continue
            if sign in ("+", "|"):
                join = "and" if sign == "+" else "or"
                continue
            if sign == ")":
                if nested:
                    break
                continue
            part = self._joined(nested=True) if sign == "(" else self._part(found)
            if part is not None:
                part = negate(part) if is_not else part
                made = part if made is None else all_of((made, part)) if join == "and" else any_of((made, part))
            join, is_not = text.operator, False
        return made

    def _part(self, found: re.Match[str]) -> Expression | None:
        if found["slop"] and int(found["slop"][1:]):
            raise self._text.refuse(found.start("slop"), "words with others between them cannot be said here")
        if found["phrase"] is not None:
            given = _unescaped(found["phrase"])
            return self._text.phrase(self._text.fields, given) if words_of(given) else None
        term = found["term"]
        if fuzzy := re.search(r"(?<!\\)~([0-9]*)$", term):
            if fuzzy[1] != "0":
                raise self._text.refuse(found.start() + fuzzy.start(), "similar words cannot be said here")
            term = term[: fuzzy.start()]
        if term.endswith("*") and not term.endswith("\\*") and len(term) > 1:
            return self._text.pattern(self._text.fields, [_unescaped(term[:-1]), None])
        given = _unescaped(term)
        return self._text.words(self._text.fields, given) if words_of(given) else None
