"""Finds mistakes of definitions by themselves, which are not repeated for each user, and definitions without users."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from ruledex.language.definitions import names_in_text, shown_name, write_out
from ruledex.language.parser import parse
from ruledex.language.schema import Schema
from ruledex.language.tree import Named
from ruledex.lint.subject import Context, Finding, LintSubject, Severity

Check: TypeAlias = Callable[[LintSubject], list[Finding]]


class LintedDefinitions:
    """The definitions of a schema, as lint sees them. They have the ids `@name`."""

    def __init__(self, schema: Schema, check: Check, used: Iterable[str] = ()) -> None:
        self.used = set(used)  # by rules
        self._context = Context(schema)
        self._check = check
        self._found: dict[str, list[Finding]] = {}

    @property
    def names(self) -> list[str]:
        """The names of all definitions."""
        return list(self._context.schema.definitions)

    def findings(self, name: str) -> list[Finding]:
        """Return the findings of a definition by itself."""
        if name not in self._found:
            schema = self._context.schema
            text = schema.definitions[name]
            tree = write_out(schema.bind_named(parse(text), text))
            found = self._check(LintSubject(shown_name(name), tree, text, self._context))
            # A condition that only excludes values may be a useful part of rules.
            self._found[name] = [finding for finding in found if finding.code != "nearly-everything"]
        return self._found[name]

    def without_known(self, findings: list[Finding], names: list[Named]) -> list[Finding]:
        """Return the findings of a rule that its definitions do not have by themselves."""
        if not names:
            return findings
        self.used |= {used.name for used in names}
        known = {(used.position, finding.code) for used in names for finding in self.findings(used.name)}
        return [finding for finding in findings if (finding.position, finding.code) not in known]

    def unused(self) -> list[Finding]:
        """Return a finding for each definition that no rule uses, directly or through another definition."""
        definitions = self._context.schema.definitions
        needed, pending = set[str](), [name for name in self.used if name in definitions]
        while pending:
            name = pending.pop()
            if name not in needed:
                needed.add(name)
                pending += names_in_text(definitions[name])
        return [
            Finding(
                shown_name(name), "unused-definition", Severity.WARNING, 0, "no rule uses this definition", "remove it"
            )
            for name in definitions
            if name not in needed
        ]
