"""The engines that the suite runs over: a later one is one more line."""

import os
import zlib
from typing import Any, NamedTuple

import pytest

from ruledex.compiled.decorator import IS_DISABLED
from ruledex.compiled.scheduler import scheduler
from ruledex.engines.registry import engine_class, read_engine_options

ENGINES: dict[str, dict[str, Any]] = {
    "scan": {},
    "sparse": {},
    "batch": {},
    "auto": {},
    "dnf": {},
    "cnf": {},
    "dewey": {},
    "interval": {},
    "atree": {},
}


class EngineType(NamedTuple):
    """An engine with the options that the suite builds it with."""

    name: str
    options: dict[str, Any]

    def build(self, program, statistics=None):
        return engine_class(self.name).build(program, statistics, read_engine_options(self.name, self.options))

    def from_arrays(self, program, arrays):
        return engine_class(self.name).from_arrays(program, arrays)


@pytest.fixture(params=ENGINES)
def engine_type(request):
    return EngineType(request.param, ENGINES[request.param])


@pytest.fixture(autouse=True)
def _take_up_in_mid_use(request):
    """With RULEDEX_TAKE_UP, each test begins in plain forms, and a call among its first so many takes up compiled code.

    Which call it is depends on the test's name alone.
    """
    n_calls = int(os.environ.get("RULEDEX_TAKE_UP", "0"))
    if not n_calls or IS_DISABLED:
        yield
        return
    with scheduler.plainly(1 + zlib.crc32(request.node.nodeid.encode()) % n_calls):
        yield
