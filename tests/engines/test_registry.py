import pytest

from ruledex.engines.registry import PLACES, engine_class
from ruledex.errors import RuledexError


@pytest.mark.parametrize("name", PLACES)
def test_an_engine_is_found_under_its_own_name(name):
    assert engine_class(name).name == name


def test_an_unknown_engine_is_an_error_that_lists_the_known():
    with pytest.raises(RuledexError, match="scan, sparse, batch, auto"):
        engine_class("fast")
