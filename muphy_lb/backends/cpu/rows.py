"""Rows of WARP consecutive elements as single LLVM vectors, which become as many vector registers as the CPU needs.
Loops with fixed trip counts would be unrolled into scalar moves before LLVM vectorises."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from muphy_lb.domain import WARP

CACHE_LINE = 64

_INT32 = ir.IntType(32)


def _row_pointer(context, builder, array_type, array, index):
    """Pointer to ``array[index : index + WARP]``, and the type of the row."""
    data = context.make_array(array_type)(context, builder, array).data
    row = ir.VectorType(context.get_data_type(array_type.dtype), WARP)
    return builder.bitcast(builder.gep(data, [index]), row.as_pointer()), row


def _element_bytes(array_type):
    return array_type.dtype.bitwidth // 8


def _call_masked(builder, name, array_type, result, arguments):
    """Call ``llvm.masked.load`` or ``llvm.masked.store`` for a row."""
    full_name = f"llvm.masked.{name}.v{WARP}f{array_type.dtype.bitwidth}.p0"
    function_type = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, function_type, full_name), arguments)


def _move(context, builder, signature, arguments, align):
    """Load and store a row; returns the store instruction, whose target is aligned to ``align`` bytes."""
    to, i, origin, j = arguments
    pointer, _ = _row_pointer(context, builder, signature.args[2], origin, j)
    row = builder.load(pointer, align=_element_bytes(signature.args[2]))
    pointer, _ = _row_pointer(context, builder, signature.args[0], to, i)
    return builder.store(row, pointer, align=align)


@intrinsic
def move_row(typingctx, target, i, source, j):
    """``target[i + lane] = source[j + lane]`` for all lanes."""

    def codegen(context, builder, signature, arguments):
        _move(context, builder, signature, arguments, _element_bytes(signature.args[0]))
        return context.get_dummy_value()

    return types.void(target, i, source, j), codegen


def _mask(context, builder, bits):
    """A vector of conditions from the bits of a word. A cast of the word takes it apart bit by bit where there is no
    AVX-512."""
    _, _, features = context.codegen().magic_tuple()
    if "+avx512bw" in features:
        return builder.bitcast(bits, ir.VectorType(ir.IntType(1), WARP))
    lanes = ir.VectorType(_INT32, WARP)
    one_each = builder.insert_element(ir.Constant(lanes, ir.Undefined), bits, ir.Constant(_INT32, 0))
    everywhere = builder.shuffle_vector(one_each, ir.Constant(lanes, ir.Undefined), ir.Constant(lanes, [0] * WARP))
    own = builder.and_(everywhere, ir.Constant(lanes, [1 << lane for lane in range(WARP)]))
    return builder.icmp_unsigned("!=", own, ir.Constant(lanes, [0] * WARP))


@intrinsic
def move_lanes(typingctx, target, i, source, j, lanes):
    """``target[i + lane] = source[j + lane]`` for the lanes whose bit is set; other elements are unchanged."""

    def codegen(context, builder, signature, arguments):
        to, i, origin, j, bits = arguments
        mask = _mask(context, builder, bits)
        align = ir.Constant(_INT32, _element_bytes(signature.args[0]))
        pointer, row = _row_pointer(context, builder, signature.args[2], origin, j)
        loaded = [pointer, align, mask, ir.Constant(row, ir.Undefined)]
        value = _call_masked(builder, "load", signature.args[2], row, loaded)
        pointer, _ = _row_pointer(context, builder, signature.args[0], to, i)
        _call_masked(builder, "store", signature.args[0], ir.VoidType(), [value, pointer, align, mask])
        return context.get_dummy_value()

    return types.void(target, i, source, j, types.uint32), codegen


@intrinsic
def merge_lanes(typingctx, target, i, source, j, lanes):
    """The same for a target of one thread: other elements are stored as they are, since masked stores are slow on some
    CPUs."""

    def codegen(context, builder, signature, arguments):
        to, i, origin, j, bits = arguments
        align = _element_bytes(signature.args[0])
        target, row = _row_pointer(context, builder, signature.args[0], to, i)
        pointer, _ = _row_pointer(context, builder, signature.args[2], origin, j)
        loaded = [pointer, ir.Constant(_INT32, align), _mask(context, builder, bits), builder.load(target, align=align)]
        builder.store(_call_masked(builder, "load", signature.args[2], row, loaded), target, align=align)
        return context.get_dummy_value()

    return types.void(target, i, source, j, types.uint32), codegen


@intrinsic
def stream_row(typingctx, target, i, source, j):
    """:func:`move_row` with a non-temporal store; ``target[i]`` must start a cache line. Other threads see the values
    only after :func:`fence`."""

    def codegen(context, builder, signature, arguments):
        store = _move(context, builder, signature, arguments, CACHE_LINE)
        store.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(_INT32, 1)]))
        return context.get_dummy_value()

    return types.void(target, i, source, j), codegen


@intrinsic
def fence(typingctx):
    """Memory fence: everything stored before is visible to other threads."""

    def codegen(context, builder, signature, arguments):
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def prefetch_row(typingctx, source, j):
    """Prefetch ``source[j : j + WARP]`` into the second-level cache; harmless outside the array."""

    def codegen(context, builder, signature, arguments):
        row, _ = _row_pointer(context, builder, signature.args[0], *arguments)
        bytes_, size = ir.IntType(8).as_pointer(), WARP * _element_bytes(signature.args[0])
        function_type = ir.FunctionType(ir.VoidType(), [bytes_, _INT32, _INT32, _INT32])
        prefetch = cgutils.get_or_insert_function(builder.module, function_type, "llvm.prefetch.p0")
        read, second_cache, data = (ir.Constant(_INT32, value) for value in (0, 2, 1))
        for offset in range(0, size, CACHE_LINE):
            line = builder.gep(builder.bitcast(row, bytes_), [ir.Constant(ir.IntType(64), offset)])
            builder.call(prefetch, [line, read, second_cache, data])
        return context.get_dummy_value()

    return types.void(source, j), codegen


@intrinsic
def count_bits(typingctx, bits):
    """Number of bits that are set."""

    def codegen(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return bits(bits), codegen
