"""What the functions of bits.py and handles.py compile to: an instruction of the processor, or a view of memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import extending, types
from numba.core import cgutils
from numba.np.arrayobj import populate_array

from ruledex.compiled.bits import eight_bytes, lowest_bit, n_bits, prefetch, swapped_bytes
from ruledex.compiled.handles import bytes_at, int32_at, int64_at, scratch32_at, scratch64_at, words_at

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
