"""Statistics of past events: how often each attribute is present, and with which values.

They do not depend on rules, so that one profile serves any number of builds; frequencies.py turns them into what
engines need. Their size is bounded, whatever the number of events: the most frequent values of an attribute are
counted, and a small sample stands for all of them, from which quantiles are read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any, NamedTuple, Self

from ruledex.errors import InputError, RuledexError, quoted
from ruledex.language.schema import read_path
from ruledex.language.structured_parts import Place, constant_in, constant_out
from ruledex.language.text import path_text
from ruledex.language.tree import Value
from ruledex.outputs import whole_file

Path = tuple[str, ...]
FORMAT = 1


class ValueStatistics(NamedTuple):
    """An attribute's values of one type. Events with several values count once in `n_events`.

    `heavy` has the most frequent values, the most frequent first, each with a count that is too low by at most
    `heavy_error`. No other value is more frequent than that. `sample` has values in ascending order, each with the
    number of values that it stands for. Values of types that no rule can name have neither.
    """

    type: str
    n_events: int
    n_values: int
    heavy: tuple[tuple[Value, int], ...] = ()
    heavy_error: int = 0
    sample: tuple[tuple[Value, int], ...] = ()

    def quantiles(self, n: int) -> list[Value]:
        """Return the values that cut the others into `n` parts of about the same size."""
        total = sum(weight for _, weight in self.sample)
        found: list[Value] = []
        below = 0
        for value, weight in self.sample:
            below += weight
            while len(found) < n - 1 and below * n >= total * (len(found) + 1):
                found.append(value)
        return found


class AttributeStatistics(NamedTuple):
    """One attribute: the number of events with a value, of those with an empty array, and its values by type."""

    n_present: int
    n_empty: int
    values: tuple[ValueStatistics, ...]


class EventStatistics(NamedTuple):
    """The number of events, and their attributes by path. Incomplete if events had more names than are kept."""

    n_events: int
    attributes: Mapping[Path, AttributeStatistics]
    is_complete: bool = True

    def save(self, path: str | FilePath) -> None:
        """Write the statistics as JSON to a path or URL. A local file is written whole or not at all."""
        import fsspec
        from fsspec.implementations.local import LocalFileSystem

        data = json.dumps(self.to_dict(), ensure_ascii=False, indent=1).encode()
        try:
            filesystem, place = fsspec.core.url_to_fs(str(path))
            if isinstance(filesystem, LocalFileSystem):
                FilePath(place).parent.mkdir(parents=True, exist_ok=True)
                with whole_file(place) as file:
                    file.write(data)
            else:
                filesystem.pipe_file(place, data)
        except (OSError, ValueError, ImportError) as error:
            raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from error

    @classmethod
    def open(cls, path: str | FilePath) -> Self:
        """Read the statistics that were saved at a path or URL."""
        import fsspec

        try:
            with fsspec.open(str(path), encoding="utf-8") as file:
                return cls.of_dict(json.load(file))
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: these are no statistics of events: {error}") from error

    def to_dict(self) -> dict[str, Any]:
        """Return the statistics as a JSON object."""
        return {
            "format": FORMAT,
            "events": self.n_events,
            "complete": self.is_complete,
            "attributes": {path_text(path): _attribute_out(found) for path, found in sorted(self.attributes.items())},
        }

    @classmethod
    def of_dict(cls, document: Mapping[str, Any]) -> Self:
        """Return the statistics of what `to_dict` returned."""
        try:
            if document["format"] != FORMAT:
                raise InputError(f"these statistics have the format {quoted(document['format'])}, not {FORMAT}")
            attributes = {read_path(name): _attribute_in(given) for name, given in document["attributes"].items()}
            return cls(document["events"], attributes, document["complete"])
        except (KeyError, TypeError, AttributeError, RuledexError) as error:
            raise InputError(f"these are no statistics of events: {error}") from error


def _attribute_out(attribute: AttributeStatistics) -> dict[str, Any]:
    return {
        "present": attribute.n_present,
        "empty": attribute.n_empty,
        "values": [
            {
                "type": values.type,
                "events": values.n_events,
                "values": values.n_values,
                "heavy": _counts_out(values.heavy),
                "heavy_error": values.heavy_error,
                "sample": _counts_out(values.sample),
            }
            for values in attribute.values
        ],
    }


def _attribute_in(document: Mapping[str, Any]) -> AttributeStatistics:
    values = (
        ValueStatistics(
            given["type"],
            given["events"],
            given["values"],
            _counts_in(given["heavy"]),
            given["heavy_error"],
            _counts_in(given["sample"]),
        )
        for given in document["values"]
    )
    return AttributeStatistics(document["present"], document["empty"], tuple(values))


def _counts_out(counts: tuple[tuple[Value, int], ...]) -> list[Any]:
    return [[constant_out(value), count] for value, count in counts]


def _counts_in(document: list[Any]) -> tuple[tuple[Value, int], ...]:
    return tuple((_value_in(value), count) for value, count in document)


def _value_in(document: Any) -> Value:
    value = constant_in(document, Place(None, "values")).value
    if value is None:
        raise InputError("a value is null")
    return value
