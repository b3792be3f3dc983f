"""Writes event patterns of Amazon EventBridge.

A pattern is an AND of fields, and a field an OR of values; `$or` joins patterns. There is no NOT but the one of
`anything-but` and of `exists`, so a rule is written where each of its negations is about one field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

from ruledex.errors import RuleTypeError
from ruledex.formats.eventbridge.shapes import DOTTED, EXISTS, PATTERN, Shapes, likes_of
from ruledex.formats.rules import Note
from ruledex.formats.two_valued import TwoValuedWriter, equality, like_parts, path_shown, single_likes
from ruledex.formats.writing import cannot_say, shown
from ruledex.language.text import path_text
from ruledex.language.tree import (
    Attribute,
    Between,
    Call,
    Compare,
    Exists,
    Expression,
    IsNull,
    Like,
    NullSafe,
    Predicate,
)
from ruledex.language.value import Family
from ruledex.language.value_types import Network

_OR: Final = "$or"
_MOST_STARS: Final = 5
_ANY_TEXT: Final = {"wildcard": "*"}
_TYPES: Final[dict[Family, list[Any]]] = {
    Family.STRING: [_ANY_TEXT],
    Family.NUMBER: [{"numeric": [">=", 0]}, {"numeric": ["<", 0]}],
    Family.BOOLEAN: [False, True],
}
_ABSENT: Final = {"exists": False}
_TURNED: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}

_ARRAYS: Final = "asks for one element of an array, where the rule asks for all"
_NULLS: Final = "takes null and values of other types for other values"
_OBJECTS: Final = "takes an object for a missing value, and a null in an array for a null"


def write_pattern(tree: Expression, notes: list[Note], *, arrays: bool = True, dotted_names: bool = True) -> Any:
    """Return a pattern. `arrays` and `dotted_names` say what events may have, for notes where it matters."""
    document = _Writer(notes, arrays, dotted_names).rule(tree)
    if isinstance(document, bool):
        raise RuleTypeError(f"EventBridge has no pattern that is always {str(document).lower()}")
    return _nested(document)


class _Writer(TwoValuedWriter):
    """Patterns have dotted paths as tuples for names, until all is known that belongs into one object."""

    system = "EventBridge"

    def __init__(self, notes: list[Note], arrays: bool, dotted_names: bool) -> None:
        super().__init__(notes, arrays)
        self._dotted_names = dotted_names
        self._shapes = Shapes(self._all_unwanted)

    def rule(self, tree: Expression) -> Any:
        return super().rule(self._shapes.found_in(tree))

    # Joins.

    def both(self, parts: list[Any]) -> Any:
        made: dict[Any, Any] = {}
        choices: list[list[Any]] = []
        for part in parts:
            for name, given in part.items():
                if name == _OR:
                    choices.append(given)
                elif name in made:
                    made[name] = self._one_value(name, made[name], given)
                else:
                    made[name] = given
        self._check_arrays([*made, *(name for choice in choices for name in _names(choice))])
        if not choices:
            return made
        first, *rest = choices
        if rest:  # an object has one $or: the others go into each of its patterns
            rest_pattern = self.both([{_OR: choice} for choice in rest])
            first = [self.both([pattern, rest_pattern]) for pattern in first]
        for pattern in first:
            for name in pattern:
                if name in made:
                    raise RuleTypeError(f"{_shown_name(name)}: EventBridge cannot test a field in $or and beside it")
        return made | {_OR: first}

    def _one_value(self, name: Any, first: list[Any], second: list[Any]) -> list[Any]:
        """Return a field that one value has to satisfy twice: the two ends of a range."""
        ends = [_end(values) for values in (first, second)]
        if None not in ends:
            low, high = sorted(ends, key=lambda end: end[0] in ("<", "<="))  # type: ignore[index]
            if low[0] in (">", ">=") and high[0] in ("<", "<=") and low[1] < high[1]:  # type: ignore[index]
                if self._arrays and name:
                    self.note(_shown_name(name), "asks for one element of an array that has both bounds")
                return [{"numeric": [*low, *high]}]  # type: ignore[misc]
        raise RuleTypeError(
            f"{_shown_name(name)}: EventBridge tests a field once in a pattern, and has no AND of its values"
        )

    def _check_arrays(self, names: list[tuple[str, ...]]) -> None:
        """Add a note where fields of one object are tested, which EventBridge wants in one element of an array."""
        if not self._arrays or self._scope:
            return
        above: dict[tuple[str, ...], tuple[str, ...]] = {}
        for name in names:
            for n in range(1, len(name)):
                prefix = name[:n]
                if prefix in above and above[prefix] != name and prefix != ("detail",):
                    self.note(path_text(prefix), "tests all fields of one object, if this is an array of objects")
                above[prefix] = name

    def either(self, parts: list[Any]) -> Any:
        fields: dict[Any, list[Any]] = {}
        patterns: list[Any] = []
        for part in parts:
            ((name, given), *rest) = part.items()
            if rest:
                patterns.append(part)
            elif name == _OR:
                patterns += given
            else:
                fields.setdefault(name, [])
                fields[name] += [value for value in given if value not in fields[name]]
        patterns = [{name: values} for name, values in fields.items()] + patterns
        return patterns[0] if len(patterns) == 1 else {_OR: patterns}

    def opposite(self, part: Any) -> Any:
        raise RuleTypeError(f"{_shown_pattern(part)}: EventBridge has no NOT of a pattern")

    # Predicates.

    def test(self, predicate: Predicate) -> Any:
        if isinstance(predicate, Exists):
            return self._exists(predicate)
        if isinstance(predicate, Compare) and isinstance(predicate.operand, Call):
            return self._call(predicate, predicate.operand)
        attribute = self.attribute_of(predicate)
        name = self._name(attribute, predicate)
        if isinstance(predicate, IsNull):
            self._check_event(predicate)
            self.note(path_shown(attribute), _OBJECTS)
            return {name: [None, _ABSENT]}
        return {name: self._values(predicate)}

    def _values(self, predicate: Predicate) -> list[Any]:
        """Return the values of a field of which one has to match."""
        constants = equality(predicate)
        family = self.family_of(predicate)
        if constants is not None:
            return [self.constant(value, predicate) for value in constants]
        match predicate:
            case Compare(_, op, value) if family is Family.NUMBER:
                return [{"numeric": [op, self.constant(value, predicate)]}]
            case Between(_, low, high) if family is Family.NUMBER:
                ends = self.constant(low, predicate), self.constant(high, predicate)
                if ends[0] >= ends[1]:
                    raise cannot_say(predicate, self.system, "takes a range from a lower bound to a higher one")
                return [{"numeric": [">=", ends[0], "<=", ends[1]]}]
            case Like(_, patterns, every) if len(patterns) == 1 or not every:
                return [self._like(like) for like in single_likes(predicate)]
        raise cannot_say(predicate, self.system, "has no such comparison")

    def _like(self, predicate: Like) -> Any:
        parts = like_parts(predicate.patterns[0])
        if ("_", True) in parts:
            raise cannot_say(predicate, self.system, "has no wildcard for one character")
        ignores = predicate.ignore_case
        match parts:
            case [] | [(_, False)]:
                text = parts[0][0] if parts else ""
                return {"equals-ignore-case": text} if ignores else text
            case [(text, False), ("%", True)]:
                return {"prefix": {"equals-ignore-case": text} if ignores else text}
            case [("%", True), (text, False)]:
                return {"suffix": {"equals-ignore-case": text} if ignores else text}
        if ignores and parts != [("%", True)]:
            raise cannot_say(predicate, self.system, "ignores case in a prefix, a suffix or a whole text only")
        if parts.count(("%", True)) > _MOST_STARS:
            raise cannot_say(predicate, self.system, f"takes at most {_MOST_STARS} stars")
        return {"wildcard": "".join("*" if wild else _escaped(text) for text, wild in parts)}

    def _call(self, predicate: Compare, call: Call) -> Any:
        argument = call.arguments[0]
        if predicate.op == "=" and isinstance(argument, Attribute):
            if call.function == "cidr" and isinstance(predicate.value, Network):
                return {self._name(argument, predicate): [{"cidr": predicate.value.text}]}
            if call.function == PATTERN:
                is_there = Compare(Call("present", (argument,)), "=", True)  # for messages
                return {self._name(argument, is_there): [self._shapes.patterns[call.arguments[1]]]}  # type: ignore[index]
            if call.function == "present" and predicate.value is True:
                self.note(path_shown(argument), _OBJECTS)
                return {self._name(argument, predicate): [{"exists": True}]}
        self.attribute_of(predicate)
        raise AssertionError(predicate)  # an attribute, which `test` would have written

    def has_type(self, attribute: Attribute, family: Family, part: Predicate) -> Any:
        return {self._name(attribute, part): list(_TYPES[family])}

    def is_there(self, array: Attribute, part: Exists) -> Any:  # noqa: ARG002
        raise cannot_say(part, self.system, "has no NOT of a condition on elements")

    # Negations.

    def untrue(self, predicate: Predicate) -> Any:
        """Return that a predicate is false or unknown: another value, or none."""
        if isinstance(predicate, IsNull):
            return self._is_not_null(predicate)
        if isinstance(predicate, Exists):
            raise cannot_say(predicate, self.system, "has no NOT of a condition on elements")
        if isinstance(predicate, Compare) and isinstance(predicate.operand, Call):
            return self._is_absent(predicate, predicate.operand)
        self._check_event(predicate)
        other = self._others(predicate)
        return self.any_of((other, {self._name(self.attribute_of(predicate), predicate): [_ABSENT]}))

    def _is_absent(self, predicate: Compare, call: Call) -> Any:
        """Return that what `exists` asks for is not so."""
        ((name, values),) = self._call(predicate, call).items()
        if values != [EXISTS]:
            raise cannot_say(predicate, self.system, "has no NOT of this comparison")
        self._check_event(predicate)
        return {name: [_ABSENT]}

    def _check_event(self, part: Predicate) -> None:
        """Raise if what is absent is asked of an element: EventBridge asks it of the event."""
        if self._scope:
            raise cannot_say(part, self.system, "cannot ask whether something is missing in an element")

    def refuted(self, predicate: Predicate) -> Any:
        """Return that a predicate is false: another value of the type."""
        if isinstance(predicate, IsNull | NullSafe | Exists):
            return self.untrue(predicate)
        operand = predicate.operand if isinstance(predicate, Compare) else None
        if isinstance(operand, Call) and operand.function in ("present", PATTERN):
            return self.untrue(predicate)
        attribute = self.attribute_of(predicate)
        name, family = self._name(attribute, predicate), self.family_of(predicate)
        if getattr(predicate, "has_null", False):
            return False
        if self._arrays:
            self.note(predicate, _ARRAYS)
        match predicate:
            case Compare(_, op, value) if op in _TURNED and family is Family.NUMBER:
                return {name: [{"numeric": [_TURNED[op], self.constant(value, predicate)]}]}
            case Compare(_, "=", bool(value)):
                return {name: [not value]}
        if family is Family.NUMBER:
            return {name: self._other_numbers(predicate)}
        self.note(predicate, _NULLS)
        return self._others(predicate)

    def _is_not_null(self, predicate: IsNull) -> Any:
        attribute = self.attribute_of(predicate)
        self.note(path_shown(attribute), "takes an object for a missing value")
        values = [value for family in _TYPES.values() for value in family]
        return {self._name(attribute, predicate): values}

    def _other_numbers(self, predicate: Predicate) -> list[Any]:
        """Return the ranges of numbers that do not satisfy a predicate."""
        if isinstance(predicate, Between):
            ends = [self.constant(predicate.low, predicate), self.constant(predicate.high, predicate)]
            if ends[0] > ends[1]:
                return list(_TYPES[Family.NUMBER])
            return [{"numeric": ["<", ends[0]]}, {"numeric": [">", ends[1]]}]
        constants = equality(predicate)
        if constants is None:
            raise cannot_say(predicate, self.system, "has no NOT of this comparison")
        listed = sorted({self.constant(value, predicate) for value in constants})
        found = [{"numeric": ["<", listed[0]]}]
        found += [{"numeric": [">", low, "<", high]} for low, high in pairwise(listed)]
        return [*found, {"numeric": [">", listed[-1]]}]

    def _others(self, predicate: Predicate) -> Any:
        """Return that there is another value than one that satisfies a predicate, of any type."""
        attribute = self.attribute_of(predicate)
        name = self._name(attribute, predicate)
        if self._arrays:
            self.note(predicate, _ARRAYS)
        constants = equality(predicate)
        family = self.family_of(predicate)
        if constants is not None and family is not Family.BOOLEAN:
            return {name: [{"anything-but": [self.constant(value, predicate) for value in constants]}]}
        if constants is not None:
            listed = [value for value in (False, True) if value not in constants]
            return {name: [None, *listed, *_TYPES[Family.STRING], *_TYPES[Family.NUMBER]]}
        if family is Family.NUMBER:
            return {name: [None, *_TYPES[Family.STRING], *_TYPES[Family.BOOLEAN], *self._turned(predicate)]}
        if isinstance(predicate, Like) and len(predicate.patterns) == 1:
            return {name: [{"anything-but": self._unwanted(predicate)}]}
        raise cannot_say(predicate, self.system, "has no NOT of this comparison")

    def _turned(self, predicate: Predicate) -> list[Any]:
        if isinstance(predicate, Compare):
            return [{"numeric": [_TURNED[predicate.op], self.constant(predicate.value, predicate)]}]
        return self._other_numbers(predicate)

    def _all_unwanted(self, condition: Expression) -> Any:
        """Return what `anything-but` takes for a condition on an element, or None."""
        constants = equality(condition)  # type: ignore[arg-type]
        if constants is not None:
            families = {isinstance(value, str) for value in constants}
            plain = len(families) == 1 and not any(isinstance(value, bool) for value in constants)
            return [self.constant(value, condition) for value in constants] if plain else None  # type: ignore[arg-type]
        likes = likes_of(condition)
        made = [self._unwanted(like) for like in likes or []]
        if len(made) == 1 or not made:
            return made[0] if made else None
        kinds = {kind for one in made for kind in one} if all(isinstance(one, dict) for one in made) else set()
        if len(kinds) == 1:
            return {kind: [one[kind] for one in made] for kind in kinds}
        if kinds and "equals-ignore-case" not in kinds:  # a prefix and a suffix are wildcards too
            return {"wildcard": [_as_wildcard(one) for one in made]}
        return None

    def _unwanted(self, predicate: Like) -> Any:
        """Return what `anything-but` takes for a pattern."""
        made = self._like(predicate)
        if isinstance(made, str):
            return [made]
        ((kind, given),) = made.items()
        if given == "" or (isinstance(given, Mapping) and kind != "equals-ignore-case"):
            raise cannot_say(predicate, self.system, "has no NOT of this comparison")
        return made

    # Elements.

    def _exists(self, exists: Exists) -> Any:
        name = self._name(exists.operand, exists)
        if name == ("detail",) and not self._scope:
            raise cannot_say(exists, self.system, "takes detail for an object, never for an array")
        before = len(self._notes)
        body = self.inside(exists, exists.body)
        if isinstance(body, bool):
            raise cannot_say(exists, self.system, f"cannot test the elements by a condition that is always {body}")
        self._notes[before:] = [note for note in self._notes[before:] if _ARRAYS not in note.message]
        return _below(name, body, exists)

    # Names.

    def _name(self, attribute: Attribute, part: Predicate) -> tuple[str, ...]:
        steps = self.steps(attribute, part)
        if steps[:1] == (DOTTED,):
            return steps[1:]
        for step in steps:
            if not all(step.split(".")):
                raise cannot_say(part, self.system, f"cannot name {step!r} in a path")
        if steps[:1] == (_OR,):
            raise cannot_say(part, self.system, f"takes the name {_OR} for a choice")
        if self._dotted_names and len([s for step in steps for s in step.split(".")]) > 1:
            self.note(path_shown(attribute), "takes a dot in a name for a step of a path, and the other way round")
        return steps


def _below(name: tuple[str, ...], pattern: Any, part: Exists) -> Any:
    """Return a pattern about an element as one about the event."""
    if _OR in pattern and len(pattern) > 1:
        raise cannot_say(part, "EventBridge", "may take an OR beside other conditions on elements for another element")
    made: dict[Any, Any] = {}
    for key, given in pattern.items():
        if key == _OR:
            made[_OR] = [_below(name, choice, part) for choice in given]
        else:
            made[*name, *key] = given
    return made


def _names(patterns: list[Any]) -> Iterator[tuple[str, ...]]:
    """Yield the names of all fields in patterns."""
    for pattern in patterns:
        for name, given in pattern.items():
            if name == _OR:
                yield from _names(given)
            else:
                yield name


def _end(values: list[Any]) -> tuple[str, Any] | None:
    """Return the bound of a field that has nothing else."""
    match values:
        case [{"numeric": [op, end]}]:
            return op, end
    return None


def _nested(pattern: Any) -> Any:
    """Return a pattern with objects in the place of paths."""
    made: dict[str, Any] = {}
    for name, given in pattern.items():
        if name == _OR:
            made[_OR] = [_nested(choice) for choice in given]
            continue
        inner = made
        for step in name[:-1]:
            inner = inner.setdefault(step, {})
            if not isinstance(inner, dict):
                raise _both_kinds(name)
        if name[-1] in inner:
            raise _both_kinds(name)
        inner[name[-1]] = given
    return made


def _both_kinds(name: tuple[str, ...]) -> RuleTypeError:
    return RuleTypeError(f"{path_text(name)}: EventBridge cannot test a field and what is below it")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("*", "\\*")


def _as_wildcard(made: Mapping[str, str]) -> str:
    ((kind, text),) = made.items()
    return {"prefix": f"{_escaped(text)}*", "suffix": f"*{_escaped(text)}"}.get(kind, text)


def _shown_name(name: Any) -> str:
    return name if isinstance(name, str) else path_text(name) if name else "the element"


def _shown_pattern(part: Any) -> str:
    return ", ".join(_shown_name(name) for name in part) if isinstance(part, Mapping) else shown(part)
