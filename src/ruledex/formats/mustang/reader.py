"""Reads criteria of Mustang, as its documentation means them: forms, compositions, predicates and their weights.

Mustang knows only true and false, and an exclusion is true where the value is missing or of another type. An AND scores
the sum of what it joins and an OR the largest, as here, and an exclusion scores nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ruledex.errors import RuleLimitError, RuleSyntaxError
from ruledex.formats.conditions import FALSE, TRUE, any_of, negate, number, string
from ruledex.formats.documents import WHOLE
from ruledex.formats.mustang.details import Subject, condition_of
from ruledex.formats.mustang.operations import alternatives_of, check_keys
from ruledex.formats.mustang.paths import location_of
from ruledex.formats.rules import Note
from ruledex.language.structured_parts import Place, json_text
from ruledex.language.tree import And, Expression

_DEEPEST: Final = 200
_FORMS: Final = {
    "DNF": ("form", "id", "conjunctions"),
    "CNF": ("form", "id", "disjunctions"),
    "UNF": ("form", "id", "type", "criterias", "predicates"),
}
_OF_RECORDS: Final = ("score", "tags", "name", "Id", "Name")  # that a file has beside a criteria
_OF_COMPOSITIONS: Final = ("type", "predicates")
_OF_PREDICATES: Final = (
    *("type", "lhs", "weight", "detail", "preOperations"),
    *("preOperation", "values", "lhsNotAPath", "defaultResult"),  # as in 2.x
)


class Criteria:
    """Makes trees of criteria."""

    keys = ("criteria", WHOLE)

    def __init__(self) -> None:
        self.definitions: dict[str, str] = {}

    def translate(self, document: Any, place: Place, notes: list[Note]) -> Expression:
        """Return the tree of a criteria."""
        return _Criteria(notes).tree(document, place, 0)


translator = Criteria


class _Criteria:
    """One criteria, with all that is nested in it."""

    def __init__(self, notes: list[Note]) -> None:
        self._notes = notes

    def tree(self, given: Any, place: Place, depth: int) -> Expression:
        """Return the tree of a criteria. One without compositions is always true."""
        if depth > _DEEPEST:
            raise RuleLimitError(f"{place}: criteria nest deeper than {_DEEPEST}")
        form = given.get("form") if isinstance(given, Mapping) else None
        name = form.upper() if isinstance(form, str) else form
        if isinstance(name, str) and name in _FORMS:
            check_keys(given, (*_FORMS[name], *([] if depth else _OF_RECORDS)), f"a {name}", place, self._notes)
        match name:
            case "DNF":
                compositions = self._compositions(given, "conjunctions", place)
                return any_of(compositions) if compositions else TRUE
            case "CNF":
                return all_in_score(self._compositions(given, "disjunctions", place))
            case "UNF":
                return self._unrestricted(given, place, depth)
        if not isinstance(given, Mapping):
            raise RuleSyntaxError(f"{place}: a criteria is an object, not {json_text(given)}")
        raise RuleSyntaxError(f"{place}: the form of a criteria is {', '.join(_FORMS)}, not {json_text(form)}")

    def _unrestricted(self, given: Mapping[str, Any], place: Place, depth: int) -> Expression:
        nested = _list(given, "criterias", place)
        parts = [self.tree(inner, at, depth + 1) for inner, at in nested]
        parts += self._predicates(given, place)
        kind = given.get("type")
        match kind.upper() if isinstance(kind, str) else kind:
            case "AND":
                return all_in_score(parts)
            case "OR":
                return any_of(parts) if parts else TRUE
        raise RuleSyntaxError(f"{Place(place, 'type')}: the type of a criteria is AND or OR, not {json_text(kind)}")

    def _compositions(self, given: Mapping[str, Any], key: str, place: Place) -> list[Expression]:
        found = []
        for composition, at in _list(given, key, place):
            if not isinstance(composition, Mapping):
                raise RuleSyntaxError(f"{at}: a composition is an object, not {json_text(composition)}")
            check_keys(composition, _OF_COMPOSITIONS, "a composition", at, self._notes)
            wanted, kind = ("AND" if key == "conjunctions" else "OR"), composition.get("type")
            if kind is not None and (not isinstance(kind, str) or kind.upper() != wanted):
                raise RuleSyntaxError(f"{Place(at, 'type')}: the type of {key} is {wanted}, not {json_text(kind)}")
            predicates = self._predicates(composition, at)
            found.append(all_in_score(predicates) if key == "conjunctions" else any_of(predicates))
        return found

    def _predicates(self, given: Mapping[str, Any], place: Place) -> list[Expression]:
        return [self._predicate(predicate, at) for predicate, at in _list(given, "predicates", place)]

    def _predicate(self, given: Any, place: Place) -> Expression:
        if not isinstance(given, Mapping):
            raise RuleSyntaxError(f"{place}: a predicate is an object, not {json_text(given)}")
        kind = given.get("type")
        is_included = isinstance(kind, str) and kind.upper() == "INCLUDED"
        if not is_included and not (isinstance(kind, str) and kind.upper() == "EXCLUDED"):
            at = Place(place, "type")
            raise RuleSyntaxError(f"{at}: a predicate is INCLUDED or EXCLUDED, not {json_text(kind)}")
        check_keys(given, _OF_PREDICATES, "a predicate", place, self._notes)
        if given.get("lhsNotAPath"):
            raise RuleSyntaxError(f"{Place(place, 'lhsNotAPath')}: the left side of a predicate is a path here")
        if given.get("defaultResult") is is_included:
            note = f"where the path is missing, the predicate is {str(not is_included).lower()} here"
            self._notes.append(Note(str(Place(place, "defaultResult")), note))
        at = Place(place, "lhs")
        location = location_of(string(given.get("lhs"), at, "a path"), at)
        operations, at = given.get("preOperations"), Place(place, "preOperations")
        if operations is None:  # as in 2.x
            single = given.get("preOperation")
            operations = [] if single is None else [single]
        alternatives, is_counted = alternatives_of(operations, location, at, self._notes)
        weight = _weight(given.get("weight"), Place(place, "weight")) if is_included else 1.0
        subject = Subject(location, alternatives, is_counted, weight, self._notes)
        detail, at = given.get("detail"), Place(place, "detail")
        if detail is None and "values" in given:  # as in 2.x
            detail, at = {"caveat": "EQUALITY", "values": given["values"]}, place
        condition = condition_of(detail, subject, at)
        return condition if is_included else negate(condition)


def _weight(given: Any, place: Place) -> float:
    """Return the weight of a predicate. None and 0 count as 1."""
    if given is None:
        return 1.0
    weight = number(given, place, "a weight")
    if weight < 0:
        raise RuleSyntaxError(f"{place}: a weight is not negative, but this is {weight}")
    return float(int(weight)) or 1.0


def _list(given: Mapping[str, Any], key: str, place: Place) -> list[tuple[Any, Place]]:
    at = Place(place, key)
    found = given.get(key)
    if found is None:
        return []
    if not isinstance(found, list):
        raise RuleSyntaxError(f"{at}: this is a list, not {json_text(found)}")
    return [(element, Place(at, i)) for i, element in enumerate(found)]


def all_in_score(conditions: Iterable[Expression]) -> Expression:
    """Return the AND of conditions, each of which counts for the score, even if two are equal."""
    parts: list[Expression] = []
    for condition in conditions:
        if condition == FALSE:
            return FALSE
        if condition != TRUE:
            parts += condition.children if isinstance(condition, And) else (condition,)
    return And(tuple(parts)) if len(parts) > 1 else parts[0] if parts else TRUE
