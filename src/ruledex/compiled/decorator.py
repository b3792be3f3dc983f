"""Declare kernels: `jit` and `inlined` make a `Kernel` of a Python function.

A kernel is a Python function first. Calling it runs the form that the scheduler (scheduler.py) has chosen: the plain
form, which is Python all the way down, or the compiled code (compiler.py). Its name stays bound to the same object;
what changes is the function inside, so a call costs nothing more once compiled code is in use.

The plain form is the same code, whose calls of other kernels go to their plain forms. Compiled code differs from Python
in what it returns: an integer of any width comes back as a Python int. `unboxed` does the same to what a plain form
returns.

No module of kernels imports Numba: it takes 0.4 s, and small work is done before that.

With `NUMBA_DISABLE_JIT=1` a kernel stays the plain Python function that it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial, update_wrapper
from types import CellType, CodeType, FunctionType
from typing import Any, ParamSpec, TypeVar, cast
from weakref import WeakSet

import numpy as np

from ruledex.forks import ForkSafeLock

P = ParamSpec("P")
R = TypeVar("R")

IS_DISABLED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


class Kernel(partial[Any]):
    """A Python function that can be compiled. What a call runs is the `func` of this partial function."""

    function: Any  # the FunctionType; a type checker would take it for a method
    is_inlined: bool  # compiled into each caller; called from Python, it runs its plain form
    plain: Any  # the FunctionType of its form for Python, once it has been called
    dispatcher: Any  # Numba's, once compiled code is wanted
    n_plain_calls: int
    last_shape: str  # of a recent call of the plain form; empty if it cannot be described
    look_at: float  # when to look again whether its code is ready

    def __new__(cls, function: Callable[..., Any], is_inlined: bool = False) -> Kernel:
        """Make a kernel that asks the scheduler when it is first called."""
        made = super().__new__(cls, function)
        update_wrapper(made, function)
        made.function = function
        made.is_inlined = is_inlined
        made.plain = made.dispatcher = None
        made.n_plain_calls, made.last_shape, made.look_at = 0, "", 0.0
        KERNELS.add(made)
        made.run_by(_first_call, made)
        return made

    def run_by(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Let calls go to `function`, with these arguments before their own.

        The caller keeps both alive: a thread may be calling the function that is replaced.
        """
        self.__setstate__((function, arguments, {}, self.__dict__))  # type: ignore[attr-defined]

    def __reduce__(self) -> str:
        name: str = self.function.__qualname__
        return name


KERNELS: WeakSet[Kernel] = WeakSet()


def jit(function: Callable[P, R]) -> Callable[P, R]:
    """Make a kernel that runs without the GIL once it is compiled, and whose code is kept for later processes."""
    return function if IS_DISABLED else cast("Callable[P, R]", Kernel(function))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Make a kernel that is compiled into each kernel that calls it, as often as it is called.

    Use it for what is called once per node or more often: an array is seven arguments of a machine's call, and a kernel
    that passes on ten of them spends more time on that than on its work.
    """
    return function if IS_DISABLED else cast("Callable[P, R]", Kernel(function, is_inlined=True))


def _first_call(kernel: Kernel, *arguments: Any) -> Any:
    from ruledex.compiled.scheduler import scheduler

    if kernel.is_inlined:  # it has no code of its own
        kernel.run_by(plain_form(kernel))
    else:
        scheduler.adopt(kernel)
    return kernel(*arguments)


_plain_lock = ForkSafeLock()


def plain_form(kernel: Kernel) -> Any:
    """Return the kernel's function, with plain forms in place of the kernels that it names."""
    if kernel.plain is None:
        with _plain_lock:
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
