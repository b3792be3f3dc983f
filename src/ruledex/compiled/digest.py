"""Compute what compiled code is known by: the digest of its kernel, and the shape of the call that it was compiled for.

The digest is a hash over everything that compiled code is made from: the kernel's own code, the code of every kernel
that it calls, however deep, and the values of the globals that any of them reads: a constant is compiled in, wherever
it was imported from. The named tuples that it takes are known by module and name, because cached code refers to them
so. Other files, folders and line numbers are not part of it, so code moves between modules and comments change without
being compiled anew.

The shape of a call is the types of its arguments, as text that another process can read. Numba compiles a kernel once
per shape. The text is made without Numba, and `example_of` makes arguments of the same types, from which Numba tells
them in the process that compiles.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import version
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ruledex.compiled import bits, handles
from ruledex.compiled.decorator import Kernel, code_names

# Raise this when the intrinsics of compiler.py change: what the functions of bits.py and handles.py compile to is not
# in their code.
INSTRUCTIONS = 1
_PYTHON = {"bool": False, "int": 0, "float": 0.0, "NoneType": None}


def digest_of(kernel: Kernel | Callable[..., Any]) -> str:
    """Return the digest of a kernel or of its function, in hexadecimal."""
    return _digest(kernel.function if isinstance(kernel, Kernel) else kernel)


@cache
def _digest(function: FunctionType) -> str:
    digest = hashlib.sha256()
    seen: set[int] = set()
    pending = [function]
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        digest.update(repr(_code_parts(current.__code__, current.__doc__)).encode())
        for argument in _argument_classes(current):
            digest.update(f"takes {argument}\n".encode())
        for name, value in _globals_of(current):
            if callee := _kernel_in(value):
                # Cached code refers to a callee by its module too, and fails where the callee has moved.
                digest.update(f"{name} is {callee.__module__}.{callee.__qualname__}\n".encode())
                if callee.__module__ in (bits.__name__, handles.__name__):
                    digest.update(f"instructions {INSTRUCTIONS}\n".encode())
                pending.append(callee)
            else:
                digest.update(f"{name} = {_text_of(value)}\n".encode())
    digest.update(repr(_environment()).encode())
    return digest.hexdigest()


@cache
def _environment() -> tuple[str, ...]:
    return platform.python_version(), version("numba"), np.__version__


def _argument_classes(function: FunctionType) -> Iterator[str]:
    """Yield the named tuples that a kernel takes: cached code refers to them by module and name, and fails without."""
    for annotation in function.__annotations__.values():
        found = function.__globals__.get(annotation) if isinstance(annotation, str) else annotation
        if isinstance(found, type) and issubclass(found, tuple) and hasattr(found, "_fields"):
            yield f"{found.__module__}.{found.__qualname__} {found._fields}"


def _kernel_in(value: Any) -> FunctionType | None:
    """Return the function that a global is, if its code is compiled into its callers; else None."""
    if isinstance(value, Kernel):
        found: FunctionType = value.function
        return found
    is_ours = isinstance(value, FunctionType) and value.__module__.partition(".")[0] != "numpy"
    return value if is_ours else None


def _code_parts(code: CodeType, docstring: str | None = None) -> tuple[Any, ...]:
    """Return what a code object does, without its place in a file and its docstring."""
    own = [None if item is docstring else item for item in code.co_consts]
    constants = [_code_parts(item) if isinstance(item, CodeType) else repr(item) for item in own]
    return code.co_code, tuple(constants), code.co_names, code.co_varnames, code.co_freevars


def _globals_of(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Return the globals and closed-over values that a function names, sorted by name."""
    found = {name: function.__globals__[name] for name in code_names(function.__code__) if name in function.__globals__}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        found[name] = cell.cell_contents
    return iter(sorted(found.items()))


def _text_of(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array {value.dtype} {value.shape} {hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    if isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
        return f"{value.__name__} {value._fields}"
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, type) or callable(value):
        return getattr(value, "__qualname__", None) or type(value).__qualname__
    return f"{type(value).__qualname__} {value!r}"


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
