"""The papers' workload generators and the demo's data, by name.

    workload("abe", seed=7, n_expressions=100_000).rule_table(100_000)

A generator's module loads when it is asked for, so that this package costs nothing to import.
"""

from __future__ import annotations

import dataclasses
from importlib import import_module
from typing import TYPE_CHECKING

from ruledex.errors import InputError, quoted

if TYPE_CHECKING:
    from ruledex.workloads.base import Workload

WORKLOADS = {
    "abe": ("ruledex.workloads.abe", "ArbitraryExpressions"),
    "advertising": ("ruledex.workloads.advertising", "AdvertisingContracts"),
    "exchange": ("ruledex.workloads.exchange", "ExchangeContracts"),
    "intervals": ("ruledex.workloads.intervals", "SubscriptionIntervals"),
    "demo": ("ruledex.workloads.demo", "Demo"),
}


def workload_class(name: str) -> type[Workload]:
    """Return the generator class of that name, and load its module."""
    if name not in WORKLOADS:
        raise InputError(f"there is no workload {quoted(name)}; there are {', '.join(WORKLOADS)}")
    module, attribute = WORKLOADS[name]
    found: type[Workload] = getattr(import_module(module), attribute)
    return found


def workload(name: str, seed: int = 0, **parameters: object) -> Workload:
    """Return a generator with its paper's defaults, but for the parameters that are given."""
    generator = workload_class(name)
    known = [field.name for field in dataclasses.fields(generator) if field.name != "seed"]
    for parameter in parameters:
        if parameter not in known:
            raise InputError(f"workload {quoted(name)} has no parameter {quoted(parameter)}; it has {', '.join(known)}")
    return generator(seed, **parameters)
