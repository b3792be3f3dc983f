import pytest

from ruledex.engines.registry import PLACES, engine_class, read_engine_options
from ruledex.errors import RuledexError


@pytest.mark.parametrize("name", PLACES)
def test_an_engine_is_found_under_its_own_name(name):
    assert engine_class(name).name == name


def test_an_unknown_engine_is_an_error_that_lists_the_known():
    with pytest.raises(RuledexError, match="scan, sparse, batch, auto"):
        engine_class("fast")


@pytest.mark.parametrize("name", PLACES)
def test_options_that_are_not_given_have_defaults(name):
    assert read_engine_options(name) == read_engine_options(name, {}) == engine_class(name).options_type()


def test_options_that_are_given_reach_the_engines_own_type():
    assert read_engine_options("batch", {"threads": 3}).threads == 3
    assert read_engine_options("atree", {"sharing": False}).sharing is False
    assert read_engine_options("dnf", {"overflow": "sparse"}).overflow == "sparse"


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("atree", {"speed": True}, "no option 'speed'; it has sharing, reorganisation"),
        ("scan", {"threads": 2}, "no option 'threads'; it has none"),
        ("atree", {"sharing": 1}, "True or False"),
        ("auto", {"threads": 0}, "a whole number from 1"),
        ("cnf", {"overflow": "drop"}, "one of 'error', 'sparse'"),
        ("auto", [("threads", 1)], "a mapping of names to values"),
    ],
)
def test_options_that_an_engine_does_not_have_are_refused(name, given, message):
    with pytest.raises(RuledexError, match=message):
        read_engine_options(name, given)
