"""The baselines that the suite runs over."""

import pytest

from baselines import PLACES, baseline_class


@pytest.fixture(params=PLACES)
def baseline_type(request):
    return baseline_class(request.param)
