"""Writes conditions in the Common Expression Language (CEL).

An attribute is a field of one variable, `event` unless another is named, because CEL can ask only of fields whether
they are there. A comparison of CEL with a missing field, or by order with a value of another type, is an error, which
is not true, and neither is its negation: that is what unknown means here.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from ruledex.formats.rules import Note
from ruledex.formats.two_valued import TwoValuedWriter, equality, like_parts, single_likes
from ruledex.formats.writing import cannot_say
from ruledex.language.lambdas import element_name
from ruledex.language.tree import (
    Attribute,
    Between,
    Compare,
    Exists,
    Expression,
    In,
    IsNull,
    Like,
    Not,
    NullSafe,
    Predicate,
    Rlike,
    Untrue,
)
from ruledex.language.value import Family
from ruledex.rewrite.settle import settle

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_WORDS: Final = frozenset(
    re.findall(
        r"\w+",
        "true false null in as break const continue else for function if import let loop package namespace return var "
        "void while",
    )
)


def write_cel(tree: Expression, notes: list[Note], *, root: str = "event", arrays: bool = True) -> str:
    """Return an expression. `root` is the variable whose fields are the attributes."""
    document = _Writer(notes, arrays, root).rule(tree)
    return str(document).lower() if isinstance(document, bool) else str(document)


class _Writer(TwoValuedWriter):
    system = "CEL"

    def __init__(self, notes: list[Note], arrays: bool, root: str) -> None:
        super().__init__(notes, arrays)
        self._root = root
        self._variables: dict[str, str] = {}

    # Joins.

    def both(self, parts: list[Any]) -> Any:
        return " && ".join(_within(part) for part in parts)

    def either(self, parts: list[Any]) -> Any:
        return " || ".join(_within(part) for part in parts)

    def opposite(self, part: Any) -> Any:
        return f"!({part})"

    # Predicates.

    def test(self, predicate: Predicate) -> Any:
        if isinstance(predicate, Exists):
            return self._some(predicate, predicate.body)
        name = self._checked(predicate)
        if isinstance(predicate, IsNull):
            return " || ".join((*self._absent(predicate), f"{name} == null"))
        family = self.family_of(predicate)
        constants = equality(predicate)
        if constants is not None:
            values = [self._literal(value, predicate) for value in constants]
            return f"{name} == {values[0]}" if len(values) == 1 else f"{name} in [{', '.join(values)}]"
        match predicate:
            case Compare(_, op, value) if family is not Family.BOOLEAN:
                return f"{name} {op} {self._literal(value, predicate)}"
            case Between(_, low, high) if family is not Family.BOOLEAN:
                return f"{name} >= {self._literal(low, predicate)} && {name} <= {self._literal(high, predicate)}"
            case Like(_, patterns, every) if len(patterns) > 1:
                likes = [self.test(like) for like in single_likes(predicate)]
                return self.all_of(likes) if every else self.any_of(likes)
            case Like():
                return self._like(name, predicate)
            case Rlike(_, pattern):
                return f"{name}.matches({_quoted(pattern)})"
        raise cannot_say(predicate, self.system, "has no such comparison")

    def _like(self, name: str, predicate: Like) -> str:
        (pattern,) = predicate.patterns
        parts = like_parts(pattern)
        texts = [text for text, is_wildcard in parts if not is_wildcard]
        shape = "".join(text if is_wildcard else "x" for text, is_wildcard in parts)
        if not predicate.ignore_case and shape in _SHAPES:
            return f"{name}.{_SHAPES[shape]}({_quoted(texts[0] if texts else '')})"
        flags = "(?is)" if predicate.ignore_case else "(?s)"
        made = "".join({"%": ".*", "_": "."}[text] if wild else _escaped(text) for text, wild in parts)
        return f"{name}.matches({_quoted(f'{flags}^{made}$')})"

    def refuted(self, predicate: Predicate) -> Any:
        """Return that a predicate is false. Of an order, the negation is an error where the predicate is."""
        if isinstance(predicate, Exists):
            body = settle(Not(predicate.body))
            return self._all(predicate, body)
        if isinstance(predicate, IsNull):
            return f"{self._checked(predicate)} != null"
        if isinstance(predicate, In | NullSafe) or equality(predicate) is not None:
            return super().refuted(predicate)
        return f"!({self.test(predicate)})"

    def untrue(self, predicate: Predicate) -> Any:
        """Return that a predicate is not true: false, or about a field that is missing, or of another type."""
        if isinstance(predicate, IsNull):
            return self.refuted(predicate)
        if isinstance(predicate, Exists):
            raise cannot_say(predicate, self.system, "cannot ask whether this is false or an error")
        absent = self._absent(predicate)
        if equality(predicate) is not None:
            return " || ".join((*absent, f"!({self.test(predicate)})"))
        self.note(predicate, "makes an error of a value of another type, where the rule is true")
        return " || ".join((*absent, f"{self._checked(predicate)} == null", f"!({self.test(predicate)})"))

    def condition(self, tree: Expression) -> Any:
        match tree:
            case Untrue(Not(predicate)):
                return self._unrefuted(predicate)  # type: ignore[arg-type]  # settle leaves predicates only
        return super().condition(tree)

    def _unrefuted(self, predicate: Predicate) -> Any:
        """Return that a predicate is not false: true, or about a field that is missing, or of another type."""
        if isinstance(predicate, IsNull | NullSafe):
            return self.test(predicate)
        if isinstance(predicate, In) and predicate.has_null:
            return True
        if isinstance(predicate, Exists) or self.family_of(predicate) is not Family.BOOLEAN:
            raise cannot_say(predicate, self.system, "cannot ask whether this is true or an error")
        name = self._checked(predicate)
        return " || ".join((*self._absent(predicate), f"!({name} in [false, true])", self.test(predicate)))

    def has_type(self, attribute: Attribute, family: Family, part: Predicate) -> Any:
        name = self._name(attribute, part)
        if family is Family.STRING:
            return f'{name}.startsWith("")'
        return f"{name} in [false, true]" if family is Family.BOOLEAN else f"{name} >= 0 || {name} < 0"

    def is_there(self, array: Attribute, part: Exists) -> Any:  # noqa: ARG002
        return True  # by the macro

    # Elements.

    def _some(self, exists: Exists, body: Expression, macro: str = "exists") -> Any:
        array = self._name(exists.operand, exists)
        variable = f"{'ijk'[exists.level]}" if exists.level < 3 else f"i{exists.level}"
        if variable == self._root:
            variable += "_"
        self._variables[element_name(exists.level)] = variable
        inner = self.condition(settle(body))
        made = str(inner).lower() if isinstance(inner, bool) else inner
        return f"{array}.{macro}({variable}, {made})"

    def _all(self, exists: Exists, body: Expression) -> Any:
        return self._some(exists, body, "all")

    # Names and constants.

    def _checked(self, predicate: Predicate) -> str:
        attribute = self.attribute_of(predicate)
        if self._arrays:
            self.note(predicate, "compares single values, and takes an array for a value of another type")
        return self._name(attribute, predicate)

    def _absent(self, predicate: Predicate) -> list[str]:
        """Return the conditions of which one is true if a field is missing."""
        path = self.attribute_of(predicate).path
        names = [
            self._name(Attribute(path[: end + 1]), predicate) for end in range(1 - (not _is_element(path)), len(path))
        ]
        if len(names) > 1:
            self.note(predicate, "makes an error of a field of what is no object")
        return [f"!has({name})" for name in names]

    def _name(self, attribute: Attribute, part: Predicate) -> str:
        path = attribute.path
        if not path or (path[0].startswith("\udc00") and path[0] not in self._variables):
            raise cannot_say(part, self.system, "cannot name this")
        first = self._variables.get(path[0])
        name, steps = (self._root, path) if first is None else (first, path[1:])
        for step in steps:
            is_plain = _NAME.fullmatch(step) and step not in _WORDS
            if not is_plain:
                raise cannot_say(part, self.system, f"asks only of plain names whether they are there, not of {step!r}")
            name += f".{step}"
        return name

    def _literal(self, value: Any, part: Predicate) -> str:
        made = self.constant(value, part)
        if isinstance(made, str):
            return _quoted(made)
        return str(made).lower() if isinstance(made, bool) else repr(made)


_SHAPES: Final = {
    "%": "startsWith",
    "%x%": "contains",
    "x%": "startsWith",
    "%x": "endsWith",
}


def _is_element(path: tuple[str, ...]) -> bool:
    return path[0].startswith("\udc00")


def _within(part: str) -> str:
    return f"({part})" if " && " in part or " || " in part else part


def _escaped(text: str) -> str:
    return re.sub(r"([^\w\s])", r"\\\1", text, flags=re.ASCII) if text.isascii() else re.escape(text)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
