"""What all rules of one check share: the schema, and what is computed from it once."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Final

from ruledex.forks import cached_property
from ruledex.language.schema import AttributeType, Schema, read_path
from ruledex.language.text import path_text
from ruledex.language.tree import Attribute

_SINGLE: Final = AttributeType(single=True)
_NEAR: Final = 0.8


class UndeclaredSingle(Schema):
    """A schema in which every undeclared attribute has at most one value."""

    def of(self, attribute: Attribute) -> AttributeType:
        """Return the declared type of an attribute, or that it is single."""
        return self._by_path.get(attribute.path, _SINGLE)


class Context:
    """A schema as the checks use it."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._near: dict[tuple[str, ...], str] = {}

    @cached_property
    def declared(self) -> frozenset[tuple[str, ...]]:
        """The paths of all declared attributes."""
        return frozenset(map(read_path, self.schema.attributes))

    @cached_property
    def undeclared_single(self) -> Schema:
        """The schema under the assumption that no undeclared attribute has several values."""
        return UndeclaredSingle(self.schema.attributes, self.schema.time_zone)

    def near_name(self, path: tuple[str, ...]) -> str:
        """Return the declared name of which an undeclared path seems to be a misspelling, or nothing."""
        if not self.declared or path in self.declared:
            return ""
        if path not in self._near:
            near = next((declared for declared in sorted(self.declared) if _is_near(path, declared)), ())
            self._near[path] = path_text(near)
        return self._near[path]


def _is_near(path: tuple[str, ...], declared: tuple[str, ...]) -> bool:
    """Return whether two paths differ in one step, by about one letter."""
    if len(path) != len(declared):
        return False
    different = [(one, other) for one, other in zip(path, declared, strict=True) if one != other]
    if len(different) != 1:
        return False
    one, other = (step.lower() for step in different[0])
    # Short names may be close without being misspelt: age and page, os and ios.
    return one == other or (min(len(one), len(other)) > 3 and SequenceMatcher(None, one, other).ratio() >= _NEAR)
