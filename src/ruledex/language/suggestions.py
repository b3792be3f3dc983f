"""Suggests what to write instead of what other languages have, after a rule could not be parsed.

People of Python, JavaScript, Java, CEL, MongoDB and shells try their own words first. Each entry is the form that they
write, as a regular expression, and what a rule has for it. An entry applies if it matches around the fault.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_REACH: Final = 80  # characters around the fault that are looked at

_X = r"(?<![\w.])(?P<x>[^\W\d]\w*+(?:\.\w++)*?)"  # an attribute
_V = r"""(?P<v>'[^']*'|"[^"]*"|[\w.+-]+)"""  # a constant
_CLOCK = "today|current_time|getdate|sysdate|utcnow|localtimestamp|timestamp|time"
_NULL = "None|nil|undefined|NaN|missing"

Suggestion = str | Callable[[re.Match[str]], str]


def _inner(match: re.Match[str]) -> str:
    """Return the content of a constant, as it goes into a pattern."""
    return match["v"].strip("'\"")


def _listed(match: re.Match[str]) -> str:
    return f"write the values in parentheses: IN ({match['items'].strip()})"


def _method(match: re.Match[str]) -> str:
    name = _FUNCTIONS.get(match["name"].lower(), match["name"])
    return f"functions come before what they take: write {name}({match['x']})"


_FUNCTIONS: Final = {
    "tolowercase": "lower",
    "lowercase": "lower",
    "touppercase": "upper",
    "uppercase": "upper",
    "strip": "trim",
    "getyear": "year",
    "getfullyear": "year",
    "gethours": "hour",
    "getmonth": "month",
    "floor": "floor",
}
_WORDS: Final = {"eq": "=", "equals": "=", "ne": "!=", "neq": "!=", "gt": ">", "lt": "<", "gte": ">=", "lte": "<="} | {
    "ge": ">=",
    "le": "<=",
    "is_not": "!=",
}

_FORMS: Final[tuple[tuple[str, Suggestion], ...]] = (
    # Whole rules of other kinds.
    (
        r"\A\s*\{",
        'a rule is a text such as a > 5; a rule in JSON is given as {"id": …, "rule": …} (docs/structured.md)',
    ),
    (r"\A\s*(SELECT\b.*|FROM\b.*)?WHERE\b.*", "leave out all before the condition: a rule is what comes after WHERE"),
    (r"\A\s*SELECT\b.*", "a rule is the condition alone, as after WHERE"),
    (r"\bIN\s*\(\s*SELECT\b", "a rule sees one event and nothing else: write the values themselves"),
    (r"\bif\b.*\b(then|else)\b.*|\bCASE\s+WHEN\b.*|[^?]*\?[^?.:]*:.*", "write (a AND b) OR ((a) IS NOT TRUE AND c)"),
    # Methods and functions.
    (rf"{_X}\.(contains|includes|indexOf|has)\(\s*{_V}\s*\)", lambda m: _contains(m)),
    (rf"\b(contains|includes)\(\s*{_X}\s*,\s*{_V}", lambda m: _contains(m)),
    (rf"{_X}\.(startsWith|starts_with|hasPrefix)\(\s*{_V}\s*\)", lambda m: f"write {m['x']} LIKE '{_inner(m)}%'"),
    (rf"\b(starts_?with|hasPrefix)\(\s*{_X}\s*,\s*{_V}", lambda m: f"write {m['x']} LIKE '{_inner(m)}%'"),
    (rf"{_X}\.(endsWith|ends_with|hasSuffix)\(\s*{_V}\s*\)", lambda m: f"write {m['x']} LIKE '%{_inner(m)}'"),
    (rf"\b(ends_?with|hasSuffix)\(\s*{_X}\s*,\s*{_V}", lambda m: f"write {m['x']} LIKE '%{_inner(m)}'"),
    (rf"{_X}\.(matches|match|test|search)\(\s*{_V}\s*\)", lambda m: f"write {m['x']} RLIKE '{_inner(m)}'"),
    (
        rf"\b(matches|match|regex|regexp|rlike|regex_?match|regexp_?match|regexp_?like)\(\s*{_X}\s*,\s*{_V}",
        lambda m: f"write {m['x']} RLIKE '{_inner(m)}'",
    ),
    (rf"{_X}\.equals\(\s*{_V}\s*\)", lambda m: f"write {m['x']} = {_as_constant(m['v'])}"),
    (rf"\bequals\(\s*{_X}\s*,\s*{_V}", lambda m: f"write {m['x']} = {_as_constant(m['v'])}"),
    (rf"{_X}\.(length|size|count|len)\(\s*\)", lambda m: _size_of(m)),
    (rf"\b(len|strlen|count|cardinality|array_length)\(\s*{_X}\s*\)", lambda m: _size_of(m)),
    (
        rf"{_X}\.(?P<how>exists|any|some|every|all|filter|map|find|exists_one)\(.*",
        lambda m: _lambda(m),
    ),
    (rf"\b(?P<how>any|all|some|every)\(\s*{_X}\s*,.*", lambda m: _lambda(m)),
    (rf"\b(has|exists|defined|isnotnull|is_set|isset)\(\s*{_X}\s*\)", lambda m: f"write {m['x']} IS NOT NULL"),
    (rf"\b(isnull|is_null|isnone|isna|isnan|ifnull)\(\s*{_X}\s*\)", lambda m: f"write {m['x']} IS NULL"),
    (rf"\b(is_?empty|empty)\(\s*{_X}\s*\)", lambda m: f"write size({m['x']}) = 0, or {m['x']} IS NULL"),
    (
        rf"\b({_CLOCK})\(\s*\)",
        "write now() for the time of the call, or current_date() for its day",
    ),
    (rf"{_X}\.(?P<name>\w+)\(\s*\)", _method),
    (
        rf"{_X}\.(?P<name>\w+)\(",
        lambda m: f"values have no methods: write {m['name']}({m['x']}, …) if there is such a function",
    ),
    # Operators.
    (r"(?P<op>[!=])==", lambda m: f"write {'=' if m['op'] == '=' else '!='}"),
    (r"&&?", "write AND"),
    (r"\|\|?", "write OR; concat() joins texts"),
    (rf"{_X}\s*(?P<no>!?)=?~\*?\s*{_V}", lambda m: f"write {m['x']} {'NOT ' if m['no'] else ''}RLIKE '{_inner(m)}'"),
    (rf"{_X}\s+(matches|match|regex|REGEXP_LIKE)\s+{_V}", lambda m: f"write {m['x']} RLIKE '{_inner(m)}'"),
    (rf"{_X}\s+(contains|includes)\s+{_V}", lambda m: _contains(m)),
    (rf"{_X}\s+(startswith|starts_with|starts\s+with)\s+{_V}", lambda m: f"write {m['x']} LIKE '{_inner(m)}%'"),
    (rf"{_X}\s+(endswith|ends_with|ends\s+with)\s+{_V}", lambda m: f"write {m['x']} LIKE '%{_inner(m)}'"),
    (rf"\s-?(?P<word>{'|'.join(_WORDS)})\s+\S+", lambda m: f"write {_WORDS[m['word'].lower()]}"),
    (rf"\bIS\s+(?P<no>NOT\s+)?({_NULL})\b", lambda m: f"write IS {'NOT ' if m['no'] else ''}NULL"),
    (rf"{_X}\s+IS\s+EMPTY\b", lambda m: f"write size({m['x']}) = 0, or {m['x']} IS NULL"),
    (r"\bIS\s+(?P<no>NOT\s+)?(?P<v>'[^']*'|[\d.]+)", lambda m: f"write {'!=' if m['no'] else '='} {m['v']}"),
    (r"\bIN\s*[\[{](?P<items>[^\[\]{}]*)[\]}]?", _listed),
    (r"""(?P<v>'[^']*'|"[^"]*"|\b\d+)\s+(?P<no>not\s+)?in\s+(?P<x>[^\W\d][\w.]*)""", lambda m: _contains(m)),
    (r"\bIN\s+(?P<items>(?:'[^']*'|[\w.]+)(?:\s*,\s*(?:'[^']*'|[\w.]+))*)", _listed),
    (
        rf"\bBETWEEN\s+{_V}\s*(,|to|\.\.)\s*(?P<w>'[^']*'|[\w.+-]+)",
        lambda m: f"write BETWEEN {m['v']} AND {m['w']}",
    ),
    (
        rf"{_V}\s*(?P<o>[<>]=?)\s*{_X}\s*(?P<p>[<>]=?)\s*(?P<w>'[^']*'|[\w.+-]+)",
        lambda m: f"write {m['v']} {m['o']} {m['x']} AND {m['x']} {m['p']} {m['w']}",
    ),
    (
        rf"{_X}\s*==?\s*{_V}\s+or\s+(?P<w>'[^']*'|\d[\w.]*)",
        lambda m: f"write {m['x']} IN ({m['v']}, {m['w']})",
    ),
    (r":=|<-|=>", "write ="),
    (r"\*\*|//|<<|>>|\+\+|--?>", lambda m: "write a.b" if m[0].endswith("->") else "arithmetic has + - * / and %"),
    (rf"{_X}\s+NOT\s+(?P<w>[\w.]+)(?=\s*(?:\Z|\)|AND\b|OR\b))", lambda m: f"write {m['x']} AND NOT {m['w']}"),
    # Places and names.
    (rf"{_X}\[\s*['\"](?P<name>\w+)['\"]\s*\]", lambda m: f"write {m['x']}.{m['name']}"),
    (
        rf"{_X}\[\s*-?\w+\s*\]",
        lambda m: f"write {m['x']}[0] for the first element, or exists({m['x']}, i -> …) for some element",
    ),
    (rf"{_X}(\?\.|->)(?P<name>\w+)", lambda m: f"write {m['x']}.{m['name']}; what is missing is unknown"),
    (r"[$#]?\{+[^{}]*\}+|:\w+|%s|%\(\w+\)s|\?|[@$]\w+(?=\s*\Z)", "a rule has no parameters: write the value itself"),
    (r"(?P<name>@\w+)", lambda m: f"{m['name']} is a named condition; an attribute is written `{m['name']}`"),
    (
        r"(?P<name>[$#]\w+)",
        lambda m: f"a name with other signs than letters, digits and _ needs `backticks`: `{m['name']}`",
    ),
    # Constants.
    (r"(?P<a>\d{1,3})(?P<b>(?:[,_]\d{3})+)", lambda m: f"write {m['a']}{re.sub('[,_]', '', m['b'])}"),
    (r"(?P<kind>DATE|TIMESTAMP)\s+(?P<v>[\d-]+)", lambda m: f"write the time in quotes: {m['kind']} '{m['v']}'"),
    (
        r"'(?P<a>[^']*)'(?P<b>[^\W\d]\w*)[^']*'?",
        lambda m: f"a quote in a string is written twice: '{m['a']}''{m['b']}…'",
    ),
    (r"[^\W\d][\w.]*\s*[=<>]+\s*('[^']*'|[\w.]+)\s*,", "join conditions with AND or OR"),
)


def _contains(match: re.Match[str]) -> str:
    x, v = match["x"], match["v"]
    part = f"{x} LIKE '%{_inner(match)}%' for a part of a text"
    return f"write {part}, or {x} = {_as_constant(v)} for an element of an array"


def _lambda(match: re.Match[str]) -> str:
    name = "forall" if match["how"].lower() in ("every", "all") else "exists"
    return f"write {name}({match['x']}, i -> i.name = 'a')"


def _as_constant(v: str) -> str:
    return f"'{v[1:-1]}'" if v[:1] in "'\"" else v


def _size_of(match: re.Match[str]) -> str:
    return f"write size({match['x']}) for an array, or length({match['x']}) for a text"


_compiled: list[tuple[re.Pattern[str], Suggestion]] = []


def suggestion(text: str, position: int) -> str:
    """Return what a rule has for what was written at a position, or an empty text if that is not known."""
    if not _compiled:
        _compiled.extend((re.compile(form, re.IGNORECASE | re.DOTALL), made) for form, made in _FORMS)
    begin = max(0, position - _REACH)
    window, at = text[begin : position + _REACH], position - begin
    for form, made in _compiled:
        for match in form.finditer(window):
            if match.start() <= at <= match.end() and not (begin and form.pattern.startswith(r"\A")):
                return made if isinstance(made, str) else made(match)
    return ""
