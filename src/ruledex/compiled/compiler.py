"""Compile kernels by Numba: what needs Numba's import, and nothing else.

A kernel is compiled when it is first called with arguments of a shape. Its code goes to the cache folder under the
kernel's digest (digest.py); processes that want the same kernel wait for the one that compiles it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numba
from llvmlite.binding import ffi as llvm_ffi  # type: ignore[import-untyped]
from numba import extending, types
from numba.core import caching, cgutils
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import typeof_impl
from numba.np.arrayobj import populate_array

from ruledex.compiled.bits import eight_bytes, lowest_bit, n_bits, prefetch, swapped_bytes
from ruledex.compiled.cache import LOG, cache_report, count_failures, key_of, locked, ready_list
from ruledex.compiled.decorator import Kernel
from ruledex.compiled.digest import UndescribedError, digest_of, shape_of
from ruledex.compiled.handles import bytes_at, int32_at, int64_at, scratch32_at, scratch64_at, words_at
from ruledex.forks import ForkSafeLock

FORK_SECONDS = 60.0  # the longest that a fork waits for a compilation to end

_compile_lock = ForkSafeLock(reentrant=True)
_compiling: list[Kernel] = []  # by the holder of that lock: a kernel, what it calls, and so on
_dispatcher_lock = ForkSafeLock(reentrant=True)


def dispatcher_of(kernel: Kernel) -> Any:
    """Return Numba's dispatcher of a kernel, which loads, compiles and calls its code."""
    if kernel.dispatcher is None:
        with _dispatcher_lock:
            if kernel.dispatcher is None:
                kernel.dispatcher = _inlined(kernel) if kernel.is_inlined else _dispatcher(kernel)
    return kernel.dispatcher


def compile_call(kernel: Kernel, arguments: tuple[Any, ...]) -> None:
    """Compile a kernel for arguments of these types, or load its code, without calling it."""
    dispatcher_of(kernel)._ruledex_compile(*arguments)
    note_ready(kernel, arguments)


def note_ready(kernel: Kernel, arguments: tuple[Any, ...]) -> None:
    """Note for other processes that the code for this call is kept."""
    with suppress(UndescribedError):
        ready_list.add(key_of(digest_of(kernel), shape_of(arguments)))


def _inlined(kernel: Kernel) -> Any:
    return numba.njit(nogil=True, forceinline=True)(kernel.function)


def _dispatcher(kernel: Kernel) -> Any:
    from ruledex.compiled.scheduler import scheduler

    dispatcher: Any = numba.njit(nogil=True)(kernel.function)
    compile_signature = dispatcher.compile
    compile_for_arguments = dispatcher._compile_for_args
    folder = cache_report().folder
    if folder is None:
        count_failures(n_uncached=1)

    def compile_alone(signature: Any) -> Any:
        if folder is None:
            return compile_signature(signature)
        with _compile_lock, _alone(kernel):
            if not dispatcher.overloads:
                _keep(dispatcher)  # not earlier: what the kernel calls may stand below it in its module
            try:
                return compile_signature(signature)
            except OSError as error:
                # The kernel is compiled, but the disk is full or has become read-only.
                LOG.warning("the kernel %s cannot be kept: %s", kernel.function.__qualname__, error)
                count_failures(n_uncached=1)
                dispatcher._cache.disable()
                return compile_signature(signature)

    def choose(*arguments: Any) -> Any:
        """Return what the call of a new shape runs: compiled code, or the plain form."""
        chosen = scheduler.choose(kernel, arguments)
        if chosen is not None:
            return chosen
        code = compile_for_arguments(*arguments)
        note_ready(kernel, arguments)
        return code

    dispatcher.compile = compile_alone
    dispatcher._compile_for_args = choose
    dispatcher._ruledex_compile = compile_for_arguments
    return dispatcher


@typeof_impl.register(Kernel)
def _type_of_kernel(kernel: Kernel, _context: Any) -> Any:
    """Let Numba see a kernel that another one calls as the dispatcher that it stands for."""
    return types.Dispatcher(dispatcher_of(kernel))


@contextmanager
def _alone(kernel: Kernel) -> Iterator[None]:
    """Hold the kernel's lock on this host. A kernel that calls itself has it already."""
    if kernel in _compiling:
        yield
        return
    name = f"{kernel.function.__qualname__}-{digest_of(kernel)[:16]}".replace("<", "").replace(">", "")
    with locked(name):
        _compiling.append(kernel)
        try:
            yield
        finally:
            _compiling.pop()


class _Locator(caching._CacheLocator):
    """Tells Numba where a function's code lies and whether it is fresh, by the function's digest.

    Numba itself looks only at the file of the function, and would go on using code into which an older version of
    another file's kernel was inlined.
    """

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self.function = function
        self.folder = folder
        self.digest = digest_of(function)

    def get_cache_path(self) -> str:
        return str(self.folder)

    def get_source_stamp(self) -> str:
        return self.digest

    def get_disambiguator(self) -> str:
        # The name of the file is part of an entry's name. Its folder is not, and may differ from process to process:
        # a cluster unpacks the same archive to a new place for each job. The digest keeps apart what several versions
        # of ruledex leave in one folder: Numba reads an entry before it looks at its stamp, and fails where an entry
        # names a class that is gone.
        return f"{self.function.__module__}-{self.digest[:16]}"

    @classmethod
    def from_function(cls, function: Callable[..., Any], _file: str) -> _Locator | None:
        folder = cache_report().folder
        return cls(function, folder) if folder else None


def _keep(dispatcher: Any) -> None:
    """Let Numba load and save the kernel's code, if this version of Numba lets the folder be chosen."""
    numbas_own = caching.CacheImpl._locator_classes
    caching.CacheImpl._locator_classes = [_Locator]
    try:
        dispatcher.enable_caching()
    except (RuntimeError, OSError, AttributeError) as error:
        LOG.warning("the kernel %s cannot be kept: %s", dispatcher.__qualname__, error)
        count_failures(n_uncached=1)
    finally:
        caching.CacheImpl._locator_classes = numbas_own


# A fork waits for a running compilation, since the locks of LLVM cannot be made anew in the child.


def _before_fork() -> None:
    _held_for_fork.extend(lock for lock in _compilers_locks() if lock.acquire(timeout=FORK_SECONDS))


def _after_fork() -> None:
    while _held_for_fork:
        _held_for_fork.pop().release()


def _compilers_locks() -> list[Any]:
    """Return the locks of Numba's compiler and of LLVM, in the order in which a compilation takes them."""
    holders = (global_compiler_lock, getattr(llvm_ffi.lib, "_lock", None))
    locks = [getattr(holder, "_lock", None) for holder in holders]
    return [lock for lock in locks if hasattr(lock, "acquire")]


_held_for_fork: list[Any] = []

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


Decorators = Callable[..., Callable[[Callable[..., Any]], Callable[..., Any]]]
lower_builtin: Decorators = extending.lower_builtin
type_callable: Decorators = extending.type_callable
ir: Any = vars(cgutils)["ir"]  # the llvmlite that Numba itself uses


@type_callable(lowest_bit)
def _type_lowest_bit(_context: Any) -> Any:
    return lambda _word: types.int64(types.uint64)


@lower_builtin(lowest_bit, types.uint64)
def _lowest_bit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))


@type_callable(n_bits)
def _type_n_bits(_context: Any) -> Any:
    return lambda _word: types.int64(types.uint64)


@lower_builtin(n_bits, types.uint64)
def _n_bits(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    return builder.ctpop(arguments[0])


@type_callable(eight_bytes)
def _type_eight_bytes(_context: Any) -> Any:
    return lambda data, _index: types.uint64(data, types.uint64)


@lower_builtin(eight_bytes, types.Array, types.uint64)
def _eight_bytes(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    view = context.make_array(signature.args[0])(context, builder, arguments[0])
    place = builder.bitcast(builder.gep(view.data, [arguments[1]]), ir.IntType(64).as_pointer())
    return builder.load(place, align=1)


@type_callable(swapped_bytes)
def _type_swapped_bytes(_context: Any) -> Any:
    return lambda _word: types.uint64(types.uint64)


@lower_builtin(swapped_bytes, types.uint64)
def _swapped_bytes(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    return builder.bswap(arguments[0])


@type_callable(prefetch)
def _type_prefetch(_context: Any) -> Any:
    return lambda array, _index: types.void(array, types.intp)


@lower_builtin(prefetch, types.Array, types.intp)
def _prefetch(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    view = context.make_array(signature.args[0])(context, builder, arguments[0])
    place = builder.gep(view.data, [arguments[1]])
    byte = ir.IntType(8).as_pointer()
    flag = ir.IntType(32)
    function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
        builder.module,
        ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag]),
        "llvm.prefetch.p0i8",
    )
    hint = [ir.Constant(flag, value) for value in (0, 3, 1)]  # to read, keep in all caches, data
    builder.call(function, [builder.bitcast(place, byte), *hint])
    return context.get_dummy_value()


def _lower_array_at(function: Any, element: Any, *, writable: bool) -> None:
    """Let a function of handles.py return a view of the memory that an entry of the table names."""
    array_type = types.Array(element, 1, "C", readonly=not writable)

    @type_callable(function)
    def _type_array_at(_context: Any) -> Any:
        return lambda _handle, _number: array_type(types.int64, types.int64)

    @lower_builtin(function, types.int64, types.int64)
    def _array_at(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        handle, number = arguments
        word = ir.IntType(64)
        table = builder.inttoptr(handle, word.as_pointer())
        entry = builder.shl(number, ir.Constant(word, 1))
        address = builder.load(builder.gep(table, [entry]))
        length = builder.load(builder.gep(table, [builder.add(entry, ir.Constant(word, 1))]))
        view = context.make_array(array_type)(context, builder)
        size = ir.Constant(word, element.bitwidth // 8)
        data = builder.inttoptr(address, context.get_data_type(element).as_pointer())
        populate_array(view, data=data, shape=[length], strides=[size], itemsize=size, meminfo=None)  # type: ignore[no-untyped-call]
        return view._getvalue()


_lower_array_at(int32_at, types.int32, writable=False)
_lower_array_at(int64_at, types.int64, writable=False)
_lower_array_at(bytes_at, types.uint8, writable=False)
_lower_array_at(scratch32_at, types.int32, writable=True)
_lower_array_at(scratch64_at, types.int64, writable=True)
_lower_array_at(words_at, types.uint64, writable=True)
