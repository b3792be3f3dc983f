"""Finds the rules in files, folders and Python objects, before anything is known of their format.

A file of JSON holds one rule, or a list of rules. One of JSON lines holds one rule per line. A rule stands alone, or in
a record beside its id, score and tags. A format may have files of its own, such as YAML.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

import orjson

from ruledex.errors import InputError, RuleError, RuleFault, RuleSyntaxError, did_you_mean, quoted
from ruledex.sources.lines import LineFile, convert_file_errors

Source: TypeAlias = "str | os.PathLike[str] | Mapping[int | str, Any] | Iterable[tuple[int | str, Any]]"

_SUFFIXES: Final = (".json", ".jsonl", ".ndjson")
_QUERY: Final = "query"  # the key of Elasticsearch's percolator
_ACTIONS: Final = (b'{"index"', b'{"create"', b'{ "index"', b'{ "create"')
_IDS: Final = ("id", "Id", "name", "Name")
_SIGMA: Final = "sigma"  # the key of a format whose rules have ids themselves
_RULE_KEYS: Final = (
    "EventPattern",
    "eventPattern",
    "pattern",
    "condition",
    "rule",
    "logic",
    "query",
    "criteria",
    "expr",
)
_MOST_KEYS: Final = 5  # that a message shows
_LINE: Final = re.compile(r"line ([0-9]+), (?=column )")
WHOLE: Final = "*"  # among the keys of a format: the record itself is the rule, and has its id


@dataclass(frozen=True, slots=True)
class Document:
    """One rule as it was found, or the error that kept it from being found. `line` counts lines or elements from 1."""

    rule_id: int | str
    content: Any = None
    score: float = 0.0
    tags: Any = None
    file: str = ""
    line: int = 0
    error: RuleError | None = None
    original: Any = None  # as its owner wrote it, if `content` is something else
    is_piece: bool = False  # the content is a piece of the file as it stands, from `line` on

    def placed(self, error: RuleError) -> RuleError:
        """Return an error with the name of the file."""
        message = f"{self.file}: {error.message}" if self.file else error.message
        return type(error)(message, hint=error.hint)

    def fault(self, error: RuleError) -> RuleFault:
        """Return the fault of an error in the rule, with its line in the file if the rule is a piece of one."""
        line = self.line
        if self.file and isinstance(self.content, str) and (found := _LINE.match(error.message)) is not None:
            n_lines = int(found[1]) - 1
            if self.is_piece or (n_lines == 0 and "\n" not in self.content):  # else the line is one of the text
                error = type(error)(error.message[found.end() :], hint=error.hint)
                line += n_lines if self.is_piece else 0
        return RuleFault(self.rule_id, self.placed(error), line, self.file)


@runtime_checkable
class Files(Protocol):
    """The files of a format that are not JSON."""

    suffixes: tuple[str, ...]

    def load(self, content: bytes) -> Iterator[tuple[int, Any]]:
        """Yield the documents of a file and their lines. Raises RuleError."""


def documents_of(source: Source, keys: tuple[str, ...], files: Files | None = None) -> Iterator[Document]:
    """Yield all rules of a source. `keys` are the names under which a record holds a rule of the format."""
    if isinstance(source, str | os.PathLike):
        yield from _same_kind_of_ids(_of_path(Path(source), keys, files))
        return
    pairs: Any = source.items() if isinstance(source, Mapping) else source
    if isinstance(source, bytes) or not isinstance(pairs, Iterable):
        raise InputError(f"rules are a path, a mapping of ids to rules, or pairs of them, not {quoted(source)}")
    yield from _same_kind_of_ids(_of_pairs(pairs))


def _of_pairs(pairs: Iterable[Any]) -> Iterator[Document]:
    for number, pair in enumerate(pairs, 1):
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not _is_id(pair[0]):
            raise InputError(f"rules in Python are pairs of an id and a rule, not {quoted(pair)}")
        yield Document(pair[0], pair[1], line=number)


def _of_path(path: Path, keys: tuple[str, ...], files: Files | None) -> Iterator[Document]:
    if not path.is_dir():
        yield from _of_file(path, path.name.split(".")[0], keys, files)
        return
    suffixes = (*files.suffixes, *_SUFFIXES) if files is not None else _SUFFIXES
    with convert_file_errors(str(path)):
        found = sorted(file for file in path.rglob("*") if file.is_file() and _suffix(file) in suffixes)
    if not found:
        raise InputError(f"{path}: the folder has no files that end in {', '.join(suffixes)}")
    for file in found:
        stem = file.relative_to(path).as_posix().removesuffix(".gz").rpartition(".")[0]
        try:
            yield from _of_file(file, stem, keys, files)
        except InputError as error:  # one file of many
            yield Document(stem, file=str(file), error=RuleError(str(error)))


def _suffix(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _of_file(path: Path, stem: str, keys: tuple[str, ...], files: Files | None) -> Iterator[Document]:
    name = str(path)
    with closing(LineFile(name).lines()) as lines:
        if _suffix(path) in (".jsonl", ".ndjson"):
            given = None
            for number, line in enumerate(lines, 1):
                action = _bulk_action(line, keys)
                if action is not None:
                    given = action.get("_id")
                elif line.strip():
                    rule_id = f"{stem}:{number}" if given is None or not _is_id(given) else given
                    yield _parsed(line.rstrip(), rule_id, name, number, keys, files)
                    given = None
            return
        content = b"".join(lines)
    if files is not None and _suffix(path) in files.suffixes:
        yield from _of_documents(content, stem, name, files)
        return
    whole = _loaded(content, stem, name, 1)
    if isinstance(whole, Document):
        yield whole
        return
    if isinstance(whole, Mapping) and isinstance(whole.get("Rules"), list):  # as the AWS CLI lists rules
        whole = whole["Rules"]
    elif isinstance(whole, Mapping) and isinstance(whole.get("allCriterias"), Mapping):  # as Mustang exports an index
        whole = list(whole["allCriterias"].values())
    elif isinstance(whole, Mapping) and isinstance(whole.get("hits"), Mapping) and "hits" in whole["hits"]:
        whole = whole["hits"]["hits"]  # as a search of Elasticsearch answers
    if not isinstance(whole, list):
        yield _record(whole, stem, name, 1, keys, files)
        return
    for number, element in enumerate(whole, 1):
        yield _record(element, f"{stem}:{number}", name, number, keys, files)


def _of_documents(content: bytes, stem: str, name: str, files: Files) -> Iterator[Document]:
    """Yield the documents of a file of the format's own kind."""
    found: list[tuple[int, Any]] = []
    error = None
    try:
        found.extend(files.load(content))
    except RuleError as raised:
        error = type(raised)(f"{name}, {raised.message}", hint=raised.hint)
    n_all = len(found) + (error is not None)
    ids = [stem] if n_all == 1 else [f"{stem}:{number}" for number in range(1, n_all + 1)]
    for rule_id, (line, document) in zip(ids, found, strict=False):
        yield Document(rule_id, document, file=name, line=line, is_piece=True)
    if error is not None:
        yield Document(ids[-1], file=name, line=1, error=error)
    elif not found:
        yield Document(stem, file=name, line=1, error=RuleSyntaxError(f"{name}: the file has no rule"))


def _bulk_action(line: bytes, keys: tuple[str, ...]) -> Mapping[str, Any] | None:
    """Return what a line of Elasticsearch's bulk format says about the document in the next line, or None."""
    if _QUERY not in keys or not line.startswith(_ACTIONS):
        return None
    try:
        ((_, about),) = orjson.loads(line).items()
    except ValueError:  # no JSON, or more than the action
        return None
    return about if isinstance(about, Mapping) else None


def _parsed(
    line: bytes, rule_id: int | str, file: str, number: int, keys: tuple[str, ...], files: Files | None
) -> Document:
    found = _loaded(line, rule_id, file, number)
    return found if isinstance(found, Document) else _record(found, rule_id, file, number, keys, files)


def _loaded(content: bytes, rule_id: int | str, file: str, first_line: int) -> Any:
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        message = f"{file}, line {first_line + error.lineno - 1}, column {error.colno}: this is not JSON: {error.msg}"
        return Document(rule_id, file=file, line=first_line, error=RuleSyntaxError(message))


def _record(
    found: Any, rule_id: int | str, file: str, line: int, keys: tuple[str, ...], files: Files | None
) -> Document:
    """Return the rule of a record, or what was found as a rule if it is no record."""
    if isinstance(found, Mapping) and isinstance(found.get("_source"), Mapping):  # a hit of Elasticsearch
        found = {"id": found.get("_id"), **found["_source"]}
    key = next((key for key in keys if isinstance(found, Mapping) and (key == WHOLE or key in found)), None)
    given = next((found[name] for name in _IDS if isinstance(found, Mapping) and _is_id(found.get(name))), rule_id)
    if key is None:
        if isinstance(found, Mapping) and (wrong := _wrong_record(found, keys)) is not None:
            return Document(given, file=file, line=line, error=RuleSyntaxError(f"{file}: {wrong[0]}", hint=wrong[1]))
        return Document(rule_id, found, file=file, line=line)
    content, score = found if key == WHOLE else found[key], found.get("score", 0.0)
    if isinstance(content, str) and files is None:  # a rule as a text of JSON, as the AWS CLI writes it
        content = _loaded(content.encode("utf-8", "surrogatepass"), given, file, line)
        if isinstance(content, Document):
            return content
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        error = RuleError(f"{file}: a score is a finite number, not {quoted(score)}")
        return Document(given, file=file, line=line, error=error)
    return Document(given, content, float(score), found.get("tags"), file, line)


def _wrong_record(found: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[str, str] | None:
    """Return what is wrong with an object that has none of the keys, and a hint, or None if it may be a rule itself.

    Some formats test attributes by their names, so that any object may be a rule. It is a record if it has an id, a
    name beside what is a rule in some format, or a key that is nearly one of the format's.
    """
    if not keys or _SIGMA in keys:
        return None
    near = ((key, did_you_mean(key, keys)) for key, value in found.items() if isinstance(value, Mapping))
    key, hint = next(((key, hint) for key, hint in near if hint), ("", ""))
    is_named = any(_is_id(found.get(name)) for name in _IDS)
    has_id = any(_is_id(found.get(name)) for name in _IDS[:2]) and len(found) > 1
    others = [name for name in _RULE_KEYS if isinstance(found.get(name), Mapping | str)]
    if not (has_id or (is_named and others) or (key and (is_named or len(found) == 1))):
        return None
    wanted = " or ".join(map(quoted, keys))
    if key:
        return f"a record has its rule under {wanted}, and this one has {quoted(key)}", hint
    return (
        f"a record has its rule under {wanted}, and this one has {', '.join(map(quoted, list(found)[:_MOST_KEYS]))}",
        f"if this is the rule itself, put it under {quoted(keys[0])}",
    )


def _is_id(given: Any) -> bool:
    return isinstance(given, int | str) and not isinstance(given, bool) and given != ""


def _same_kind_of_ids(documents: Iterator[Document]) -> Iterator[Document]:
    """Yield documents whose ids are all integers or all strings: integers among strings become strings."""
    found = list(documents)
    are_numbers = all(isinstance(document.rule_id, int) for document in found)
    for given in found:
        yield given if are_numbers else replace(given, rule_id=str(given.rule_id))


def without_repeated_ids(documents: Iterable[Document]) -> Iterator[Document]:
    """Yield documents; one of a file whose id was given before has an error instead of a rule."""
    first: dict[int | str, Document] = {}
    for given in documents:
        before = first.setdefault(given.rule_id, given)
        if before is given or given.error is not None or not given.file:
            yield given
            continue
        where = f"line {before.line}" if before.file == given.file else f"{before.file}, line {before.line}"
        yield replace(given, error=RuleError(f"{given.file}: this id was given before, in {where}"))
