from __future__ import annotations

import subprocess
import sys

import pytest

from ruledex.errors import RuledexError
from ruledex.workloads import WORKLOADS, workload, workload_class
from ruledex.workloads.abe import ArbitraryExpressions


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_registered_name_gives_its_generator_with_the_seed(name: str) -> None:
    assert type(workload(name, seed=5)) is workload_class(name)
    assert workload(name, seed=5).seed == 5


def test_parameters_reach_the_generator() -> None:
    assert workload("abe", depth=2) == ArbitraryExpressions(0, depth=2)


def test_an_unknown_name_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(RuledexError, match=r"'nope'.*abe, advertising"):
        workload("nope")


def test_an_unknown_parameter_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(RuledexError, match=r"'deep'.*depth"):
        workload("abe", deep=2)


def test_the_package_adds_neither_numpy_nor_arrow_to_what_is_loaded() -> None:
    check = (
        "import sys, ruledex; before = set(sys.modules); import ruledex.workloads; "
        "sys.exit(bool({'numpy', 'pyarrow'} & (set(sys.modules) - before)))"
    )
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
