"""Runs all checks of a rule by itself, and checks it against all others: duplicates, types that do not agree.

Definitions, and the conditions of lambdas, are checked as rules of their own.

A linter sees each rule once and keeps no tree, so it can check millions of rules. It keeps the id and a digest of 16
bytes per rule, and the families with which each attribute was compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b
from itertools import chain
from typing import Any, Final, TypeAlias

from ruledex.errors import RuleError, RulesError
from ruledex.language.definitions import names_in, names_in_text, shown_name, write_out
from ruledex.language.functions.registry import function_of
from ruledex.language.lambdas import element_level, element_name, is_of_element, map_paths, nodes_in, with_variable
from ruledex.language.parser import parse
from ruledex.language.schema import AttributeType, Schema, read_path
from ruledex.language.structured import from_structured
from ruledex.language.text import path_text, predicate_text
from ruledex.language.tree import (
    Attribute,
    Call,
    Exists,
    Expression,
    Named,
    Node,
    Not,
    Operand,
    Truth,
    attributes,
    operands,
    predicates,
    without_required,
)
from ruledex.language.value import Family, constant_family
from ruledex.lint.fitting import check_fitting
from ruledex.lint.redundancy import check_redundancy
from ruledex.lint.regex_dialect import check_dialect
from ruledex.lint.subject import Context, Finding, Findings, LintSubject, Severity, UndeclaredSingle, short
from ruledex.lint.truth import check_truth

Check: TypeAlias = Callable[[LintSubject], list[Finding]]
PartialCheck: TypeAlias = Callable[[LintSubject], Iterator[Finding]]
_UNDECLARED: Final = Schema()
_ALIKE: Final = frozenset((Family.STRING, Family.TIME))  # a time may be a string in JSON, so the two agree
_QUOTED: Final = re.compile(r"""'(?:[^'\\]|\\.|'')*'|"[^"]*"|`[^`]*`""")
_DATE: Final = re.compile(r"(?<![\w.])(\d{4})-(\d{1,2})-(\d{1,2})(?![\w.])")

# Names that mean a value in other languages. In a rule each is an attribute, which hardly any event has, so that a
# comparison with it is never true.
_NO_CLOCK: Final = "write now() or current_date(), with parentheses, for the time of the call"
_NO_NULL: Final = "write IS NULL or IS NOT NULL"
_VALUES_ELSEWHERE: Final = {
    **dict.fromkeys(("now", "today", "current_date", "current_timestamp", "current_time", "sysdate"), _NO_CLOCK),
    **dict.fromkeys(("none", "nil", "undefined"), _NO_NULL),
}


def check_attribute_names(subject: LintSubject) -> Iterator[Finding]:
    """Check misspelt-attribute and not-a-value: each undeclared name once."""
    seen: set[tuple[str, ...]] = set()
    for predicate in predicates(subject.tree):
        for operand in operands(predicate):
            for attribute in attributes(operand):
                if attribute.path in seen:
                    continue
                seen.add(attribute.path)
                name = path_text(attribute.path)
                near = subject.context.near_name(attribute.path)
                known = "" if attribute.path in subject.context.declared else _VALUES_ELSEWHERE.get(name.lower(), "")
                if not near and not known:
                    continue
                found = subject.text.find(name, predicate.position)
                position = predicate.position if found < 0 else found
                if known:
                    shown = short(predicate_text(predicate))
                    message = f"{name} is an attribute here: `{shown}` is never true of an event without it"
                    yield subject.warning("not-a-value", position, message, known)
                else:
                    message = f"the schema declares no attribute {name}"
                    yield subject.warning("misspelt-attribute", position, message, f"did you mean {near}?")


def check_dates(subject: LintSubject) -> Iterator[Finding]:
    """Report `2024-01-31` without quotes, which is 2024 minus 1 minus 31."""
    bare = _QUOTED.sub(lambda quoted: " " * len(quoted[0]), subject.text)
    for found in _DATE.finditer(bare):
        year, month, day = map(int, found.groups())
        if 1 <= month <= 12 and 1 <= day <= 31:
            message = f"{found[0]} is a subtraction here, and its result {year - month - day}"
            yield subject.warning("not-a-value", found.start(), message, f"write DATE '{year:04}-{month:02}-{day:02}'")


CHECKS: Final[tuple[Callable[[LintSubject], Iterator[Finding]], ...]] = (
    check_truth,
    check_fitting,
    check_redundancy,
    check_dialect,
    check_attribute_names,
    check_dates,
)
_OF_ELEMENTS: Final = tuple(check for check in CHECKS if check is not check_dates)  # that one reads the whole text


def lint_subject(subject: LintSubject) -> Findings:
    """Return the findings of a rule by itself, in the order of the checks."""
    found = Findings(finding for check in CHECKS for finding in check(subject))
    if any(isinstance(predicate, Exists) for predicate in predicates(subject.tree)) or "->" in subject.text:
        known = {(finding.code, finding.message) for finding in found}
        inner = check_elements(subject, _OF_ELEMENTS)
        found += [finding for finding in inner if (finding.code, finding.message) not in known]
    return found


def lint_rule(rule_id: str, tree: Expression, text: str = "", schema: Schema = _UNDECLARED) -> Findings:
    """Return the findings of one rule by itself. The tree must be bound to the schema (`Schema.bind_named`).

    >>> from ruledex.lint import lint_rule
    >>> text = "age BETWEEN 30 AND 20"
    >>> [finding.code for finding in lint_rule("r1", ruledex.parse(text), text)]
    ['never-true']
    """
    return lint_subject(LintSubject(rule_id, _written_out(tree), text, Context(schema)))


def _written_out(tree: Expression) -> Expression:
    return write_out(tree) if names_in(tree) else tree


class Linter:
    """Checks rules one after the other, and remembers what it needs to compare them.

    >>> from ruledex.lint import Linter
    >>> linter = Linter(ruledex.Schema())
    >>> _ = linter.check_text("r1", "age > 30")
    >>> [finding.code for finding in linter.check_text("r2", "NOT NOT age > 30")]
    ['duplicate']
    """

    def __init__(self, schema: Schema) -> None:
        self._context = Context(schema)
        self._definitions = LintedDefinitions(schema, lint_subject)
        self._ids: set[str] = set()
        self._first_with: dict[bytes, str] = {}  # digest of a match tree → the first rule that has it
        self._families: dict[tuple[str, ...], dict[Family, str]] = {}  # → the first rule that used it so

    @property
    def schema(self) -> Schema:
        """The schema, with all definitions so far."""
        return self._context.schema

    def check_text(self, rule_id: str, text: str | bytes, *, mixed_types: bool = True) -> Findings:
        """Return the findings of a rule's text. A rule that cannot be used has one finding, its error.

        Without `mixed_types`, an attribute may have constants of several types.
        """
        try:
            tree = parse(text)
            shown = text if isinstance(text, str) else text.decode("utf-8")
            bound = self._context.schema.bind_named(tree, shown)
            return self.check_tree(rule_id, bound, shown, mixed_types=mixed_types)
        except RuleError as error:
            return Findings([*self._repeated_id(rule_id), Finding.of_error(rule_id, error)])

    def check_structured(self, rule_id: str, document: Any) -> Findings:
        """Return the findings of a rule in structured form."""
        try:
            tree = self._context.schema.bind_named(from_structured(document))
        except RuleError as error:
            return Findings([*self._repeated_id(rule_id), Finding.of_error(rule_id, error)])
        return self.check_tree(rule_id, tree, "")

    def check_tree(self, rule_id: str, tree: Expression, text: str, *, mixed_types: bool = True) -> Findings:
        """Return the findings of a tree that is bound to the schema (`Schema.bind_named`)."""
        names = names_in(tree)
        subject = LintSubject(rule_id, without_required(_written_out(tree)), text, self._context)
        own = (self._repeated_id(rule_id), self._definitions.without_known(lint_subject(subject), names))
        return Findings(chain(*own, self._duplicate(subject), self._mixed_types(subject) if mixed_types else ()))

    def define(self, definitions: Mapping[str, str]) -> Findings:
        """Add definitions for the rules to come. Returns their findings; the invalid ones are left out."""
        known, findings = self._context.schema.definitions, list[Finding]()
        wanted = {}
        for name, text in definitions.items():
            if known.get(name, text) == text:
                wanted[name] = text
            else:
                findings.append(self.defined_twice(name))
        while wanted:
            try:
                schema = self._context.schema.with_definitions(wanted)
                self._context = Context(schema)
                self._definitions = LintedDefinitions(schema, lint_subject, self._definitions.used)
                return Findings([*findings, *self.check_definitions(wanted)])
            except RulesError as error:
                faults = {str(fault.rule_id): fault.error for fault in error.faults}
                findings += [Finding.of_error(name, fault) for name, fault in faults.items()]
                wanted = {name: text for name, text in wanted.items() if shown_name(name) not in faults}
        return Findings(findings)

    def defined_twice(self, name: str) -> Finding:
        """Return the finding of a definition whose name has another condition."""
        told = "another condition is defined under this name"
        return Finding(shown_name(name), "definition", Severity.ERROR, 0, told, "give one of them another name")

    def check_definitions(self, names: Iterable[str] | None = None) -> Findings:
        """Return the findings of some definitions by themselves (of all, unless given)."""
        names = self._definitions.names if names is None else names
        return Findings(finding for name in names for finding in self._definitions.findings(name))

    def unused_definitions(self) -> Findings:
        """Return a finding for each definition that no rule has used so far, directly or through another definition."""
        return Findings(self._definitions.unused())

    def _repeated_id(self, rule_id: str) -> Iterator[Finding]:
        if rule_id in self._ids:
            message = f"several rules have the id {rule_id}"
            yield Finding(rule_id, "repeated-id", Severity.ERROR, 0, message, "give each rule an id of its own")
        self._ids.add(rule_id)

    def _duplicate(self, subject: LintSubject) -> Iterator[Finding]:
        if isinstance(subject.match, Truth):
            return
        digest = blake2b(subject.match_key.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        first = self._first_with.setdefault(digest, subject.rule_id)
        if first is not subject.rule_id and first != subject.rule_id:
            message = f"this rule is true of the same events as rule {first}"
            yield subject.note("duplicate", 0, message, "remove one, unless both ids are wanted")

    def _mixed_types(self, subject: LintSubject) -> Iterator[Finding]:
        for predicate in predicates(subject.tree):
            for operand in operands(predicate):
                for path, family in _families(operand, constant_family(predicate)):
                    if path in self._context.declared:
                        continue
                    known = self._families.setdefault(path, {})
                    if family in known:
                        continue
                    others = [other for other in known if not {family, other} <= _ALIKE]
                    known[family] = subject.rule_id
                    if others:
                        name, first = path_text(path), known[others[0]]
                        where = "in this rule too" if first == subject.rule_id else f"in rule {first}"
                        yield subject.note(
                            "type-never-fits",
                            predicate.position,
                            f"{name} is used as a {family} here and as a {others[0]} {where}: a value fits only one",
                            f"declare {name} in the schema; rules that contradict it become errors",
                        )


def _families(operand: Operand, family: Family | None) -> Iterator[tuple[tuple[str, ...], Family]]:
    """Yield the attributes of an operand, each with the family that the rule expects of it, if it expects one."""
    if isinstance(operand, Attribute):
        if family is not None and family is not Family.ANY:
            yield operand.path, family
        return
    function = function_of(operand)
    for index, argument in enumerate(operand.arguments):
        if isinstance(argument, Attribute | Call):
            yield from _families(argument, function.parameter_at(index).family)


def lint_rules(rules: Iterable[tuple[str, Expression, str]], schema: Schema) -> Iterator[Finding]:
    """Yield the findings of rules, given as id, bound tree and text: of each by itself and against earlier ones.

    >>> from ruledex.lint import lint_rules
    >>> rules = [(name, ruledex.parse(text), text) for name, text in [("r1", "a = 1"), ("r2", "(a = 1)")]]
    >>> [(finding.rule_id, finding.code) for finding in lint_rules(rules, ruledex.Schema())]
    [('r2', 'duplicate')]
    """
    linter = Linter(schema)
    for rule_id, tree, text in rules:
        yield from linter.check_tree(rule_id, tree, text)


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


_OF_RULES: Final = frozenset(("nearly-everything",))  # a condition of elements may well only exclude some


def check_elements(subject: LintSubject, checks: tuple[PartialCheck, ...]) -> Iterator[Finding]:
    """Run checks on the condition of each lambda, and of those inside of it."""
    seen: set[tuple[str, str]] = set()
    for exists, is_forall in _lambdas(subject.tree):
        inner = _condition(subject, exists, is_forall)
        function = "forall()" if is_forall else "exists()"
        own = (finding for check in checks for finding in check(inner))
        for finding in (*(_of_elements(f, exists, function) for f in own), *check_elements(inner, checks)):
            if finding.code not in _OF_RULES and (finding.code, finding.message) not in seen:
                seen.add((finding.code, finding.message))
                yield finding


def _lambdas(tree: Expression) -> Iterator[tuple[Exists, bool]]:
    """Yield the outermost lambdas of a tree, and whether each was written as forall()."""
    negated = {id(node.child) for node in nodes_in(tree) if isinstance(node, Not) and _is_forall(node.child)}
    for node in nodes_in(tree):
        if isinstance(node, Exists) and node.level == 0:
            yield node, id(node) in negated


def _is_forall(node: Node) -> bool:
    return isinstance(node, Exists) and isinstance(node.body, Not)


def _condition(subject: LintSubject, exists: Exists, is_forall: bool) -> LintSubject:
    """Return the condition of a lambda as a rule, in which its variable is an attribute."""
    body = exists.body
    if is_forall and isinstance(body, Not):
        body = body.child
    name, _ = with_variable(exists)

    def leave(path: tuple[str, ...]) -> tuple[str, ...]:
        if not is_of_element(path):
            return path
        level = element_level(path)
        return (name if level == 0 else element_name(level - 1)), *path[1:]

    schema = subject.schema
    below = _below(schema, exists.operand.path, name)
    context = Context(Schema({**schema.attributes, **below}, schema.time_zone))
    # An attribute below an array has several values in an event, but hardly in an element.
    single = {attribute: AttributeType(kind.type, single=True) for attribute, kind in below.items()}
    context.of_elements = frozenset(map(read_path, below))
    context.__dict__["undeclared_single"] = UndeclaredSingle({**schema.attributes, **single}, schema.time_zone)
    return LintSubject(subject.rule_id, map_paths(body, leave, -1), subject.text, context)


def _below(schema: Schema, array: tuple[str, ...], name: str) -> dict[str, AttributeType]:
    """Return the attributes that are declared below an array, as those of an element with a name."""
    declared = {}
    for attribute, kind in schema.attributes.items():
        path = read_path(attribute)
        if path[: len(array)] == array:
            below = path[len(array) :]
            declared[path_text((name, *below))] = kind if below else AttributeType(kind.type)
    return declared


def _of_elements(finding: Finding, exists: Exists, function: str) -> Finding:
    message = finding.message.replace("this rule", f"the condition of {function}").replace("no event", "no element")
    message = message.replace("every event", "every element").replace("an event", "an element")
    suggestion = finding.suggestion.replace("remove the rule, or the contradiction in it", "remove the contradiction")
    if finding.code == "needs-several-values":
        suggestion = f"write {function} twice if two elements are meant"
    return replace(finding, position=finding.position or exists.position, message=message, suggestion=suggestion)
