import json

import pytest

from ruledex.engines.auto import AutoEngine
from ruledex.engines.batch import BatchEngine
from ruledex.engines.sparse import SparseEngine

from .programs import drawn_program


@pytest.mark.parametrize(("n_events", "chosen"), [(1, SparseEngine), (127, SparseEngine), (128, BatchEngine)])
def test_the_size_of_the_batch_chooses(n_events, chosen):
    assert type(AutoEngine.build(drawn_program(20)).choose(n_events)) is chosen


def test_the_choice_is_described_for_people_and_for_json():
    described = json.loads(json.dumps(AutoEngine.build(drawn_program(20), threads=2).describe()))
    assert described["batch_from_events"] == 128
    assert "128 events or more" in described["why"]
    assert described["batch"]["threads"] == 2
