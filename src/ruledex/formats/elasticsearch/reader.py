"""Reads queries of Elasticsearch's query DSL, as percolators keep them.

A field has any number of values, and a query on it holds if it holds of one of them. Elasticsearch knows only true and
false: a query on a field that is missing is false, and `must_not` of it is true.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ruledex.formats.elasticsearch.fields import FieldTypes
from ruledex.formats.elasticsearch.full_text import match_bool_prefix, match_phrase, match_query, multi_match
from ruledex.formats.elasticsearch.query import Make, Query
from ruledex.formats.elasticsearch.query_string import query_string, simple_query_string
from ruledex.formats.rules import Note
from ruledex.language.structured_parts import Place
from ruledex.language.tree import Expression

_KINDS: Final[dict[str, Make]] = {
    "bool": Query.boolean,
    "boosting": Query.inner,
    "constant_score": Query.inner,
    "dis_max": Query.dis_max,
    "exists": Query.exists,
    "function_score": Query.inner,
    "ids": Query.ids,
    "match": match_query,
    "match_all": Query.everything,
    "match_bool_prefix": match_bool_prefix,
    "match_none": Query.nothing,
    "match_phrase": match_phrase,
    "match_phrase_prefix": match_phrase,
    "multi_match": multi_match,
    "nested": Query.nested,
    "prefix": Query.prefix,
    "query_string": query_string,
    "range": Query.range,
    "regexp": Query.regexp,
    "simple_query_string": simple_query_string,
    "term": Query.term,
    "terms": Query.terms,
    "terms_set": Query.terms_set,
    "wildcard": Query.wildcard,
}


class Queries:
    """Makes trees of queries. `mapping` has the types of fields, or is a file that has.

    `arrays=False` says that no field has several values. `id_field` is where an event has what Elasticsearch calls _id.
    """

    keys = ("query",)

    def __init__(
        self, mapping: Mapping[str, Any] | str | None = None, arrays: bool = True, id_field: str = "_id"
    ) -> None:
        self.definitions: dict[str, str] = {}
        self._types = FieldTypes.of(mapping)
        self._arrays = arrays
        self._id_field = id_field

    def translate(self, document: Any, place: Place, notes: list[Note]) -> Expression:
        """Return the tree of a query."""
        if isinstance(document, Mapping) and set(document) == {"query"}:
            document, place = document["query"], Place(place, "query")
        return Query(_KINDS, notes, self._types, self._arrays, self._id_field).clause(document, place, None)


translator = Queries
