import numpy as np

from ruledex.engines.protocol import Matches

FOUND = Matches(np.array([0, 2, 2, 3]), np.array([1, 5, 0], np.int32))


def test_pairs_name_the_event_of_each_match():
    events, rules = FOUND.pairs()
    assert events.tolist() == [0, 0, 2]
    assert rules.tolist() == [1, 5, 0]


def test_arrow_has_one_row_an_event():
    batch = FOUND.to_arrow()
    assert batch.to_pydict() == {"rules": [[1, 5], [], [0]]}


def test_arrow_has_scores_where_there_are_any():
    batch = FOUND._replace(scores=np.array([2.5, 1.0, 0.0])).to_arrow()
    assert batch.to_pydict()["scores"] == [[2.5, 1.0], [], [0.0]]
