"""Single instructions of the processor that Python lacks: the lowest set bit, the number of set bits, a prefetch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import Signature
from numba.extending import intrinsic
from numpy.typing import NDArray

from ruledex.compiled.decorator import config

ir: Any = vars(cgutils)["ir"]  # the llvmlite that Numba itself uses

ONE = np.uint64(1)
ZERO = np.uint64(0)
SIX = np.uint64(6)  # a word has 2**6 bits
LOW_SIX = np.uint64(63)


def _lowest_bit(word: np.uint64) -> int:
    return (int(word) & -int(word)).bit_length() - 1


def _n_bits(word: np.uint64) -> int:
    return int(word).bit_count()


def _prefetch(array: NDArray[Any], index: int | np.integer[Any]) -> None:
    """Do nothing: a hint changes no result."""


if config.DISABLE_JIT:
    lowest_bit, n_bits, prefetch = _lowest_bit, _n_bits, _prefetch
else:

    @intrinsic
    def lowest_bit(_context: Any, _word: Any) -> tuple[Signature, Any]:
        """Return the place of the lowest set bit of a word that is not 0."""

        def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

        return types.int64(types.uint64), generate

    @intrinsic
    def n_bits(_context: Any, _word: Any) -> tuple[Signature, Any]:
        """Return the number of set bits of a word."""

        def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.int64(types.uint64), generate

    @intrinsic
    def prefetch(_context: Any, array: Any, _index: Any) -> tuple[Signature, Any]:
        """Ask for the cache line of `array[index]` (one dimension). The index may lie outside the array."""

        def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            view = target.make_array(signature.args[0])(target, builder, arguments[0])
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
            return target.get_dummy_value()

        return types.void(array, types.intp), generate
