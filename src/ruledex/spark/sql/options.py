"""Read the options of the data source, which are texts whose names ignore case."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC
from typing import Any, Final, Literal, cast, get_args

from ruledex.artifact import root_path
from ruledex.engines.protocol import Rank
from ruledex.errors import RuledexError, did_you_mean, quoted
from ruledex.index import check_filter
from ruledex.language.clock import read_now
from ruledex.spark.jobs.match.plan import Shape, check_answer
from ruledex.spark.worker.distribution import is_shipped

Table = Literal["rules", "versions", "quarantine", "matches"]
FileFormat = Literal["parquet", "delta"]
BYTES_PER_PARTITION: Final = 16 << 20  # of compressed columns, which take seconds to match
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


@dataclass(frozen=True)
class ReadOptions:
    """What a read of the data source asks for. The names are those of the options."""

    table: Table = "rules"
    index: str = ""
    version: str | None = None
    trust: bool | None = None
    quarantine: str = ""  # the folder that a build wrote
    events: str = ""  # a file, or a folder of files
    format: FileFormat | None = None  # None: as the folder shows
    keep: tuple[str, ...] | None = None
    top: int | None = None
    rank: Rank = "sum"
    explode: bool = False
    count: bool = False
    where: str | None = None
    now: str | None = None
    partition_bytes: int = BYTES_PER_PARTITION

    @property
    def shape(self) -> Shape:
        """The shape of the answer."""
        return "count" if self.count else "rows" if self.explode else "arrays"


_OF_SPARK: Final = frozenset(
    {"owner", "provider", "location", "external", "is_managed_location", "comment", "collation"}
)
_OF_INDEX: Final = frozenset({"table", "index", "path"})
_OF_TABLE: Final[Mapping[str, frozenset[str]]] = {
    "rules": _OF_INDEX | {"version", "trust"},
    "versions": _OF_INDEX,
    "quarantine": frozenset({"table", "index", "path", "quarantine"}),
    "matches": frozenset({field.name for field in fields(ReadOptions)} - {"quarantine"} | {"path"}),
}


def read_source_options(given: Mapping[str, str]) -> ReadOptions:
    """Return the options of a read. `path`, which `load` takes, is another name of `index`."""
    given = own_options(given)
    table = given.get("table", "matches" if "events" in given else "rules")
    if table not in _OF_TABLE:
        near = did_you_mean(table, _OF_TABLE)
        raise RuledexError(
            f"the option table is {quoted(table)}, and not one of {', '.join(_OF_TABLE)}{'; ' + near if near else ''}"
        )
    check_names(given, _OF_TABLE[table], f"the table {table}")
    read = {name: _READERS.get(name, _text)(name, value) for name, value in given.items() if name != "path"}
    read["table"] = table
    read["index"] = index_of(given) if table != "quarantine" else ""
    wanted = {"matches": "events", "quarantine": "quarantine"}.get(table)
    if wanted is not None:
        missing = f"the table {table} needs the option {wanted}, such as '/data/{wanted}'"
        read[wanted] = require_absolute(given.get(wanted), wanted, missing)
    options = ReadOptions(**read)
    check_answer(options.top, options.rank, None, options.explode, options.count)
    if options.where is not None:
        check_filter(options.where)
    if options.now is not None:
        read_now(options.now, UTC)
    return options


def own_options(given: Mapping[str, str]) -> dict[str, str]:
    """Return the options without what Spark adds of its own when a table is created."""
    named = {name.lower(): value for name, value in given.items()}
    return {name: value for name, value in named.items() if name not in _OF_SPARK and not name.startswith("option.")}


def check_names(given: Mapping[str, str], known: frozenset[str], what: str) -> None:
    """Raise an error if an option is none of the known ones."""
    for name in given:
        if name not in known:
            near = did_you_mean(name, known)
            raise RuledexError(
                f"{what} has no option {quoted(name)}, only {', '.join(sorted(known))}{'; ' + near if near else ''}"
            )


def index_of(given: Mapping[str, str]) -> str:
    """Return the path of the index that options name. A table that Spark creates may have a path beside it."""
    root = require_absolute(
        given.get("index") or given.get("path"), "index", "name the index by the option index, or by load('/data/ads')"
    )
    if is_shipped(root):
        raise RuledexError(
            "an index that was shipped is only in tasks, and a data source plans outside of them: put it where the "
            "driver and all workers can read it"
        )
    return root


def require_absolute(path: str | None, name: str, missing: str) -> str:
    """Return a path or URL that means the same on every host."""
    if not path:
        raise RuledexError(missing)
    if not path.startswith("/") and not _URL.match(path) and "\\" not in path:
        raise RuledexError(
            f"{name} is {quoted(path)}, a relative path, which every worker would look for in a folder of its own: "
            "give an absolute path, or a URL"
        )
    return root_path(path)


# Values.


def read_flag(name: str, value: str) -> bool:
    """Return whether an option is true."""
    if value.lower() not in ("true", "false"):
        raise RuledexError(f"the option {name} is true or false, not {quoted(value)}")
    return value.lower() == "true"


def _number(name: str, value: str) -> int:
    try:
        return int(value)
    except ValueError as error:
        raise RuledexError(f"the option {name} is a number, not {quoted(value)}") from error


def _size(name: str, value: str) -> int:
    if (size := _number(name, value)) < 1:
        raise RuledexError(f"the option {name} is {size}; it must be at least 1")
    return size


def _names(name: str, value: str) -> tuple[str, ...] | None:
    """Return names: separated by commas, or as a JSON array if one has a comma itself. `*` is None, which is all."""
    if value.strip() == "*":
        return None
    if not value.lstrip().startswith("["):
        return tuple(each.strip() for each in value.split(",") if each.strip())
    try:
        found = json.loads(value)
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise RuledexError(
            f'the option {name} is a list such as age, country or ["age", "country"], not {quoted(value)}'
        )
    return tuple(found)


def _text(_: str, value: str) -> str:
    return value


def _one_of(known: tuple[str, ...]) -> Callable[[str, str], str]:
    def read(name: str, value: str) -> str:
        if value not in known:
            raise RuledexError(f"the option {name} is one of {', '.join(known)}, not {quoted(value)}")
        return value

    return read


_READERS: Final = cast(
    dict[str, Callable[[str, str], Any]],
    {
        "trust": read_flag,
        "explode": read_flag,
        "count": read_flag,
        "top": _number,
        "partition_bytes": _size,
        "keep": _names,
        "rank": _one_of(get_args(Rank)),
        "format": _one_of(get_args(FileFormat)),
    },
)
