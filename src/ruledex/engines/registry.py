"""Engines by name, each loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module

from ruledex.engines.protocol import Engine
from ruledex.errors import RuledexError, quoted

PLACES = {
    "scan": "ruledex.engines.scan:ScanEngine",
    "sparse": "ruledex.engines.sparse.engine:SparseEngine",
    "batch": "ruledex.engines.batch.engine:BatchEngine",
    "auto": "ruledex.engines.auto:AutoEngine",
    "dewey": "ruledex.engines.labelled.dewey:DeweyEngine",
    "interval": "ruledex.engines.labelled.interval:IntervalEngine",
    "dnf": "ruledex.engines.kindex.dnf:DnfEngine",
    "cnf": "ruledex.engines.kindex.cnf:CnfEngine",
    "atree": "ruledex.engines.atree.engine:AtreeEngine",
}


def engine_class(name: str) -> type[Engine]:
    """The engine of that name."""
    if not isinstance(name, str) or name not in PLACES:
        raise RuledexError(f"there is no engine {quoted(name)}; there are {', '.join(PLACES)}")
    module, _, class_name = PLACES[name].partition(":")
    found: type[Engine] = getattr(import_module(module), class_name)
    return found
