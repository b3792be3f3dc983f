"""An explanation for a terminal: the rule as a tree of clauses, each with its truth and the value seen."""

from __future__ import annotations

from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from ruledex.explain import Change, Clause, Explanation
from ruledex.explain.wording import shown_values

_SIGNS: Final[dict[bool | None, tuple[str, str, str]]] = {
    True: ("✓", "true", "green"),
    False: ("✗", "false", "red"),
    None: ("?", "unknown", "yellow"),
}
_NAMES: Final = {"and": "AND", "or": "OR", "xor": "XOR", "xnor": "XNOR", "not": "NOT"}


def rendered(explanation: Explanation, name: str) -> RenderableType:
    """The whole explanation."""
    _, word, colour = _SIGNS[explanation.truth]
    title = Text.assemble("rule ", (name, "bold"), " is ", (word, f"bold {colour}"), " of this event")
    tree = Tree(_line(explanation.clause), guide_style="dim")
    _add(tree, explanation.clause)
    return Group(title, tree, *_advice(explanation))


def _add(tree: Tree, clause: Clause) -> None:
    for child in clause.children:
        _add(tree.add(_line(child)), child)


def _line(clause: Clause) -> Text:
    sign, _, colour = _SIGNS[clause.truth]
    line = Text.assemble((f"{sign} ", f"bold {colour}"), (_NAMES.get(clause.kind) or clause.text, colour))
    for seen in clause.seen:
        value = "missing" if seen.values is None else shown_values(seen.values) if seen.values else "an empty array"
        line.append(f"   {seen.name} is {value}", "dim")
    return line


def _advice(explanation: Explanation) -> list[Text]:
    changes = explanation.changes
    if changes is None:
        return [Text("no change of its clauses would make it true" if not explanation.truth else "it is always true")]
    goal = "it would no longer be true" if explanation.truth else "it would be true"
    many = "this" if len(changes) == 1 else f"these {len(changes)} clauses"
    return [Text(f"{goal} if {many} changed:"), *map(_change, changes)]


def _change(change: Change) -> Text:
    line = Text.assemble("  → ", (change.words, "bold"))
    if change.also:
        line.append(f"   ({', '.join(change.also)} is asked by other clauses too)", "dim")
    return line
