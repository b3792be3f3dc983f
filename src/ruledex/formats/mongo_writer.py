"""Writes conditions of MongoDB's query language, as GrowthBook evaluates them.

GrowthBook compares as JavaScript does, so each comparison has a `$type` beside it, and none of its operators but `$in`
looks into an array, so that there is a second condition for elements. With `coerce=False` a document is one of MongoDB
itself, which does neither.
"""

from __future__ import annotations

from itertools import product
from typing import Any, Final

from ruledex.errors import RuleTypeError
from ruledex.formats.javascript import constants_compare, like_regex, plain_regex
from ruledex.formats.rules import Note
from ruledex.formats.two_valued import (
    FAMILIES,
    TwoValuedWriter,
    equality,
    is_converted,
    like_parts,
    of_single_value,
    path_shown,
    single_likes,
)
from ruledex.formats.writing import cannot_say
from ruledex.language.lambdas import element_name, paths_in
from ruledex.language.reference import truth_of
from ruledex.language.tree import (
    And,
    Attribute,
    Between,
    Call,
    Compare,
    Exists,
    Expression,
    IsNull,
    Like,
    Operand,
    Or,
    Predicate,
    Rlike,
    Truth,
    replace,
)
from ruledex.language.value import Family, family_of
from ruledex.rewrite.settle import settle

_ORDER: Final = {"<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}
_OPPOSITE: Final = {"$in": "$nin", "$nin": "$in", "$ini": "$nini", "$nini": "$ini"}
_ELEMENT: Final = ""  # the name of the element itself, in conditions about it
_MOST_CHOICES: Final = 64  # conjunctions of a condition on plain elements
_ARRAY: Final = {"$type": "array"}
_FALSY: Final = (0, "", False)


def write_condition(tree: Expression, notes: list[Note], *, coerce: bool = True, arrays: bool = True) -> Any:
    """Return a condition. Without `arrays`, attributes have single values, and the condition is shorter."""
    writer = _Writer(notes, arrays, coerce)
    document = writer.rule(tree)
    if document is True:
        return {}
    return {"$nor": [{}]} if document is False else document


class _Writer(TwoValuedWriter):
    def __init__(self, notes: list[Note], arrays: bool, coerce: bool) -> None:
        super().__init__(notes, arrays)
        self._coerce = coerce
        self.system = "GrowthBook" if coerce else "MongoDB"

    # Joins.

    def both(self, parts: list[Any]) -> Any:
        merged: dict[str, Any] = {}
        for part in parts:
            together = _merged(merged, part)
            if together is None:
                self._check_element(parts, "AND")
                return {"$and": parts}
            merged = together
        return merged

    def either(self, parts: list[Any]) -> Any:
        self._check_element(parts, "OR")
        return {"$or": parts}

    def _check_element(self, parts: list[Any], join: str) -> None:
        if any(_ELEMENT in part for part in parts):
            raise RuleTypeError(f"{self.system} has no {join} of these conditions on one element of an array")

    def opposite(self, part: Any) -> Any:
        if len(part) == 1:
            ((name, given),) = part.items()
            if name == "$nor" and len(given) == 1:
                return given[0]
            if name == "$or":
                return {"$nor": given}
            if not name.startswith("$") and len(given) == 1:
                ((operator, value),) = given.items()
                if operator in _OPPOSITE:
                    return {name: {_OPPOSITE[operator]: value}}
                if operator == "$exists":
                    return {name: {"$exists": not value}}
                if operator == "$not":
                    return {name: value}
            if name == _ELEMENT:
                return {name: {"$not": given}}
        return {"$nor": [part]}

    # Predicates.

    def test(self, predicate: Predicate) -> Any:
        if isinstance(predicate, Exists):
            return self._exists(predicate)
        if self._coerce and isinstance(predicate, Compare) and is_converted(predicate):
            name = self._name(predicate.operand.arguments[0], predicate)  # type: ignore[union-attr, arg-type]
            return self._converted(name, predicate)
        attribute = self.attribute_of(predicate)
        name = self._name(attribute, predicate)
        if isinstance(predicate, IsNull):
            return self._is_null(name)
        family = self.family_of(predicate)
        constants = equality(predicate)
        if constants is not None:
            return {name: {"$in": [self.constant(value, predicate) for value in constants]}}
        match predicate:
            case Compare(_, op, value) if family is not Family.BOOLEAN:
                return self._compared(name, {_ORDER[op]: self.constant(value, predicate)}, family, predicate)
            case Between(_, low, high) if family is not Family.BOOLEAN:
                ends = {"$gte": self.constant(low, predicate), "$lte": self.constant(high, predicate)}
                return self._compared(name, ends, family, predicate)
            case Like(_, patterns, every) if len(patterns) > 1:
                if every and self._may_be_array(name):
                    raise cannot_say(predicate, self.system, "cannot ask several patterns of the same element")
                likes = [self.test(like) for like in single_likes(predicate)]
                return self.all_of(likes) if every else self.any_of(likes)
            case Like():
                return self._like(name, predicate)
            case Rlike(_, pattern):
                regex, ignores_case = plain_regex(pattern, predicate, self.system)
                if ignores_case:
                    self.note(predicate, "compares few letters beyond ASCII otherwise without case")
                return self._compared(name, self._regex(regex, ignores_case), family, predicate)
        raise cannot_say(predicate, self.system, "has no such comparison")

    def _like(self, name: str, predicate: Like) -> Any:
        (pattern,) = predicate.patterns
        parts = like_parts(pattern)
        if not any(is_wildcard for _, is_wildcard in parts):
            text = parts[0][0] if parts else ""
            if not predicate.ignore_case:
                return {name: {"$in": [text]}}
            if self._coerce:
                return {name: {"$ini": [text]}}
        if ("_", True) in parts and self._coerce:
            self.note(predicate, "counts a character beyond U+FFFF as two, where _ is one")
        if parts == [("%", True)]:
            return self._compared(name, {}, Family.STRING)
        regex = self._regex(like_regex(parts, predicate.ignore_case), False)
        return self._compared(name, regex, Family.STRING, predicate)

    def _regex(self, pattern: str, ignores_case: bool) -> dict[str, Any]:
        if ignores_case and not self._coerce:
            return {"$regex": f"(?i){pattern}"}
        return {"$regexi" if ignores_case else "$regex": pattern}

    def _compared(
        self, name: str, operators: dict[str, Any], family: Family, predicate: Predicate | None = None
    ) -> Any:
        """Return that one value, of a type, satisfies all operators, which stand for the predicate."""
        if not self._coerce and len(operators) == 1:
            return {name: operators}  # MongoDB compares values of a type, and each element of an array
        if self._coerce or not operators:
            operators = {**operators, "$type": FAMILIES[family]}
        if not self._may_be_array(name):
            return {name: operators}
        single = operators if self._coerce else {**operators, "$not": _ARRAY}
        skipped = [value for value in _FALSY if family_of(value) is family and _is_met(predicate, value)]
        return {"$or": [{name: single}, {name: {"$elemMatch": operators}}, *self._skipped(name, skipped)]}

    def _skipped(self, name: str, values: list[Any]) -> list[Any]:
        """Return a condition for elements that $elemMatch of GrowthBook passes over: those that count as false."""
        return [{name: {"$in": values}}] if values and self._coerce else []

    def _converted(self, name: str, predicate: Compare) -> Any:
        """Return a comparison as JavaScript makes it, of what is neither missing nor the empty text: they are 0."""
        end = self.constant(predicate.value, predicate)
        if predicate.op == "=":
            operators = {"$gte": end, "$lte": end, "$exists": True}
        else:
            operators = {_ORDER[predicate.op]: end, "$exists": True}
        if constants_compare(0, predicate.op, end):
            operators["$ne"] = ""
        if not self._may_be_array(name):
            return {name: operators}
        skipped = self._skipped(name, [value for value in _FALSY if _is_met(predicate, value)])
        return {"$or": [{name: {**operators, "$not": _ARRAY}}, {name: {"$elemMatch": operators}}, *skipped]}

    def has_type(self, attribute: Attribute, family: Family, part: Predicate) -> Any:
        return self._compared(self._name(attribute, part), {}, family)

    def _is_null(self, name: str) -> Any:
        missing = self._missing(True)
        if not self._may_be_array(name):
            return {name: missing}
        single = missing if self._coerce else {**missing, "$not": _ARRAY}
        nulls: dict[str, Any] = {"$type": "array", "$not": {"$elemMatch": self._missing(False)}}
        if self._coerce:
            nulls["$nin"] = list(_FALSY)
        return {"$or": [{name: single}, {name: nulls}]}

    def _missing(self, is_missing: bool) -> dict[str, Any]:
        """Return the operator for null or absent. In MongoDB, null exists."""
        if self._coerce:
            return {"$exists": not is_missing}
        return {"$in" if is_missing else "$nin": [None]}

    def is_there(self, array: Attribute, part: Exists) -> Any:
        name = self._name(array, part)
        return {"$or": [{name: self._missing(False)}, {name: _ARRAY}]}

    # Elements.

    def _exists(self, exists: Exists) -> Any:
        name = self._name(exists.operand, exists)
        if name == _ELEMENT:
            raise cannot_say(exists, self.system, "cannot test an array in an array")
        found: list[Any] = [{name: {"$elemMatch": body}} for body in self._bodies(exists)]
        element = element_name(exists.level)
        found += self._skipped(name, [v for v in _FALSY if truth_of(exists.body, {element: v}) is True])
        if self._coerce and truth_of(exists.body, {element: None}) is True:
            self.note(exists, "passes over elements that are null")
        n_notes = len(self._notes)
        single = self.condition(settle(of_single_value(exists)))
        del self._notes[n_notes:]  # on arrays, which this is none of
        there: dict[str, Any] = {name: {**self._missing(False), "$not": _ARRAY}}
        return self.any_of((*found, self.all_of((there, single))))

    def _bodies(self, exists: Exists) -> list[Any]:
        """Return the conditions on an element of which one has to hold."""
        if (element_name(exists.level),) not in set(paths_in(exists.body)):
            made = self.inside(exists, exists.body)
            return [] if made is False else [{} if made is True else made]
        found = []
        for conjunction in _conjunctions(settle(exists.body), exists, self.system):
            made = self.inside(exists, conjunction)
            if isinstance(made, dict) and _ELEMENT in made:
                if len(made) > 1:
                    raise cannot_say(exists, self.system, "tests an element by its value or by its fields, not by both")
                made = made[_ELEMENT]
            if made is not False:
                found.append({} if made is True else made)
        return found

    # Names.

    def _may_be_array(self, name: str) -> bool:
        return self._arrays and name != _ELEMENT

    def _name(self, attribute: Attribute, part: Predicate) -> str:
        steps = self.steps(attribute, part)
        for at, step in enumerate(steps):
            if "." in step or not step or step.startswith("$"):
                raise cannot_say(part, self.system, f"cannot name {step!r} in a path")
            if at and step.isdecimal():
                raise cannot_say(part, self.system, f"takes {step!r} in a path for the number of an element")
        if len(steps) > 1 and self._arrays and self._coerce:
            self.note(path_shown(attribute), "does not look into arrays on the way; exists(…) does")
        return ".".join(steps)


def _is_met(predicate: Predicate | None, value: Any) -> bool:
    """Return whether a value satisfies a predicate on an attribute, or on its conversion."""
    if predicate is None:
        return True
    operand: Operand = Attribute(("x",))
    if isinstance(predicate, Compare) and is_converted(predicate):
        operand = Call("cast_double", (operand,))
    return truth_of(replace(predicate, operand=operand), {"x": value}) is True


def _merged(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any] | None:
    """Return two conditions as one object, or None if they have a key in common that says two things."""
    made = dict(left)
    for name, given in right.items():
        if name not in made:
            made[name] = given
        elif name.startswith("$"):
            return None
        else:
            operators = dict(made[name])
            for operator, value in given.items():
                if operator == "$nin" and operator in operators:
                    value = [*operators[operator], *(v for v in value if v not in operators[operator])]
                elif operators.get(operator, value) != value:
                    return None
                operators[operator] = value
            made[name] = operators
    return made


def _conjunctions(tree: Expression, part: Exists, system: str) -> list[Expression]:
    """Return the conjunctions of a settled tree of which one has to hold."""
    match tree:
        case Or(children):
            found = [one for child in children for one in _conjunctions(child, part, system)]
        case And(children):
            chosen = product(*(_conjunctions(child, part, system) for child in children))
            found = []
            for conjunction in chosen:
                found.append(And(conjunction))
                if len(found) > _MOST_CHOICES:
                    break
        case Like(_, patterns, False) if len(patterns) > 1:
            found = list(single_likes(tree))
        case Truth(False):
            found = []
        case _:
            found = [tree]
    if len(found) > _MOST_CHOICES:
        raise cannot_say(part, system, f"would need more than {_MOST_CHOICES} conditions on elements")
    return found
