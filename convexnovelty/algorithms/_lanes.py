"""Vectors of float64 in the registers of the processor, for compiled loops that a compiler does not vectorise well.

LANES numbers are added, multiplied and exponentiated at once. LLVM spells each operation for the processor at hand (one
AVX-512 instruction, two of AVX2 or four of NEON), so that nothing here is written for one machine. Indices are
trusted: unlike NumPy's, they may not be negative, which is what keeps address arithmetic out of the inner loops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding  # type: ignore[import-untyped, unused-ignore]
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

__all__ = [
    "LANES",
    "add",
    "exp2",
    "fused",
    "greater",
    "load",
    "multiply",
    "quotient",
    "splat",
    "spread",
    "store",
    "subtract",
]

# Eight numbers fill a register of AVX-512; elsewhere four keep the twelve sums of the inner loop in registers.
LANES = 8 if llvmlite.binding.get_host_cpu_features().get("avx512f") else 4


def _operation(function: Callable[..., Any]) -> Callable[..., Any]:
    """numba's ``intrinsic``: the first argument is the compiler's, and compiled code calls it with the others."""
    operation: Callable[..., Any] = intrinsic(function)
    return operation


class _Lanes(types.Type):  # type: ignore[misc, unused-ignore]
    """The type of such a vector, as numba sees it."""

    def __init__(self) -> None:
        super().__init__(name=f"float64x{LANES}")


_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_INTEGERS = ir.VectorType(ir.IntType(64), LANES)
_lanes = _Lanes()


@register_model(_Lanes)
class _Model(models.PrimitiveModel):  # type: ignore[misc, unused-ignore]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)  # type: ignore[no-untyped-call, unused-ignore]


def _repeat(builder: Any, value: Any) -> Any:
    undefined = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


def _constant(value: float) -> Any:
    return ir.Constant(_VECTOR, [value] * LANES)


def _fused(builder: Any, x: Any, y: Any, z: Any) -> Any:
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
    name = f"llvm.fma.v{LANES}f64"
    return builder.call(
        cgutils.get_or_insert_function(builder.module, kind, name),  # type: ignore[no-untyped-call, unused-ignore]
        [x, y, z],
    )


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [index])


@_operation
def load(typing: Any, array: Any, index: Any) -> Any:
    """array[index : index + LANES], for a contiguous array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[0], *arguments)
        value = builder.load(builder.bitcast(address, _VECTOR.as_pointer()))
        value.align = 8
        return value

    return _lanes(array, types.intp), generate


@_operation
def store(typing: Any, array: Any, index: Any, value: Any) -> Any:
    """array[index : index + LANES] = value."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], builder.bitcast(address, _VECTOR.as_pointer())).align = 8
        return context.get_dummy_value()

    return types.void(array, types.intp, value), generate


@_operation
def spread(typing: Any, array: Any, index: Any) -> Any:
    """array[index] in every lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _repeat(builder, builder.load(_address(context, builder, signature.args[0], *arguments)))

    return _lanes(array, types.intp), generate


@_operation
def splat(typing: Any, value: Any) -> Any:
    """The number ``value`` in every lane."""
    return _lanes(types.float64), lambda context, builder, signature, arguments: _repeat(builder, arguments[0])


@_operation
def add(typing: Any, x: Any, y: Any) -> Any:
    """x + y."""
    return _lanes(x, y), lambda context, builder, signature, arguments: builder.fadd(*arguments)


@_operation
def subtract(typing: Any, x: Any, y: Any) -> Any:
    """x - y."""
    return _lanes(x, y), lambda context, builder, signature, arguments: builder.fsub(*arguments)


@_operation
def multiply(typing: Any, x: Any, y: Any) -> Any:
    """x y."""
    return _lanes(x, y), lambda context, builder, signature, arguments: builder.fmul(*arguments)


@_operation
def quotient(typing: Any, x: Any, y: Any) -> Any:
    """x / y."""
    return _lanes(x, y), lambda context, builder, signature, arguments: builder.fdiv(*arguments)


@_operation
def fused(typing: Any, x: Any, y: Any, z: Any) -> Any:
    """x y + z, rounded once."""
    return _lanes(x, y, z), lambda context, builder, signature, arguments: _fused(builder, *arguments)


@_operation
def greater(typing: Any, x: Any, y: Any, yes: Any, no: Any) -> Any:
    """In each lane ``yes`` where x > y, else ``no``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, y, yes, no = arguments
        return builder.select(builder.fcmp_ordered(">", x, y), yes, no)

    return _lanes(x, y, yes, no), generate


# Minimax polynomial of 2^r on [-1/2, 1/2], constant term first; relative error 2.2e-16.
_POWER_OF_TWO = (
    1.0,
    0.69314718055995,
    0.24022650695910097,
    0.05550410866444772,
    0.009618129107606888,
    0.0013333558230164974,
    0.0001540353044173605,
    1.5252657260200837e-05,
    1.321544258792169e-06,
    1.0208690299958306e-07,
    7.072585949269223e-09,
)
# Adding this number leaves the nearest integer of a small x in the lowest bits of the sum.
_ROUNDING = 1.5 * 2.0**52
_LEAST = -1020.0  # below, 2^x is 1e-308 here and has no bits left for the exponent


@_operation
def exp2(typing: Any, x: Any) -> Any:
    """2^x for x <= 1000, to 4e-16 of itself; x is cut off at -1020, so that the value is never below 1e-307."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, least, rounding = arguments[0], _constant(_LEAST), _constant(_ROUNDING)
        x = builder.select(builder.fcmp_ordered(">", x, least), x, least)
        shifted = builder.fadd(x, rounding)
        r = builder.fsub(x, builder.fsub(shifted, rounding))
        power = _constant(_POWER_OF_TWO[-1])
        for coefficient in reversed(_POWER_OF_TWO[:-1]):
            power = _fused(builder, power, r, _constant(coefficient))
        # The integer part goes into the exponent bits, which start at bit 52.
        exponent = builder.shl(builder.bitcast(shifted, _INTEGERS), ir.Constant(_INTEGERS, [52] * LANES))
        return builder.bitcast(builder.add(builder.bitcast(power, _INTEGERS), exponent), _VECTOR)

    return _lanes(x), generate
