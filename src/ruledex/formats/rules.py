"""What reading a foreign rule gives, and what a format's module has to offer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, overload, runtime_checkable

from ruledex.errors import RuleFault
from ruledex.explain import Original
from ruledex.formats.documents import Document, Files
from ruledex.language.structured_parts import Place
from ruledex.language.tree import Expression
from ruledex.sources import BadRow, DefinitionRow, Row, RuleRow


class Note(NamedTuple):
    """What a part of a rule means here that it does not mean in its own system."""

    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


@dataclass(frozen=True, slots=True)
class ForeignRule:
    """A rule of another system in the language of ruledex. `original` is what its owner wrote."""

    id: int | str
    text: str
    tree: Expression
    score: float
    tags: Any
    original: Any
    notes: list[Note] = field(default_factory=list)
    file: str = ""
    line: int = 0

    def record(self) -> dict[str, Any]:
        """Return the rule as `ruledex build` reads it from a line of JSON, with the original and the notes beside."""
        made: dict[str, Any] = {"id": self.id, "expr": self.text}
        if self.score:
            made["score"] = self.score
        if self.tags is not None:
            made["tags"] = self.tags
        made["original"] = self.original
        if self.notes:
            made["notes"] = [note._asdict() for note in self.notes]
        return made


@dataclass(frozen=True, slots=True)
class ForeignRules(Sequence[ForeignRule]):
    """Rules that were read, those that could not be (`faults`), and the named conditions that the rules use.

    `correlations` are what a format says of several rules over time, as data of JSON: an index does not answer them.
    `options` are those that the rules were read with.
    """

    rules: list[ForeignRule]
    faults: list[RuleFault]
    definitions: dict[str, str]
    format: str = ""
    correlations: list[dict[str, Any]] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)

    @overload
    def __getitem__(self, at: int) -> ForeignRule: ...
    @overload
    def __getitem__(self, at: slice) -> list[ForeignRule]: ...
    def __getitem__(self, at: int | slice) -> ForeignRule | list[ForeignRule]:
        return self.rules[at]

    def __len__(self) -> int:
        return len(self.rules)

    def all_rows(self) -> Iterator[Row]:
        """Yield the definitions, and then all rules and faults, as rows of a file."""
        for name, text in self.definitions.items():
            yield DefinitionRow(0, name, text)
        yield from self.rows()

    def rows(self) -> Iterator[RuleRow | BadRow]:
        """Yield all rules and faults as rows of a file."""
        for rule in self.rules:
            original = Original(self.format, rule.original).stored() if self.format else None
            yield RuleRow(rule.line, rule.id, rule.text, None, rule.score, rule.tags, original)
        for fault in self.faults:
            yield BadRow(fault.line, "" if fault.rule_id is None else fault.rule_id, str(fault.error))


class Translator(Protocol):
    """Makes trees of the rules of one format. A module has a function `translator` that makes one from options."""

    # It may also have `split(document)`, which yields the rules of a document that holds several, and `root_key`, the
    # key of a mapping that is such a document.

    keys: tuple[str, ...]  # under which a record of a file may hold the rule
    definitions: dict[str, str]  # named conditions that translated rules use

    def translate(self, document: Any, place: Place, notes: list[Note]) -> Expression:
        """Return the tree of a rule, and add to `notes` what it approximates. Raises RuleError with a place."""


@runtime_checkable
class SetTranslator(Files, Translator, Protocol):
    """A translator that looks at all documents before it translates one: some say something of others."""

    correlations: list[dict[str, Any]]

    def gather(self, documents: Sequence[Document]) -> list[Document]:
        """Return the documents that are rules, and keep what the others say."""
