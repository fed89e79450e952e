"""Instructions that Numba does not provide: loads and stores of four numbers at once, a conversion of two numbers to
halves in one word, a product that is rounded by itself, a number of unknown origin, and access to the memory of other
GPUs. In the CUDA simulator the last of these do not exist; the others are plain Python."""

import operator

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from muphy_lb.backends.cuda.device import SIMULATOR, intrinsic

N_WORDS = 4
WORD = ir.IntType(32)
LARGEST_ALIGNMENT = 16


def _load_words(typing_context, array, index):
    """``array[index : index + 4]`` of an aligned array of 32-bit words, as a tuple; ``index`` is a multiple of 4."""
    signature = types.UniTuple(types.uint32, N_WORDS)(array, types.uint64)

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        vector = ir.VectorType(WORD, N_WORDS)
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), vector.as_pointer())
        loaded = builder.load(pointer, align=4 * N_WORDS)
        words = [builder.extract_element(loaded, WORD(k)) for k in range(N_WORDS)]
        return context.make_tuple(builder, signature.return_type, words)

    return signature, generate


def _load_four(typing_context, array, index):
    """``array[index : index + 4]`` of numbers, as a tuple; ``index`` is a multiple of 4."""
    signature = types.UniTuple(array.dtype, N_WORDS)(array, types.uint64)

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        vector = ir.VectorType(context.get_value_type(array.dtype), N_WORDS)
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), vector.as_pointer())
        loaded = builder.load(pointer, align=min(array.dtype.bitwidth // 8 * N_WORDS, LARGEST_ALIGNMENT))
        numbers = [builder.extract_element(loaded, WORD(k)) for k in range(N_WORDS)]
        return context.make_tuple(builder, signature.return_type, numbers)

    return signature, generate


def _store_four(typing_context, array, index, numbers):
    """``array[index : index + 4] = numbers`` of an array of such numbers, at once; ``index`` is a multiple of 4."""
    signature = types.void(array, types.uint64, types.UniTuple(array.dtype, N_WORDS))

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        four = ir.Constant(ir.VectorType(context.get_value_type(array.dtype), N_WORDS), ir.Undefined)
        for k in range(N_WORDS):
            four = builder.insert_element(four, builder.extract_value(arguments[2], k), WORD(k))
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), four.type.as_pointer())
        builder.store(four, pointer, align=min(array.dtype.bitwidth // 8 * N_WORDS, LARGEST_ALIGNMENT))
        return context.get_dummy_value()

    return signature, generate


def _opaque(typing_context, number):
    """The number, of which compilers know no longer how it came about. Where it depends on a condition, they may
    compute what follows from it in either branch, and then cannot round a product in there together with a sum behind
    it, as they do in another kernel."""
    suffix, letter = {32: ("f32", "f"), 64: ("f64", "d")}[number.bitwidth]

    def generate(context, builder, signature, arguments):
        kind = context.get_value_type(signature.return_type)
        return builder.asm(
            ir.FunctionType(kind, [kind]), f"mov.{suffix} $0, $1;", f"={letter},{letter}", arguments, False
        )

    return number(number), generate


def _anew(typing_context, n):
    """The number of a node, of which compilers do not know that it is the same: what followed from it is not kept until
    here, but computed again."""

    def generate(context, builder, signature, arguments):
        return builder.asm(ir.FunctionType(WORD, [WORD]), "mov.u32 $0, $1;", "=r,r", arguments, True)

    return types.uint32(types.uint32), generate


def _pack_halves(typing_context, low, high):
    """Two single-precision numbers, rounded to half precision, as one word."""
    signature = types.uint32(types.float32, types.float32)

    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(WORD, [ir.FloatType(), ir.FloatType()])
        return builder.asm(kind, "cvt.rn.f16x2.f32 $0, $2, $1;", "=r,f,f", arguments, False)

    return signature, generate


def _rounded_product(typing_context, a, b):
    """``a * b``, which for two floating-point numbers no compiler rounds together with a sum that it goes into."""
    if not (a == b and isinstance(a, types.Float)):
        signature = typing_context.resolve_function_type(operator.mul, (a, b), {})

        def generate(context, builder, signature, arguments):
            return context.get_function(operator.mul, signature)(builder, arguments)

        return signature, generate
    suffix = {32: "f", 64: "d"}[a.bitwidth]

    def generate_rounded(context, builder, signature, arguments):
        number = context.get_value_type(signature.return_type)
        kind = ir.FunctionType(number, [number, number])
        multiply = cgutils.get_or_insert_function(builder.module, kind, f"llvm.nvvm.mul.rn.{suffix}")
        return builder.call(multiply, arguments)

    return a(a, b), generate_rounded


def _store_to(typing_context, address, value):
    """Store an integer at an address."""
    signature = types.void(types.uint64, value)

    def generate(context, builder, signature, arguments):
        kind = context.get_value_type(signature.args[1])
        builder.store(arguments[1], builder.inttoptr(arguments[0], kind.as_pointer()))
        return context.get_dummy_value()

    return signature, generate


def _store_release(typing_context, address, value):
    """Store a word at an address of any GPU of the machine, after everything that was stored before."""
    signature = types.void(types.uint64, types.uint32)

    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(64), WORD])
        builder.asm(kind, "st.release.sys.global.u32 [$0], $1;", "l,r,~{memory}", arguments, True)
        return context.get_dummy_value()

    return signature, generate


def _load_acquire(typing_context, array, index):
    """``array[index]`` of words that other GPUs store to; what they stored before is visible, too."""
    signature = types.uint32(array, types.uint64)

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.ptrtoint(builder.gep(data, [arguments[1]]), ir.IntType(64))
        kind = ir.FunctionType(WORD, [ir.IntType(64)])
        return builder.asm(kind, "ld.acquire.sys.global.u32 $0, [$1];", "=r,l,~{memory}", [address], True)

    return signature, generate


def _not_in_the_simulator(*_):
    raise NotImplementedError("the simulator has one GPU")


def _load_words_in_python(array, index):
    return tuple(array[index + np.uint64(k)] for k in range(N_WORDS))


def _store_four_in_python(array, index, numbers):
    for k, number in enumerate(numbers):
        array[index + np.uint64(k)] = number


def _pack_halves_in_python(low, high):
    return np.array([low, high], dtype=np.float16).view(np.uint32)[0]


load_four = _load_words_in_python if SIMULATOR else intrinsic(_load_four)
load_words = _load_words_in_python if SIMULATOR else intrinsic(_load_words)
store_four = _store_four_in_python if SIMULATOR else intrinsic(_store_four)
opaque = (lambda number: number) if SIMULATOR else intrinsic(_opaque)
anew = (lambda n: n) if SIMULATOR else intrinsic(_anew)
pack_halves = _pack_halves_in_python if SIMULATOR else intrinsic(_pack_halves)
rounded_product = operator.mul if SIMULATOR else intrinsic(_rounded_product)
store_to = _not_in_the_simulator if SIMULATOR else intrinsic(_store_to)
store_release = _not_in_the_simulator if SIMULATOR else intrinsic(_store_release)
load_acquire = _not_in_the_simulator if SIMULATOR else intrinsic(_load_acquire)
