"""The shape of a call: the types of its arguments, as text that another process can read.

Numba compiles a kernel once per shape. The text is made without Numba, and `example_of` makes arguments of the same
types, from which Numba tells them in the process that compiles.
"""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import numpy as np

_PYTHON = {"bool": False, "int": 0, "float": 0.0, "NoneType": None}


class UndescribedError(TypeError):
    """An argument has a type that no text describes."""


def shape_of(arguments: tuple[Any, ...]) -> str:
    """Describe the types of a call's arguments. Raises UndescribedError if one of them cannot be described."""
    return json.dumps([_describe(argument) for argument in arguments], separators=(",", ":"))


def example_of(shape: str) -> tuple[Any, ...]:
    """Return arguments of a shape. Arrays have at most two entries per dimension."""
    return tuple(_example(part) for part in json.loads(shape))


def n_elements(arguments: tuple[Any, ...]) -> int:
    """Return how many entries the arrays among the arguments have, those inside tuples included."""
    total = 0
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            total += argument.size
        elif isinstance(argument, tuple):
            total += n_elements(argument)
    return total


def _describe(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        if value.dtype.hasobject or value.dtype.names:
            raise UndescribedError(f"an array of {value.dtype}")
        return ["array", value.dtype.str, value.ndim, layout, flags.writeable, flags.aligned]
    kind = type(value)
    if kind.__name__ in _PYTHON and kind.__module__ == "builtins":
        if kind is int and not -(1 << 63) <= value < 1 << 63:
            raise UndescribedError("an integer of more than 64 bits")
        return kind.__name__
    if isinstance(value, np.generic):
        return ["scalar", value.dtype.str]
    if isinstance(value, tuple):
        parts = [_describe(part) for part in value]
        return ["named", kind.__module__, kind.__qualname__, parts] if hasattr(kind, "_fields") else ["tuple", parts]
    raise UndescribedError(kind.__name__)


def _example(part: Any) -> Any:
    if isinstance(part, str):
        return _PYTHON[part]
    kind, *rest = part
    if kind == "array":
        return _example_array(*rest)
    if kind == "scalar":
        return np.zeros((), rest[0])[()]
    if kind == "tuple":
        return tuple(_example(inner) for inner in rest[0])
    module, name, inners = rest
    found: Any = import_module(module)
    for step in name.split("."):
        found = getattr(found, step)
    return found(*(_example(inner) for inner in inners))


def _example_array(dtype: str, n_dimensions: int, layout: str, writeable: bool, aligned: bool) -> np.ndarray:
    kind = np.dtype(dtype)
    if layout == "A":
        made = np.zeros((4,) * n_dimensions, kind)[(slice(None, None, 2),) * n_dimensions]
    elif aligned:
        made = np.zeros((2,) * n_dimensions, kind, order="F" if layout == "F" else "C")
    else:
        n_bytes = kind.itemsize * 2**n_dimensions
        made = np.zeros(n_bytes + 1, np.uint8)[1:].view(kind).reshape((2,) * n_dimensions)
    made.flags.writeable = writeable
    return made
