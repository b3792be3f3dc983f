"""Search rules by id, text, attribute and tag. A request does bounded work, and the next one goes on from there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from time import monotonic
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ruledex.errors import RuledexError
from ruledex.index import RuleId, RuleRange, RuleReader
from ruledex.language.definitions import names_in, shown_name
from ruledex.language.lambdas import paths_in
from ruledex.language.parser import parse
from ruledex.language.schema import Schema
from ruledex.language.tree import Attribute, IsNull

Row: TypeAlias = tuple[RuleId, str, float, Mapping[str, Any]]  # id, text, score and tags
Path: TypeAlias = tuple[str, ...]

_PIECE: Final = 1 << 16  # rules that are looked at together: so many lie in one part of the table of rules
_SECONDS: Final = 0.5  # that one request looks for rules


class RuleQuery(NamedTuple):
    """What rules are searched by. What is empty is not asked for."""

    text: str = ""  # a part of the rule's text, in either case
    id: str = ""  # a part of its id, in either case
    attribute: str = ""  # one that it uses, itself or by a named condition; or `@name`, a condition that it names
    tags: tuple[str, ...] = ()  # `name` or `name:value`, all of them


class FoundRules(NamedTuple):
    """Rules that fit, ascending by id."""

    rules: list[Row]
    matched: int | None  # all that fit; None if not all rules were looked at
    next: RuleId | None  # the search goes on after this id; None at the end


def search_rules(
    reader: RuleReader, query: RuleQuery, after: RuleId | None, limit: int, seconds: float = _SECONDS
) -> FoundRules:
    """Return the first rules after an id that fit. Fewer come back if time is up before."""
    n_rules = len(reader)
    at = 0 if after is None else reader.position_after(after)
    if not any(query):
        read = reader.read(at, at + limit)
        following = read.ids[-1].as_py() if at + limit < n_rules else None
        return FoundRules(list(_rows(read, range(len(read.ids)))), n_rules, following)
    until = monotonic() + seconds
    search = _Search(query, reader.schema)
    rules, n_found, last = list[Row](), 0, after
    # If nothing was found before, all of them are counted as long as there is time.
    while at < n_rules and monotonic() < until and (len(rules) < limit or after is None):
        read = reader.read(at, min((at // _PIECE + 1) * _PIECE, n_rules))
        n_seen, found = search.rows(read, until)
        rules += _rows(read, found[: limit - len(rules)])
        n_found += len(found)
        at, last = at + n_seen, read.ids[n_seen - 1].as_py()
    is_end = at >= n_rules
    if is_end and n_found == len(rules):
        following = None
    else:
        following = rules[-1][0] if len(rules) == limit else last
    return FoundRules(rules, n_found if is_end and after is None else None, following)


def _rows(read: RuleRange, rows: Iterable[int]) -> Iterator[Row]:
    for row in rows:
        yield read.ids[row].as_py(), read.texts[row].as_py(), float(read.scores[row]), read.tags_at(row)


class _Search:
    """A query, prepared for many rules."""

    def __init__(self, query: RuleQuery, schema: Schema) -> None:
        self._query = query
        self._tags_fit: dict[str | None, bool] = {}  # by the text of all tags of a rule
        self._use = None if not query.attribute else _Use(query.attribute, schema)

    def rows(self, read: RuleRange, until: float) -> tuple[int, list[int]]:
        """Return how many rows were looked at, at least one, and which of these fit."""
        query, n_rows = self._query, len(read.ids)
        fits = np.ones(n_rows, np.bool_)
        if query.id:
            ids = read.ids if pa.types.is_large_string(read.ids.type) else read.ids.cast(pa.large_string())
            fits &= _contain(ids, query.id)
        if query.tags:
            fits &= np.fromiter(map(self._fit_tags, read.tags), np.bool_, n_rows)
        if query.text and fits.any():
            fits &= _contain(read.texts, query.text)
        if self._use is None or not fits.any():
            return n_rows, np.flatnonzero(fits).tolist()
        found = []
        for row in np.flatnonzero(fits & self._use.may_be_in(read.texts)).tolist():
            if self._use.is_in(read.texts[row].as_py()):
                found.append(row)
            if monotonic() >= until:
                return row + 1, found
        return n_rows, found

    def _fit_tags(self, text: str | None) -> bool:
        fits = self._tags_fit.get(text)
        if fits is None:
            tags = {} if text is None else orjson.loads(text)
            fits = self._tags_fit[text] = all(has_tag(tags, wanted) for wanted in self._query.tags)
        return fits


def _contain(texts: pa.Array, part: str) -> NDArray[np.bool_]:
    return np.asarray(pc.match_substring(texts, part, ignore_case=True))


class _Use:
    """Tells whether a rule uses an attribute, itself or by a named condition, or names a condition."""

    def __init__(self, given: str, schema: Schema) -> None:
        self._paths = {(given,)} | ({path} if (path := _path_of(given)) is not None else set())
        steps = {path[-1].replace("`", "``") if path else "*" for path in self._paths}
        definitions = schema.bound_definitions
        self._names = {name for name, known in definitions.items() if not self._paths.isdisjoint(paths_in(known.tree))}
        self._names |= {name for name in definitions if given in (f"@{name}", shown_name(name))}
        self._parts = steps | ({"@"} if self._names else set())

    def may_be_in(self, texts: pa.Array) -> NDArray[np.bool_]:
        """Return which texts have to be parsed: all others do not use the attribute."""
        found = np.zeros(len(texts), np.bool_)
        for part in self._parts:
            found |= np.asarray(pc.match_substring(texts, part))
        return found

    def is_in(self, text: str) -> bool:
        """Return whether the rule with a text uses the attribute."""
        tree = parse(text)
        return not self._paths.isdisjoint(paths_in(tree)) or any(use.name in self._names for use in names_in(tree))


def _path_of(given: str) -> Path | None:
    """Return the path that a text names as a rule would, or None if it is no path."""
    try:
        tree = parse(f"{given} IS NULL")
    except RuledexError:
        return None
    return tree.operand.path if isinstance(tree, IsNull) and isinstance(tree.operand, Attribute) else None


def has_tag(tags: Mapping[str, Any], wanted: str) -> bool:
    """Return whether tags, as JSON, have a name, or a value given as `name:value`. A list has each of its items."""
    if wanted in tags:
        return True
    for at, sign in enumerate(wanted):
        if sign == ":" and wanted[:at] in tags:
            value = tags[wanted[:at]]
            if any(wanted[at + 1 :] == _shown(item) for item in (value if isinstance(value, list) else [value])):
                return True
    return False


def _shown(value: Any) -> str:
    """Return a value as a person would type it."""
    if isinstance(value, dict) and len(value) == 1 and next(iter(value)).startswith("$"):
        (value,) = value.values()  # a date, a time or a decimal
    return value if isinstance(value, str) else orjson.dumps(value).decode()
