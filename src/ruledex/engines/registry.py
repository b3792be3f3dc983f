"""Engines by name, each loaded when it is asked for, and their options."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from ruledex.engines.protocol import Engine, Statistics
from ruledex.errors import RuledexError, quoted
from ruledex.program.program import Program

PLACES = {
    "scan": "ruledex.engines.scan:ScanEngine",
    "sparse": "ruledex.engines.sparse.engine:SparseEngine",
    "batch": "ruledex.engines.batch.engine:BatchEngine",
    "auto": "ruledex.engines.auto:AutoEngine",
    "dewey": "ruledex.engines.labelled.dewey:DeweyEngine",
    "interval": "ruledex.engines.labelled.interval:IntervalEngine",
    "dnf": "ruledex.engines.kindex.engine:DnfEngine",
    "cnf": "ruledex.engines.kindex.engine:CnfEngine",
    "atree": "ruledex.engines.atree.engine:AtreeEngine",
}

_LARGEST_OPTION: Final = 2**31 - 1  # the largest value of an option that is a number


def engine_class(name: str) -> type[Engine]:
    """Return the engine of that name."""
    if not isinstance(name, str) or name not in PLACES:
        raise RuledexError(f"there is no engine {quoted(name)}; there are {', '.join(PLACES)}")
    module, _, class_name = PLACES[name].partition(":")
    found: type[Engine] = getattr(import_module(module), class_name)
    return found


def read_engine_options(name: str, given: Mapping[str, Any] | None = None) -> Any:
    """Return the options of an engine, of its `options_type`; refuse those that it does not have."""
    options_type = engine_class(name).options_type
    if given is not None and not isinstance(given, Mapping):
        raise RuledexError(f"engine_options are a mapping of names to values, not {quoted(given)}")
    known = get_type_hints(options_type)
    for option, value in (given or {}).items():
        if option not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise RuledexError(f"the engine {quoted(name)} has no option {quoted(option)}; {has}")
        _check_option(f"the option {option} of the engine {name}", value, known[option])
    return options_type(**(given or {}))


def build_engine(
    name: str, program: Program, statistics: Statistics | None, options: Mapping[str, Any] | None = None
) -> Engine:
    """Build an engine over a Program, with the engine's own options."""
    return engine_class(name).build(program, statistics, read_engine_options(name, options))


def _check_option(what: str, value: object, kind: Any) -> None:
    """Refuse a value that an option of an engine cannot have."""
    if get_origin(kind) is Literal:
        is_right, wanted = value in get_args(kind), f"one of {', '.join(map(repr, get_args(kind)))}"
    elif kind is bool:
        is_right, wanted = isinstance(value, bool), "True or False"
    else:
        is_right = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _LARGEST_OPTION
        wanted = f"a whole number from 1 to {_LARGEST_OPTION:,}"
    if not is_right:
        raise RuledexError(f"{what} is {wanted}, not {quoted(value)}")
