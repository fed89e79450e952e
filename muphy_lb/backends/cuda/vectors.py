"""Instructions that Numba has no name for: a load of four words at once, and a store of two halves in one word.

In the CUDA simulator they are plain Python.
"""

import numpy as np
from llvmlite import ir
from numba import types

from muphy_lb.backends.cuda.device import SIMULATOR, intrinsic

N_WORDS = 4
WORD = ir.IntType(32)


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


def _pack_halves(typing_context, low, high):
    """Two single-precision numbers, rounded to half precision, as one word."""
    signature = types.uint32(types.float32, types.float32)

    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(WORD, [ir.FloatType(), ir.FloatType()])
        return builder.asm(kind, "cvt.rn.f16x2.f32 $0, $2, $1;", "=r,f,f", arguments, False)

    return signature, generate


def _load_words_in_python(array, index):
    return tuple(array[index + np.uint64(k)] for k in range(N_WORDS))


def _pack_halves_in_python(low, high):
    return np.array([low, high], dtype=np.float16).view(np.uint32)[0]


load_words = _load_words_in_python if SIMULATOR else intrinsic(_load_words)
pack_halves = _pack_halves_in_python if SIMULATOR else intrinsic(_pack_halves)
