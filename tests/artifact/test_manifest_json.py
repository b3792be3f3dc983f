import math

import numpy as np
import pytest

from ruledex.artifact.manifest import decode_json, encode_json
from ruledex.errors import ArtifactError


def test_the_order_of_keys_leaves_no_trace():
    assert encode_json({"b": 1, "a": [1, {"d": 0, "c": 0}]}, "x") == b'{"a":[1,{"c":0,"d":0}],"b":1}\n'
    assert encode_json({"a": 1, "b": 2}, "x") == encode_json({"b": 2, "a": 1}, "x")


@pytest.mark.parametrize("value", [None, True, 2**80, -0.1, "ä\ud800\n\0", [], {}, {"": [[], {"x": 1e308}]}])
def test_values_come_back_equal(value):
    assert decode_json(encode_json(value, "x"), "x") == value


@pytest.mark.parametrize("value", [{1: 2}, [{"a": {None: 1}}], math.nan, [math.inf], {1, 2}, b"x", np.int64(1)])
def test_what_would_not_come_back_equal_is_refused(value):
    with pytest.raises(ArtifactError, match="the thing cannot be written as JSON"):
        encode_json(value, "the thing")


def test_a_value_nested_without_end_is_refused():
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(ArtifactError, match="cannot be written as JSON"):
        encode_json(loop, "the thing")


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe\xfd", b"[" * 100_000, b"nul"])
def test_broken_text_is_an_error_that_names_its_place(data):
    with pytest.raises(ArtifactError, match=r"^folder/file is damaged: it is not JSON"):
        decode_json(data, "folder/file")
