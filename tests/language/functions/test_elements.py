from ruledex.language.functions.registry import lookup


def test_size_tells_empty_from_missing():
    size = lookup("size")
    assert size.whole
    assert size.call((1, "a", 1)) == 3
    assert size.call(()) == 0
    assert size.call(None) is None


def test_coalesce_gives_the_values_or_else_the_constant():
    coalesce = lookup("coalesce")
    assert coalesce.whole
    assert coalesce.call((0, 7), 5) == (0, 7)
    assert coalesce.call((), 5) == 5
    assert coalesce.call(None, "none") == "none"
