"""Make the plain form of a kernel: the same code, whose calls of other kernels go to their plain forms.

Compiled code differs from Python in what it returns: an integer of any width comes back as a Python int. `unboxed` does
the same to what a plain form returns.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CellType, CodeType, FunctionType
from typing import Any

import numpy as np

from ruledex.compiled.decorator import Kernel
from ruledex.forks import ForkSafeLock

_lock = ForkSafeLock()


def plain_form(kernel: Kernel) -> Any:
    """Return the kernel's function, with plain forms in place of the kernels that it names."""
    if kernel.plain is None:
        with _lock:
            made: dict[Kernel, FunctionType] = {}
            found = _form(kernel, made)
            for other, form in made.items():  # not earlier: another thread must not run half of them
                other.plain = form
        return found
    return kernel.plain


def _form(kernel: Kernel, made: dict[Kernel, FunctionType]) -> Any:
    if known := kernel.plain or made.get(kernel):
        return known
    function = kernel.function
    names = {"__builtins__": function.__globals__["__builtins__"], "__name__": function.__module__}
    closure = tuple(CellType() for _ in function.__closure__ or ())
    form = FunctionType(function.__code__, names, function.__name__, function.__defaults__, closure or None)
    form.__kwdefaults__ = function.__kwdefaults__
    form.__qualname__ = function.__qualname__
    made[kernel] = form
    for name in code_names(function.__code__):
        if name in function.__globals__:
            names[name] = _plain(function.__globals__[name], made)
    for cell, given in zip(closure, function.__closure__ or (), strict=True):
        cell.cell_contents = _plain(given.cell_contents, made)
    return form


def _plain(value: Any, made: dict[Kernel, FunctionType]) -> Any:
    return _form(value, made) if isinstance(value, Kernel) else value


def code_names(code: CodeType) -> Iterator[str]:
    """Yield the names of globals and attributes in a code object and in those inside it."""
    yield from code.co_names
    for item in code.co_consts:
        if isinstance(item, CodeType):
            yield from code_names(item)


def unboxed(result: Any) -> Any:
    """Return Python's own numbers in place of NumPy's, also in tuples, as compiled code does."""
    if isinstance(result, np.generic):
        return result.item()
    if isinstance(result, tuple):
        parts = [unboxed(part) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    return result
