"""One collision by three compilers on a GPU: numba-cuda, its successor numba-cuda-mlir, and NVRTC.

The node function is the package's own each time. For NVRTC it runs once with symbols in place of numbers, and every
operation writes a line of C++: node functions are straight-line code, so the trace is the whole of it, and HIPRTC would
take the same text. The kernel is bare: rows of populations, a 32-bit address for each but the one at rest.

Run: python benchmarks/compilers.py [numba|mlir|nvrtc|text] [trt|mrt] [edge of the periodic box]
"""

import itertools
import sys
import time

import numpy as np

from muphy_lb.base.precision import PRECISIONS
from muphy_lb.lattice import LATTICES
from muphy_lb.operators import RELAXATIONS
from muphy_lb.operators.collision import collision
from muphy_lb.operators.operator import positions
from muphy_lb.operators.unroll import unroll

LATTICE, PRECISION, BLOCK, STEPS = LATTICES["D3Q19"], PRECISIONS["fp32"], 256, 100
Q = LATTICE.q
VALUES = {"omega": 1.7, "magic": 3 / 16, "force_x": 1e-5}


class Symbol:
    """A number of a node function; operations append lines to ``lines``."""

    __array_ufunc__ = None  # NumPy's scalars leave products with symbols to these
    lines: list[str] = []

    def __init__(self, text: str):
        self.text = text

    @classmethod
    def named(cls, text: str) -> "Symbol":
        """The value of an expression, in a variable of its own."""
        name = f"t{len(cls.lines)}"
        cls.lines.append(f"const float {name} = {text};")
        return cls(name)

    def __neg__(self):
        return self.named(f"-{self.text}")


def written(number) -> str:
    """A symbol or a number in C++."""
    return number.text if isinstance(number, Symbol) else f"{float(number)!r}f"


for _name, _sign in {"add": "+", "sub": "-", "mul": "*", "truediv": "/"}.items():

    def _forward(self, other, sign=_sign):
        return self.named(f"{written(self)} {sign} {written(other)}")

    def _reflected(self, other, sign=_sign):
        return self.named(f"{written(other)} {sign} {written(self)}")

    setattr(Symbol, f"__{_name}__", _forward)
    setattr(Symbol, f"__r{_name}__", _reflected)


def traced(operator) -> str:
    """The kernel in C++."""
    f = [Symbol(f"f{q}") for q in range(Q)]
    values = [Symbol(f"p{k}") for k in range(len(operator.parameters))]
    operator.node(LATTICE, PRECISION, lambda function: function, positions(operator.parameters))(f, "n", values)
    load = ["const float f0 = old[n];"] + [f"const float f{q} = old[table[{q - 1}u * N + n]];" for q in range(1, Q)]
    store = [f"stored[{q}u * N + n] = {written(f[q])};" for q in range(Q)]
    arguments = ", ".join(f"float {value.text}" for value in values)
    body = "\n  ".join([*load, *Symbol.lines, *store])
    return (
        'extern "C" __global__ void step(const float* __restrict__ old, float* __restrict__ stored,\n'
        f"    const unsigned* __restrict__ table, unsigned N, {arguments}) {{\n"
        f"  const unsigned n = blockIdx.x * blockDim.x + threadIdx.x;\n  if (n >= N) return;\n  {body}\n}}\n"
    )


def jitted(operator, cuda):
    """The kernel of a Numba with the name ``cuda``."""
    device = cuda.jit(device=True)
    collide = operator.node(LATTICE, PRECISION, device, positions(operator.parameters))
    n_moving, q_count, real = Q - 1, Q, PRECISION.real

    def load(old, table, count, n, f):
        f[0] = old[n]
        for q in range(n_moving):
            f[q + 1] = old[table[np.uint32(np.uint32(q) * count + n)]]

    def store(stored, count, n, f):
        for q in range(q_count):
            stored[np.uint32(np.uint32(q) * count + n)] = f[q]

    load, store = device(unroll(load)), device(unroll(store))

    @cuda.jit
    def step(old, stored, table, count, omega, magic, force_x, force_y, force_z):
        n = np.uint32(cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x)
        if n < count:
            f = cuda.local.array(q_count, real)
            load(old, table, count, n, f)
            collide(f, n, (omega, magic, force_x, force_y, force_z))
            store(stored, count, n, f)

    return step


def addresses(edge: int) -> np.ndarray:
    """Where each population but the one at rest arrives from in a periodic box, one row after another."""
    ids = np.arange(edge**3, dtype=np.uint32).reshape((edge,) * 3)
    rows = [np.roll(ids, LATTICE.c[q], axis=(0, 1, 2)).reshape(-1) + np.uint32(q * edge**3) for q in range(1, Q)]
    return np.concatenate(rows)


def main(compiler: str = "numba", relaxation: str = "trt", edge: str = "216") -> None:
    """Compile, run and tell the time; the populations behind the first steps go to a file, to compare bits."""
    operator = collision(RELAXATIONS[relaxation])
    if compiler == "text":
        print(traced(operator))
        return
    import cupy

    n_nodes = int(edge) ** 3
    count, grid = np.uint32(n_nodes), -(-n_nodes // BLOCK)
    units = [PRECISION.unit if parameter.in_stored_units else 1.0 for parameter in operator.parameters]
    values = [VALUES.get(each.name, 0.0) * unit for each, unit in zip(operator.parameters, units, strict=True)]
    values = [np.float32(value) for value in values]
    start = 1e-3 * np.random.default_rng(1).standard_normal(Q * n_nodes, dtype=np.float32)
    old, stored, table = cupy.asarray(start), cupy.empty(Q * n_nodes, np.float32), cupy.asarray(addresses(int(edge)))
    begin = time.perf_counter()
    if compiler == "nvrtc":
        kernel = cupy.RawKernel(traced(operator), "step", backend="nvrtc")
        kernel.compile()

        def launch(old, stored):
            kernel((grid,), (BLOCK,), (old, stored, table, count, *values))

    else:
        if compiler == "mlir":
            from numba_cuda_mlir import cuda
        else:
            from numba import cuda
        kernel = jitted(operator, cuda)

        def launch(old, stored):
            kernel[grid, BLOCK](old, stored, table, count, *values)

        launch(old, stored)
    compile_s = time.perf_counter() - begin
    finish = cupy.cuda.runtime.deviceSynchronize
    buffers = itertools.cycle(((old, stored), (stored, old)))
    for _ in range(10):
        launch(*next(buffers))
    finish()
    np.save(f"populations_{compiler}_{relaxation}.npy", cupy.asnumpy(old))
    begin = time.perf_counter()
    for _ in range(STEPS):
        launch(*next(buffers))
    finish()
    step_s = (time.perf_counter() - begin) / STEPS
    begin = time.perf_counter()
    for _ in range(STEPS):
        stored[...] = old
    finish()
    copy = 2 * old.nbytes * STEPS / (time.perf_counter() - begin)
    share = n_nodes * (2 * 4 * Q + 4 * (Q - 1)) / step_s / copy
    speed = n_nodes / step_s / 1e6
    print(f"{compiler} {relaxation}: {compile_s:.2f} s to compile, {speed:,.0f} MFLUPS, {share:.1%} of a copy")


if __name__ == "__main__":
    main(*sys.argv[1:])
