"""Writes rules of ruledex as rules of another system: where rules come from, and what all writers share.

Other systems know only true and false. A writer therefore asks of each predicate whether it is true, or false, or not
true, or not false (rewrite/settle.py), and adds a test of the type where "false" is not the same as "not true".
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, overload

from ruledex.errors import InputError, RuledexError, RuleError, RuleFault, RuleTypeError, quoted
from ruledex.explain import Original
from ruledex.formats.rules import ForeignRules, Note, Translator
from ruledex.language.definitions import names_in_text
from ruledex.language.lambdas import element_level, is_of_element, map_paths, nodes_in, variable_of
from ruledex.language.parser import parse
from ruledex.language.schema import Schema
from ruledex.language.structured import from_structured
from ruledex.language.structured_parts import Place
from ruledex.language.text import tree_text
from ruledex.language.tree import Exists, Expression, Node
from ruledex.sources import BadRow, DefinitionRow, RuleFile

Progress: TypeAlias = Callable[[int, int], None]


class HasRules(Protocol):
    """An index, as far as its rules are asked for."""

    schema: Any

    def rules(self) -> Iterator[Any]:
        """Yield its rules: id, text, static score, and tags."""


Written: TypeAlias = (
    "HasRules | ForeignRules | str | os.PathLike[str] | Mapping[int | str, str] | Iterable[tuple[int | str, str]]"
)


@dataclass(frozen=True, slots=True)
class WrittenRule:
    """A rule as another system has it. `text` is what it was written from."""

    id: int | str
    document: Any
    text: str
    score: float = 0.0
    tags: Any = None
    notes: list[Note] = field(default_factory=list)

    def record(self, key: str) -> dict[str, Any]:
        """Return the rule as a line of JSON, with the document under a key, so that `formats.read` reads it."""
        made: dict[str, Any] = {"id": self.id, key: self.document}
        if self.score:
            made["score"] = self.score
        if self.tags:
            made["tags"] = self.tags
        if self.notes:
            made["notes"] = [note._asdict() for note in self.notes]
        return made


@dataclass(frozen=True, slots=True)
class WrittenRules(Sequence[WrittenRule]):
    """Rules that were written, and those that the format cannot say (`faults`). `key` is the name of rules in files."""

    rules: list[WrittenRule]
    faults: list[RuleFault]
    key: str

    @overload
    def __getitem__(self, at: int) -> WrittenRule: ...
    @overload
    def __getitem__(self, at: slice) -> list[WrittenRule]: ...
    def __getitem__(self, at: int | slice) -> WrittenRule | list[WrittenRule]:
        return self.rules[at]

    def __len__(self) -> int:
        return len(self.rules)

    def documents(self) -> dict[int | str, Any]:
        """Return the documents by id."""
        return {rule.id: rule.document for rule in self.rules}


class Given(NamedTuple):
    """A rule that is to be written: its text and, if it was read from another format, its tree."""

    id: int | str
    text: str | bytes
    tree: Expression | None = None
    document: Any = None  # in the structured form
    score: float = 0.0
    tags: Any = None
    notes: Sequence[Note] = ()
    line: int = 0
    original: Original | None = None  # as its owner wrote it for another system


def given_rules(rules: Written, definitions: Mapping[str, str]) -> tuple[list[Given], list[RuleFault], Schema]:
    """Return all rules of a source, its rows that are none, and the schema that the rules are bound to."""
    if isinstance(rules, ForeignRules):
        found = [
            Given(r.id, r.text, r.tree, None, r.score, r.tags, r.notes, r.line, Original(rules.format, r.original))
            for r in rules
        ]
        return found, list(rules.faults), Schema().with_definitions(rules.definitions | dict(definitions))
    if isinstance(rules, str | os.PathLike):
        return _of_file(rules, definitions)
    if callable(getattr(rules, "rules", None)):
        index: Any = rules
        found = [
            Given(r.id, r.text, score=r.static_score, tags=dict(r.tags), original=_original_in(index, r.id))
            for r in index.rules()
        ]
        return found, [], index.schema.with_definitions(index.definitions | dict(definitions))
    pairs: Any = rules.items() if isinstance(rules, Mapping) else rules
    if isinstance(rules, bytes) or not isinstance(pairs, Iterable):
        raise InputError(f"rules are an index, a path, a mapping of ids to texts, or pairs, not {quoted(rules)}")
    found = []
    for number, pair in enumerate(pairs, 1):
        is_pair = isinstance(pair, tuple | list) and len(pair) == 2
        if not is_pair or not isinstance(pair[0], int | str) or not isinstance(pair[1], str | Node):
            raise InputError(f"rules in Python are pairs of an id and a text, not {quoted(pair)}")
        rule: Any = pair[1]
        text, tree = (rule, None) if isinstance(rule, str) else ("", rule)
        found.append(Given(pair[0], text, tree, line=number))
    return found, [], Schema().with_definitions(definitions)


def _original_in(index: Any, rule_id: int | str) -> Original | None:
    try:
        found: Original | None = index.rule(rule_id).original
    except RuledexError:  # it was removed in the meantime
        return None
    return found


def _of_file(
    path: str | os.PathLike[str], definitions: Mapping[str, str]
) -> tuple[list[Given], list[RuleFault], Schema]:
    if os.path.isdir(path):  # noqa: PTH112  # False of what is no path
        raise InputError(
            f"{os.fspath(path)}: this is a folder; write(Index.open(folder), …) writes the rules of an index"
        )
    found, faults, named = list[Given](), list[RuleFault](), dict(definitions)
    for row in RuleFile(os.fspath(path)).rows():
        if isinstance(row, BadRow):
            faults.append(RuleFault(None if row.rule_id == "" else row.rule_id, RuleError(row.message), row.line))
        elif isinstance(row, DefinitionRow):
            named[row.name] = row.text
        else:
            text = "" if row.text is None else row.text
            found.append(Given(row.rule_id, text, None, row.document, row.score, row.tags, (), row.line))
    return found, faults, Schema().with_definitions(named)


def rule_tree(given: Given, schema: Schema) -> tuple[Expression, str]:
    """Return the tree of a rule, with conditions in the place of their names, and its text. Raises RuleError."""
    text = given.text.decode("utf-8", "surrogateescape") if isinstance(given.text, bytes) else given.text
    if given.tree is not None:
        tree = given.tree
    elif given.document is not None:
        tree = from_structured(given.document)
    else:
        tree = parse(text)
    return schema.bind(tree, text), text or tree_text(tree)


def cannot_say(part: Node, system: str, reason: str, hint: str = "") -> RuleTypeError:
    """Return the error that a system has no way to express a part of a rule."""
    return RuleTypeError(f"{shown(part)}: {system} {reason}", hint=hint)


def with_variables(path: tuple[str, ...], bound: Container[int] = ()) -> tuple[str, ...]:
    """Return a path as the text of a rule has it: from a variable, if no lambda around binds it, and without marks."""
    steps = tuple(step for step in path if not step.startswith("\ue000"))
    if not path or not is_of_element(path) or element_level(path) in bound:
        return steps
    return variable_of(element_level(path)), *steps[1:]


def shown(part: Any) -> str:
    """Return the text of a part of a rule, for messages."""
    try:
        bound = {node.level for node in nodes_in(part) if isinstance(node, Exists)}
        return tree_text(map_paths(part, lambda path: with_variables(path, bound)))
    except (AssertionError, AttributeError, TypeError):  # a part that no text has by itself
        return type(part).__name__


# Options that say something of events: they change how a rule is read and written, and not what its document means.
_OF_EVENTS: Final = ("arrays", "dotted_names")
# A statement is read as a condition, and all that is read can be written as one.
_NEVER: Final = ("spark",)


class OwnDocuments:
    """Decides for one call of `write`. `read_options` are those that the rules were read with, if that is known."""

    def __init__(
        self,
        format: str,  # noqa: A002
        make: Callable[..., Translator],
        write_rule: Callable[..., Any],
        options: Mapping[str, Any],
        read_options: Mapping[str, Any] | None,
        definitions: Mapping[str, str],
    ) -> None:
        self._format = format
        self._make = make
        self._definitions = definitions
        shared = set(_parameters(make)) & set(_parameters(write_rule)) - set(_OF_EVENTS)
        self._given = {name: value for name, value in options.items() if name in shared}
        self._is_certain = read_options is not None and (
            _changed(write_rule, options, shared) == _changed(make, read_options, shared)
        )
        self._is_possible = format not in _NEVER and (read_options is None or self._is_certain)
        self._readings: list[Translator] | None = None

    def has(self, original: Original | None, text: str | bytes) -> bool:
        """Return whether a rule with this text may be written as its original."""
        if not self._is_possible or original is None or original.format != self._format:
            return False
        return self._is_certain or (isinstance(text, str) and any(self._gives(r, original, text) for r in self._all()))

    def _all(self) -> list[Translator]:
        """Return the ways to read an original, of which one was the way that its rule was read."""
        if self._readings is None:
            of_events = [name for name in _parameters(self._make) if name in _OF_EVENTS]
            self._readings = [self._make(**self._given, **more) for more in ({}, *({n: False} for n in of_events))]
        return self._readings

    def _gives(self, reading: Translator, original: Original, text: str) -> bool:
        notes: list[Note] = []
        try:
            if tree_text(reading.translate(original.rule, Place(), notes)) != text:
                return False
        except (RuleError, RecursionError):
            return False
        return all(reading.definitions.get(name) == self._definitions.get(name) for name in names_in_text(text))


def _parameters(made: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(made).parameters


def _changed(made: Callable[..., Any], options: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    """Return the options among some names that are not the default ones."""
    defaults = {name: parameter.default for name, parameter in _parameters(made).items()}
    return {name: value for name, value in options.items() if name in names and value != defaults.get(name)}
