"""Writes an explanation as a tree: as text for a terminal, and as HTML for a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

from ruledex.explain.clause import Clause
from ruledex.explain.explanation import Change, Explanation, values_text

# The sign, the word and the colour of each truth.
SIGNS: Final[dict[bool | None, tuple[str, str, str]]] = {
    True: ("✓", "true", "green"),
    False: ("✗", "false", "red"),
    None: ("?", "unknown", "yellow"),
}
_NAMES: Final = {"and": "AND", "or": "OR", "xor": "XOR", "xnor": "XNOR", "not": "NOT"}
_READABLE: Final = {"green": "#2e7d32", "red": "#c62828", "yellow": "#b26a00"}  # on white and on black


def clause_label(clause: Clause) -> str:
    """Return the clause, or only its word if its children follow below."""
    return _NAMES.get(clause.kind) or clause.text


def seen_words(clause: Clause) -> list[str]:
    """Return what each operand of the clause was, such as `age is 17`."""
    found = []
    for seen in clause.seen:
        value = "missing" if seen.values is None else values_text(seen.values) if seen.values else "an empty array"
        found.append(f"{seen.name} is {value}")
    return found


def advice_words(explanation: Explanation) -> str:
    """Return the line that comes before the changes, or that says why there are none."""
    changes = explanation.changes
    if changes is None:
        return "no change of its clauses would make it true" if not explanation.truth else "it is always true"
    goal = "it would no longer be true" if explanation.truth else "it would be true"
    return f"{goal} if {'this' if len(changes) == 1 else f'these {len(changes)} clauses'} changed:"


def also_words(change: Change) -> str:
    """Return which attributes of a change other clauses use too, or nothing."""
    return f"({', '.join(change.also)} is used by other clauses too)" if change.also else ""


def original_words(explanation: Explanation) -> list[str]:
    """Return the line that shows the rule as its owner wrote it for another system, if there is one."""
    return [] if explanation.original is None else [f"as written for {explanation.original}"]


def to_tree_text(explanation: Explanation) -> str:
    """Return the explanation as the command line shows it, without colours."""
    lines = [f"the rule is {SIGNS[explanation.truth][1]} of this event", *_lines(explanation.clause, "", "")]
    lines.append(advice_words(explanation))
    changes = [f"  → {change.words}   {also_words(change)}".rstrip() for change in explanation.changes or ()]
    return "\n".join([*lines, *changes, *original_words(explanation)])


def _lines(clause: Clause, first: str, other: str) -> Iterator[str]:
    pending = [(clause, first, other)]  # no recursion: rules may nest deeply
    while pending:
        clause, first, other = pending.pop()
        yield "   ".join([f"{first}{SIGNS[clause.truth][0]} {clause_label(clause)}", *seen_words(clause)])
        last = len(clause.children) - 1
        below = [
            (child, other + ("└── " if at == last else "├── "), other + ("    " if at == last else "│   "))
            for at, child in enumerate(clause.children)
        ]
        pending.extend(reversed(below))


def to_html(explanation: Explanation) -> str:
    """Return the explanation as HTML."""
    word, colour = SIGNS[explanation.truth][1], _READABLE[SIGNS[explanation.truth][2]]
    parts = [f'<div class="ruledex">the rule is <b style="color: {colour}">{word}</b> of this event<ul>']
    pending: list[Clause | str] = ["</ul>", explanation.clause]
    while pending:
        clause = pending.pop()
        if isinstance(clause, str):
            parts.append(clause)
            continue
        sign, _, colour = SIGNS[clause.truth]
        label = f'<b style="color: {_READABLE[colour]}">{sign}</b> <code>{escape(clause_label(clause))}</code>'
        seen = "".join(f" <small>{escape(words)}</small>" for words in seen_words(clause))
        parts.append(f'<li style="list-style: none">{label}{seen}')
        pending.append("</li>")
        if clause.children:
            parts.append("<ul>")
            pending += ["</ul>", *reversed(clause.children)]
    changes = [
        f"<li>{escape(change.words)} <small>{escape(also_words(change))}</small></li>"
        for change in explanation.changes or ()
    ]
    parts.append(f"{escape(advice_words(explanation))}<ul>{''.join(changes)}</ul>")
    parts += [f"<small>{escape(words)}</small>" for words in original_words(explanation)]
    parts.append("</div>")
    return "".join(parts)
