"""Named conditions: `@adults` in a rule stands for the condition that the schema defines under that name.

A definition is a text, as a rule is, and may use others. `Schema.bind` puts conditions in the place of their names:
after it a rule is the tree that its owner would have written without names. What is asked about names alone (which are
used, which are not defined, which need themselves) is answered here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ruledex import limits
from ruledex.errors import (
    DefinitionError,
    RuleError,
    RuleFault,
    RuleLimitError,
    RulesError,
    RuleSyntaxError,
    did_you_mean,
    quoted,
)
from ruledex.language.parser import parse
from ruledex.language.rule_checks import check_nesting
from ruledex.language.scanner import TOKEN, read_name
from ruledex.language.text import tree_text
from ruledex.language.tree import (
    BRANCHES,
    Expression,
    Is,
    Named,
    Not,
    Predicate,
    Required,
    Weighed,
    map_predicates,
    replace,
)

if TYPE_CHECKING:
    from ruledex.language.schema import Schema


class Definition(NamedTuple):
    """A named condition, bound to the schema."""

    tree: Expression  # without names
    named_tree: Expression  # with the names that it uses, and their conditions below them
    n_characters: int  # of its text, with the texts of all names in it


# Names in trees and texts.


def shown_name(name: str) -> str:
    """Return a name as it is written in a rule."""
    return tree_text(Named(name))


def named_condition(name: Any) -> Named:
    """Return the condition of a name from a structured rule, whatever was given there."""
    check_definition_name(name)
    return Named(name)


def check_definition_name(name: Any) -> None:
    """Raise unless a condition may have this name."""
    if not isinstance(name, str) or not name:
        raise RuleSyntaxError(f"a named condition has a text as its name, not {quoted(name)}")
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise RuleSyntaxError("the name is not Unicode: half of a surrogate pair") from None


def names_in(tree: Expression) -> list[Named]:
    """Return all uses of names in a tree, from left to right, without those in the conditions that they stand for."""
    found: list[Named] = []
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, BRANCHES):
            pending.extend(reversed(node.children))
        elif isinstance(node, Not | Is | Required | Weighed):
            pending.append(node.child)
        elif isinstance(node, Named):
            found.append(node)
    return found


def names_in_text(text: str) -> set[str]:
    """Return the names that the text of a rule uses. The text must be one that the parser can read."""
    if "@" not in text:
        return set()
    found, at = set(), 0
    while (match := TOKEN.match(text, at)) is not None and match.lastgroup != "end":
        if match.lastgroup == "named":
            found.add(read_name(match["named"]))
        at = match.end()
    return found


def users_of(names: Iterable[str], definitions: Mapping[str, str]) -> set[str]:
    """Return the names and those of all definitions that need one of them, directly or through others."""
    uses = {name: names_in_text(text) for name, text in definitions.items()}
    found = set(names)
    while new := {name for name, used in uses.items() if name not in found and used & found}:
        found |= new
    return found


# Definitions.


def check_definitions(given: Any) -> dict[str, str]:
    """Return definitions in the order of their names. Raises unless they are texts by name."""
    if not isinstance(given, Mapping):
        raise RuleError(f"definitions are conditions by name, as {{'adults': 'age >= 18'}}, not {quoted(given)}")
    faults = []
    for name, text in given.items():
        try:
            check_definition_name(name)
            if not isinstance(text, str):
                raise RuleError(f"a definition is a text, not {quoted(text)}")
        except RuleError as error:
            faults.append(RuleFault(f"@{name}" if isinstance(name, str) else None, error))
    if faults:
        raise RulesError(faults, len(given))
    return {name: given[name] for name in sorted(given)}


def bind_definitions(definitions: Mapping[str, str], schema: Schema) -> dict[str, Definition]:
    """Return all definitions, bound to a schema. Reports every invalid one in one RulesError."""
    faults: list[RuleFault] = []
    trees: dict[str, Expression] = {}
    for name, text in definitions.items():
        try:
            trees[name] = _parse_definition(text, schema)
            for used in names_in(trees[name]):
                if used.name not in definitions:
                    raise unknown_name(used, text, definitions)
        except RuleError as error:
            trees.pop(name, None)
            faults.append(RuleFault(shown_name(name), error))
    bound: dict[str, Definition] = {}
    failed: set[str] = set()
    for name in trees:
        if name not in bound and name not in failed:
            faults += _bind_with_needs(name, definitions, trees, bound, failed)
    if faults:
        raise RulesError(sorted(faults, key=lambda fault: str(fault.rule_id)), len(definitions))
    return bound


def _parse_definition(text: str, schema: Schema) -> Expression:
    tree = parse(text)
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, Required):
            raise RuleSyntaxError("REQUIRED belongs into rules, around a name if need be: REQUIRED(@name)", text)
        if isinstance(node, BRANCHES):
            pending += node.children
        elif isinstance(node, Not | Is | Weighed):
            pending.append(node.child)
    return schema.bind_predicates(tree, text)


def _bind_with_needs(
    first: str,
    texts: Mapping[str, str],
    trees: Mapping[str, Expression],
    bound: dict[str, Definition],
    failed: set[str],
) -> Iterator[RuleFault]:
    """Bind a definition after all that it needs, without recursion: chains of definitions may be long."""
    path = {first: iter(names_in(trees[first]))}
    while path:
        name, uses = next(reversed(path.items()))
        for used in uses:
            if used.name in path:
                circle = [*list(path)[list(path).index(used.name) :], used.name]
                message = f"{shown_name(used.name)} needs itself: {' → '.join(map(shown_name, circle))}"
                yield RuleFault(shown_name(name), DefinitionError(message, texts[name], used.position))
                failed.add(name)
            elif used.name in trees and used.name not in bound and used.name not in failed:
                path[used.name] = iter(names_in(trees[used.name]))
                break
        else:
            del path[name]
            try:
                if name not in failed and all(used.name in bound for used in names_in(trees[name])):
                    inlined = expand(trees[name], texts[name], bound, keep_names=False)
                    named = expand(trees[name], texts[name], bound, keep_names=True)
                    bound[name] = Definition(inlined, named, _n_characters(trees[name], texts[name], bound))
                else:
                    failed.add(name)  # what it needs has a fault of its own
            except RuleError as error:
                failed.add(name)
                yield RuleFault(shown_name(name), error)


def unknown_name(used: Named, text: str, known: Iterable[str]) -> DefinitionError:
    """Return the error of a name that is not defined."""
    names = [shown_name(name) for name in known]
    hint = did_you_mean(shown_name(used.name), names)
    if not names:
        hint = "definitions are given with the rules: definitions={'adults': 'age >= 18'}"
    return DefinitionError(f"there is no definition {shown_name(used.name)}", text, used.position, hint)


def _n_characters(tree: Expression, text: str, bound: Mapping[str, Definition]) -> int:
    return len(text) + sum(bound[used.name].n_characters for used in names_in(tree))


def expand(tree: Expression, text: str, bound: Mapping[str, Definition], *, keep_names: bool) -> Expression:
    """Return a tree with conditions in the place of their names, or with `keep_names` below them.

    The conditions are shared by all trees. Raises a RuleError if a name is not defined, or if the rule becomes too
    large.
    """
    uses = names_in(tree)
    if not uses:
        return tree
    for used in uses:
        if used.name not in bound:
            raise unknown_name(used, text, bound)
    n_characters, most = _n_characters(tree, text, bound), limits.current().expanded_characters
    if n_characters > most:
        size = f"with its named conditions written out, the rule has {n_characters:,} characters"
        raise RuleLimitError(f"{size}, over the limit expanded_characters of {most:,}", text, uses[0].position)
    if keep_names:
        expanded = _put(tree, lambda used: Named(used.name, bound[used.name].named_tree, used.position))
    else:
        expanded = _put(tree, lambda used: bound[used.name].tree)
    check_nesting(expanded, text)
    return expanded


def write_out(tree: Expression) -> Expression:
    """Return a bound tree without names. The predicates of a named condition stand where its name does in the text."""

    def condition(used: Named) -> Expression:
        def move(predicate: Predicate) -> Predicate:
            return replace(predicate, position=used.position)

        return map_predicates(_put(used.condition, _condition_of), move)

    return _put(tree, condition)


def _condition_of(used: Named) -> Expression:
    return _put(used.condition, _condition_of)


def _put(tree: Expression, condition_of: Callable[[Named], Expression]) -> Expression:
    """Return a tree with other conditions in the place of its names."""
    if isinstance(tree, Named):
        return condition_of(tree)
    if isinstance(tree, BRANCHES):
        children: list[Expression] = []
        for child in tree.children:  # a loop, not a comprehension: the stack is short for the deepest rules
            children.append(_put(child, condition_of))  # noqa: PERF401
        return type(tree)(tuple(children))
    if isinstance(tree, Not | Required):
        return type(tree)(_put(tree.child, condition_of))
    if isinstance(tree, Weighed):
        return Weighed(_put(tree.child, condition_of), tree.weight)
    return Is(_put(tree.child, condition_of), tree.truth) if isinstance(tree, Is) else tree
