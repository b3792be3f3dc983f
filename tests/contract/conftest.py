"""The engines that the suite runs over: a later one is one more line."""

import pytest

from ruledex.engines.registry import engine_class

ENGINES = [
    "scan",
    "sparse",
    "batch",
    "auto",
]


@pytest.fixture(params=ENGINES)
def engine_type(request):
    return engine_class(request.param)
