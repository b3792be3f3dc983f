"""The algorithms that whang2009, fontoura2010 and a-tree2021 measure against, compiled as the engines are.

Each is a class with an engine's `build`, `match`, `count` and `describe`, and `work`, what an event makes it touch.
They read a Program's rules in the form that their papers give them: conjunctions, CNF expressions or trees.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

PLACES = {
    "sift": ("sift", "Sift"),
    "le subscribe": ("propagation", "Propagation"),
    "pscan": ("pscan", "PostingScan"),
    "scan with conjunctions": ("conjunction_scan", "ConjunctionScan"),
    "dnf translation": ("dnf_translation", "DnfTranslation"),
    "bop": ("bop", "Bop"),
    "bdd": ("bdd", "Bdd"),
}


def baseline_class(name: str) -> Any:
    """The baseline of that name, its module loaded now."""
    module, class_name = PLACES[name]
    return getattr(import_module(f".{module}", __package__), class_name)
