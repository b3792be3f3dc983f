import numpy as np

from ruledex.engines.batch.engine import RuleBuffer


def filled(n_events, blocks):
    """The rules of a buffer, and those that were written to it."""
    buffer = RuleBuffer(n_events)
    written = []
    for counts in blocks:
        rules = np.arange(sum(counts), dtype=np.int32) + 1000 * len(written)
        buffer.room(np.array(counts))[:] = rules
        written.append(rules)
    return buffer.rules(), np.concatenate([np.empty(0, np.int32), *written])


def test_what_is_written_stands_one_after_the_other_whatever_the_first_events_let_expect():
    cases = {
        "even": [[3, 4], [4, 3], [2, 5]],
        "more and more": [[0, 1], [10, 20], [300, 400], [7000, 1]],
        "less and less": [[900, 900], [3, 0], [0, 0], [1, 0]],
        "none": [[0, 0], [0]],
        "one block": [[5, 6, 7]],
        "no events": [],
    }
    for name, blocks in cases.items():
        rules, expected = filled(sum(map(len, blocks)), blocks)
        assert rules.tolist() == expected.tolist(), name
        assert rules.dtype == np.int32


def test_the_array_is_no_larger_than_its_rules_and_its_own():
    rules, _ = filled(1000, [[50] * 500, [1] * 500])
    assert rules.base is None
    assert len(rules) == 500 * 51


def test_a_size_that_the_system_refuses_is_not_needed():
    rules, expected = filled(2**50, [[100] * 10, [100] * 50])
    assert rules.tolist() == expected.tolist()
