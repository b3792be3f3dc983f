from itertools import product

import pytest

from ruledex.compiled.constants import AND, OR
from ruledex.engines.atree.plain import FALSE, TRUE, UNKNOWN, combine_truth

VALUES = {TRUE: True, FALSE: False, UNKNOWN: None}


def table_2(operation, values):
    """The paper's table, for two operands after another."""
    result = values[0]
    for value in values[1:]:
        deciding = operation == OR
        if deciding in (result, value):
            result = deciding
        elif None in (result, value):
            result = None
        else:
            result = not deciding
    return result


@pytest.mark.parametrize("operation", [AND, OR])
def test_any_number_of_operands_is_as_two_after_another(operation):
    for n_children in (2, 3, 4):
        for values in product([True, False, None], repeat=n_children):
            found = combine_truth(operation, n_children, values.count(True), values.count(False))
            assert VALUES[found] is table_2(operation, values)
