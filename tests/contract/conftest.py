"""The engines that the suite runs over: a later one is one more line."""

from typing import Any, NamedTuple

import pytest

from ruledex.engines.registry import engine_class, read_options

# Generators draw rules that have no normal form of a sensible size; the engines that convert have an option for them.
LEFT_TO_SPARSE = {"overflow": "sparse"}
ENGINES: dict[str, dict[str, Any]] = {
    "scan": {},
    "sparse": {},
    "batch": {},
    "auto": {},
    "dnf": LEFT_TO_SPARSE,
    "cnf": LEFT_TO_SPARSE,
    "dewey": {},
    "interval": {},
    "atree": {},
}


class EngineType(NamedTuple):
    """An engine with the options that the suite builds it with."""

    name: str
    options: dict[str, Any]

    def build(self, program, statistics=None):
        return engine_class(self.name).build(program, statistics, read_options(self.name, self.options))

    def from_arrays(self, program, arrays):
        return engine_class(self.name).from_arrays(program, arrays)


@pytest.fixture(params=ENGINES)
def engine_type(request):
    return EngineType(request.param, ENGINES[request.param])
