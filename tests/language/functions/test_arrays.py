"""Functions of arrays refuse constants, which have no elements."""

from __future__ import annotations

import pytest

from ruledex import evaluate, parse
from ruledex.errors import RuleTypeError


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("array_size('x') = 1", r"array_size\(\) needs an attribute"),
        ("element_at('x', 1) = 'x'", r"element_at\(\) needs an attribute"),
        ("arrays_overlap('a', tags)", "takes two attributes, not constants"),
        ("arrays_overlap(tags, 'a')", "takes two attributes, not constants"),
        ("arrays_overlap('a', 'b')", "takes two attributes, not constants"),
    ],
)
def test_a_constant_is_no_array(text, message):
    with pytest.raises(RuleTypeError, match=message):
        parse(text)


def test_arrays_are_asked_as_attributes():
    assert evaluate(parse("arrays_overlap(tags, wanted)"), {"tags": ["a"], "wanted": ["a", "b"]}) is True
