"""Guesses the format of rules by what only one format has. Where two formats are possible, there is no guess."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from ruledex.errors import InputError, quoted
from ruledex.sources.lines import LineFile, convert_file_errors

OWN: Final = "ruledex"
_MOST_FILES: Final = 200  # of a folder that are looked at
_MOST_RULES: Final = 200  # of a file
_MOST_PARTS: Final = 20_000  # of a document
_OWN_SUFFIXES: Final = (".csv", ".txt", ".parquet")
_TEXT_SUFFIXES: Final = {".cel": "cel", ".sql": "spark"}
_JSON_SUFFIXES: Final = (".json", ".jsonl", ".ndjson", ".json5")
_YAML_SUFFIXES: Final = (".yml", ".yaml")
_SIGMA: Final = re.compile(rb"^(detection|correlation):", re.MULTILINE)
_WORDS: Final = re.compile(r"\S+")
_MONGO: Final = frozenset(
    _WORDS.findall(
        "$eq $ne $gt $gte $lt $lte $in $nin $ini $nini $all $alli $exists $not $nor $and $size $elemMatch $regex "
        "$regexi $notRegex $notRegexi $type $inGroup $notInGroup $veq $vne $vgt $vgte $vlt $vlte"
    )
)
_MATCHERS: Final[dict[str, tuple[type, ...]]] = {
    "prefix": (str,),
    "suffix": (str,),
    "anything-but": (object,),
    "numeric": (list,),
    "exists": (bool,),
    "equals-ignore-case": (str,),
    "wildcard": (str,),
    "cidr": (str,),
}
_OPERATIONS: Final = frozenset(
    _WORDS.findall(
        "and or ! !! if ?: == === != !== < <= > >= in var val missing missing_some some all none filter exists "
        "+ - * / % map reduce cat substr min max merge"
    )
)
_QUERIES: Final = frozenset(
    _WORDS.findall(
        "bool term terms range match match_all match_phrase query_string prefix wildcard regexp exists ids nested"
    )
)
_CLAUSES: Final = frozenset(("must", "must_not", "should", "filter"))
_FORMS: Final = frozenset(("DNF", "CNF", "UNF"))


class Guess(NamedTuple):
    """A format, and what speaks for it."""

    format: str
    reason: str


def guess(source: Any) -> Guess:
    """Return the format of a file, a folder, a mapping of ids to rules, or pairs of them, and the reason for it.

    `ruledex` is a format too. Raises an `InputError` if nothing shows a format, or if several are possible.

    >>> from ruledex import formats
    >>> formats.guess({"big": {"detail": {"size": [{"numeric": [">", 100]}]}}})
    Guess(format='eventbridge', reason="'numeric' in a list of values")
    """
    from ruledex.formats import FORMATS

    known = (*FORMATS, OWN)
    found = dict[str, str]()
    for sign in _signs_of_source(source):
        if sign.format in known:
            found.setdefault(*sign)
    where = f"{os.fspath(source)}: " if isinstance(source, str | os.PathLike) else ""
    if not found:
        raise InputError(f"{where}nothing shows the format of these rules; name it: {', '.join(FORMATS)}")
    if len(found) > 1:
        several = " or ".join(f"{name} ({reason})" for name, reason in found.items())
        raise InputError(f"{where}the format of these rules may be {several}; name it")
    return Guess(*next(iter(found.items())))


def hint_of(source: Any) -> str:
    """Return a sentence about the format of another system that a source is in, or "" if that is not certain."""
    try:
        found = guess(source)
    except InputError:
        return ""
    if found.format == OWN:
        return ""
    return f"it looks like rules in the format {found.format} ({found.reason}); name the format to have them read"


def _signs_of_source(source: Any) -> Iterator[Guess]:
    if isinstance(source, str | os.PathLike):
        yield from _signs_of_path(Path(source))
        return
    pairs: Any = source.items() if isinstance(source, Mapping) else source
    if isinstance(source, bytes) or not isinstance(pairs, Iterable):
        raise InputError(f"rules are a path, a mapping of ids to rules, or pairs of them, not {quoted(source)}")
    for pair in islice(pairs, _MOST_RULES):
        content = pair[1] if isinstance(pair, tuple | list) and len(pair) > 1 else pair
        if isinstance(content, str):
            yield from _signs_of_text(content.encode("utf-8", "replace"))
        else:
            yield from _signs_of_record(content)


def _signs_of_path(path: Path) -> Iterator[Guess]:
    with convert_file_errors(str(path)):
        files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    for file in files[:_MOST_FILES]:
        try:
            yield from _signs_of_file(file)
        except InputError:
            if len(files) == 1:
                raise


def _signs_of_file(path: Path) -> Iterator[Guess]:
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if suffix in _OWN_SUFFIXES:
        yield Guess(OWN, f"a file that ends in {suffix}")
    elif suffix in _TEXT_SUFFIXES:
        yield Guess(_TEXT_SUFFIXES[suffix], f"a file that ends in {suffix}")
    elif suffix in (".jsonl", ".ndjson"):
        with closing(LineFile(str(path)).lines()) as lines:
            for line in islice(lines, _MOST_RULES):
                yield from _signs_of_text(line)
    elif suffix in _JSON_SUFFIXES + _YAML_SUFFIXES:
        with closing(LineFile(str(path)).lines()) as lines:
            yield from _signs_of_text(b"".join(lines))


def _signs_of_text(content: bytes) -> Iterator[Guess]:
    if (found := _SIGMA.search(content)) is not None:
        yield Guess("sigma", f"a line that starts with {found[0].decode()}")
        return
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError:
        return  # not JSON, or damaged: no sign of anything
    for record in document[:_MOST_RULES] if isinstance(document, list) else [document]:
        yield from _signs_of_record(record)


def _signs_of_record(record: Any) -> Iterator[Guess]:
    """Yield what a rule shows that stands alone, or in a record beside its id."""
    if not isinstance(record, Mapping):
        return
    structured = record.get("rule")
    if isinstance(record.get("expr"), str) and ("id" in record or "define" in record):
        yield Guess(OWN, "the key 'expr'")
    elif isinstance(structured, Mapping) and ("op" in structured or "named" in structured):
        yield Guess(OWN, "the key 'rule' with the structured form")
    elif isinstance(record.get("features"), Mapping):
        yield Guess("growthbook", "the key 'features'")
    elif "EventPattern" in record or any("EventPattern" in r for r in _mappings(record.get("Rules"))):
        yield Guess("eventbridge", "the key 'EventPattern'")
    elif isinstance(record.get("condition"), Mapping):
        yield Guess("mongo", "the key 'condition'")
    elif isinstance(record.get("detection"), Mapping) and "condition" in record["detection"]:
        yield Guess("sigma", "the key 'detection'")
    elif isinstance(record.get("form"), str) and record["form"] in _FORMS:
        yield Guess("mustang", "the key 'form'")
    else:
        query = record.get("query")
        if isinstance(query, Mapping) and len(query) == 1 and set(query) <= _QUERIES:
            yield Guess("elasticsearch", "the key 'query'")
            return
        parts = [record.get(key) for key in ("pattern", "rule", "logic")]
        held = next((part for part in parts if isinstance(part, Mapping)), record)
        yield from _signs_within(held)


def _mappings(given: Any) -> list[Mapping[str, Any]]:
    return [part for part in given if isinstance(part, Mapping)] if isinstance(given, list) else []


def _signs_within(document: Mapping[str, Any]) -> Iterator[Guess]:
    if isinstance(document.get("bool"), Mapping) and len(document) == 1 and set(document["bool"]) & _CLAUSES:
        yield Guess("elasticsearch", "the query 'bool'")
    is_operation = len(document) == 1 and set(document) <= _OPERATIONS
    waiting: list[tuple[Any, bool]] = [(document, False)]
    for _ in range(_MOST_PARTS):
        if not waiting:
            return
        part, in_list = waiting.pop()
        if isinstance(part, list):
            waiting += [(element, True) for element in part]
        if not isinstance(part, Mapping):
            continue
        for key, value in part.items():
            if key in _MONGO:
                yield Guess("mongo", f"the operator {quoted(key)}")
            elif in_list and len(part) == 1 and isinstance(value, _MATCHERS.get(key, ())):
                yield Guess("eventbridge", f"{quoted(key)} in a list of values")
            elif is_operation and key == "var" and len(part) == 1 and isinstance(value, str | list):
                yield Guess("jsonlogic", "the operation 'var'")
            waiting.append((value, False))
