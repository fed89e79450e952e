"""The arithmetic peak of a device in single precision, measured: the reference for kernels that arithmetic bounds."""

import time

import numpy as np

from muphy_lb.backends import make_backend
from muphy_lb.base.precision import FP32
from muphy_lb.bench.papers.table1 import Kernels, KernelVariant, box_addresses
from muphy_lb.bench.stream import Effort
from muphy_lb.lattice import lattice_named
from muphy_lb.operators import Operator
from muphy_lb.operators.unroll import unroll

BOX, ROUNDS, EFFORT = (64, 64, 64), 2048, Effort(32, 3)
MATRIX, PRODUCTS = 2048, 4
FACTOR, TERM = 0.999, 1e-3


def peak_gflops(backend_name: str) -> float:
    """Largest rate of floating-point operations [Gflop/s]. On a GPU ``ROUNDS`` multiplications and as many additions of
    every population of a node, which stay in registers; on the host a product of matrices by its BLAS."""
    lattice = lattice_named("D3Q19")
    backend = make_backend(backend_name, lattice, FP32)
    if backend.on_host:
        return _host_gflops()
    kernels = Kernels(backend, box_addresses(BOX, lattice))
    seconds = kernels.seconds_per_launch(KernelVariant("multiply-adds", True, False, MULTIPLY_ADDS), EFFORT)
    return 2e-9 * ROUNDS * lattice.q * np.prod(BOX) / seconds


def _host_gflops() -> float:
    a, b = (np.random.default_rng(k).random((MATRIX, MATRIX), dtype=np.float32) for k in (0, 1))
    return 2e-9 * MATRIX**3 / min(_seconds(a, b) for _ in range(PRODUCTS))


def _seconds(a, b) -> float:
    start = time.perf_counter()
    np.matmul(a, b)
    return time.perf_counter() - start


def _multiplied(f, n, lattice, parameters):
    for _ in range(ROUNDS):
        f = FACTOR * f + TERM
    return f


def _multiply(lattice, precision, jit, at):
    q_count, factor, term, rounds = lattice.q, precision.real(FACTOR), precision.real(TERM), ROUNDS

    def once(f):
        for q in range(q_count):
            f[q] = factor * f[q] + term

    each = jit(unroll(once))

    @jit
    def multiply(f, n, parameters):
        for _ in range(rounds):
            each(f)

    return multiply


MULTIPLY_ADDS = Operator("multiply-adds", _multiplied, _multiply)
