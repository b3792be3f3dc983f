"""Declare kernels: `jit` and `inlined` make a `Kernel` of a Python function.

A kernel is a Python function first. Calling it runs the form that the scheduler (scheduler.py) has chosen: the plain
form, which is Python all the way down (plain.py), or the compiled code (compiler.py). Its name stays bound to the same
object; what changes is the function inside, so a call costs nothing more once compiled code is in use.

No module of kernels imports Numba: it takes 0.4 s, and small work is done before that.

With `NUMBA_DISABLE_JIT=1` a kernel stays the plain Python function that it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any, ParamSpec, TypeVar, cast
from weakref import WeakSet

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
    from ruledex.compiled.plain import plain_form
    from ruledex.compiled.scheduler import scheduler

    if kernel.is_inlined:  # it has no code of its own
        kernel.run_by(plain_form(kernel))
    else:
        scheduler.adopt(kernel)
    return kernel(*arguments)
