"""What the functions of bits.py compile to: one instruction of the processor each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import extending, types
from numba.core import cgutils

from ruledex.compiled.bits import lowest_bit, n_bits, prefetch

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
