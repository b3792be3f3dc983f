"""Change the definitions of an index: a definition and all rules that use it change in one step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ruledex.errors import RuledexError, RuleError, RuleFault, RulesError, did_you_mean, quoted
from ruledex.index.build import all_rules
from ruledex.index.live.changes import CheckedChange, IndexChange, PutRule, redefine
from ruledex.index.live.state import LiveState
from ruledex.index.state import Snapshot
from ruledex.language.definitions import check_definition_name, names_in_text, shown_name, users_of

_MOST_SHOWN: Final = 10  # users that an error names


def define(state: Snapshot, name: Any, text: Any) -> CheckedChange:
    """Return the change that gives a name a condition, and replaces each rule that uses it by itself, compiled anew."""
    from ruledex.engines.atree.new_rules import encode_good_rules

    try:
        check_definition_name(name)
        if not isinstance(text, str):
            raise RuleError(f"a definition is a text, not {quoted(text)}")
    except RuleError as error:
        raise RulesError([RuleFault(f"@{name}" if isinstance(name, str) else None, error)], 1) from None
    before = state.schema.definitions
    if before.get(name) == text:
        return CheckedChange(IndexChange())
    schema = redefine(state.schema, [(name, text)])
    users = _rules_with(state, users_of([name], schema.definitions)) if name in before else []
    encoded, faults = encode_good_rules(schema, [(rule.text, rule.score) for rule in users])
    if faults:
        raise RulesError([RuleFault(users[at].id, error) for at, error in faults], len(users))
    return CheckedChange(IndexChange(put=users, defined=((name, text),)), encoded)


def undefine(state: Snapshot, name: Any) -> CheckedChange:
    """Return the change that removes a definition. Raises an error that names its users if there are any."""
    known = state.schema.definitions
    if not isinstance(name, str) or name not in known:
        shown = shown_name(name) if isinstance(name, str) else quoted(name)
        hint = did_you_mean(shown, map(shown_name, known))
        raise RuledexError(f"there is no definition {shown} in this index{f'; {hint}' if hint else ''}")
    definitions = [shown_name(other) for other, text in known.items() if name in names_in_text(text)]
    rules = [rule.id for rule in _rules_with(state, {name})]
    if definitions or rules:
        users = [_listed(users, what) for users, what in ((rules, "rule"), (definitions, "definition")) if users]
        raise RuledexError(f"{shown_name(name)} is used by {' and '.join(users)}: change these first")
    return CheckedChange(IndexChange(defined=((name, None),)))


def _listed(users: Sequence[object], what: str) -> str:
    shown = ", ".join(user if what == "definition" else quoted(user) for user in users[:_MOST_SHOWN])  # type: ignore[misc]
    more = f" and {len(users) - _MOST_SHOWN:,} more" if len(users) > _MOST_SHOWN else ""
    return f"the {what}{'s' if len(users) > 1 else ''} {shown}{more}"


def _rules_with(state: Snapshot, names: set[str]) -> list[PutRule]:
    """Return the rules whose texts have one of the names, ascending by id."""
    import pyarrow.compute as pc

    rules = all_rules(LiveState.of(state))
    has_any = pc.match_substring(rules.texts, "@")
    texts = rules.texts.filter(has_any).to_pylist()
    ids, scores = rules.ids.filter(has_any).to_pylist(), rules.scores[has_any.to_numpy(zero_copy_only=False)].tolist()
    tags = [None] * len(ids) if rules.tags is None else rules.tags.filter(has_any).to_pylist()
    originals = [None] * len(ids) if rules.originals is None else rules.originals.filter(has_any).to_pylist()
    return [rule for rule in map(PutRule, ids, texts, scores, tags, originals) if names & names_in_text(rule.text)]
