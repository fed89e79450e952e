"""Compiles stream kernels to PTX without a GPU, and prints a JSON list of what was found in each.

Run as ``python -m tests.parity.ptx all|few`` in a process of its own, in which it stands in for the device that
device functions ask for.
"""

import gc
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace

import numpy as np
from numba import from_dtype, types

from muphy_lb.backends.cuda import skeletons
from muphy_lb.backends.cuda.device import cuda
from muphy_lb.backends.cuda.kept import surroundings
from muphy_lb.backends.cuda.skeletons import DOUBLE, NODES_PER_THREAD, PAIRED, SINGLE
from muphy_lb.base.files.atomic import atomic_write
from muphy_lb.base.kept.code_digest import digest, type_text
from muphy_lb.base.kept.store import folder_of, keep_recent
from muphy_lb.base.precision import FP16, FP32, FP64, Precision
from muphy_lb.domain import AA, PULL, PUSH, Pattern
from muphy_lb.lattice import D3Q19
from muphy_lb.operators import BGK, TRT, Operator, collision
from muphy_lb.operators.operator import node_function
from tests.parity.cases import CANNOT_RUN

CAPABILITY, ANOTHER = (9, 0), (8, 0)
RATES = {BGK: 1, TRT: 2}
gc.set_threshold(100_000, 20, 100)  # compilers make objects by the million and few cycles
ARITHMETIC = re.compile(r"^\s*(?:fma|mul|add|sub|neg)(?:\.\w+)*\.f32\b", re.MULTILINE)


def kernels() -> Iterator[tuple]:
    """Relaxation, name of the step, pattern, precision, index type, nodes of a thread, compute capability: every kernel
    of production, and a sample of those for larger buffers, two relaxation times and other devices."""
    for streaming in (PULL, AA):
        for phase, pattern in enumerate(streaming.patterns(D3Q19)):
            for precision in (FP64, FP32, FP16):
                for threads in (SINGLE, DOUBLE):
                    yield BGK, f"{streaming.name}{phase}", pattern, precision, np.uint32, threads, CAPABILITY
    pull, push, even = (streaming.patterns(D3Q19)[0] for streaming in (PULL, PUSH, AA))
    yield BGK, "pull0", pull, FP16, np.uint32, PAIRED, CAPABILITY
    for precision in (FP64, FP32, FP16):
        yield BGK, "push0", push, precision, np.uint32, SINGLE, CAPABILITY
    yield BGK, "pull0", pull, FP32, np.uint64, SINGLE, CAPABILITY
    yield BGK, "aa0", even, FP32, np.uint64, DOUBLE, CAPABILITY
    yield BGK, "pull0", pull, FP16, np.uint64, PAIRED, CAPABILITY
    yield TRT, "pull0", pull, FP32, np.uint32, SINGLE, CAPABILITY
    yield BGK, "pull0", pull, FP32, np.uint32, SINGLE, ANOTHER


def few() -> list[tuple]:
    """One kernel of each kind: precisions, streamings, relaxations, and the nodes of a thread."""
    kinds = ((BGK, "pull0", FP64, DOUBLE), (BGK, "pull0", FP32, SINGLE), (TRT, "pull0", FP32, SINGLE))
    kinds += ((BGK, "aa1", FP16, SINGLE), (BGK, "pull0", FP16, PAIRED))
    return [
        (relaxation, step, pattern, precision, index, threads, capability)
        for relaxation, step, pattern, precision, index, threads, capability in kernels()
        if (relaxation, step, precision, threads) in kinds and (index, capability) == (np.uint32, CAPABILITY)
    ]


def compiled(operator: Operator, n_parameters: int, pattern: Pattern, lattice, precision: Precision, **how) -> str:
    """PTX of a stream kernel; ``how`` gives index_type, threads, capability and types of the parameters, if not the
    usual ones."""
    index, threads = how.get("index_type", np.uint32), how.get("threads", SINGLE)
    capability = how.get("capability", CAPABILITY)
    pretend(capability)
    kernel = skeletons.stream_collide(operator, pattern, lattice, precision, index, threads)
    stored, real = (from_dtype(np.dtype(scalar)) for scalar in (precision.storage, precision.real))
    old, lines, bases = (types.Array(each, 1, "C") for each in (stored, types.uint32, from_dtype(np.dtype(index))))
    new = lines if threads == PAIRED else old
    parameters = types.Tuple(how.get("parameters", (real,) * n_parameters))
    numbers = (types.int64, types.int64, types.uint32, types.uint32)
    return ptx_of(kernel, (old, new, lines, bases, *numbers, parameters), capability)


def ptx_of(kernel, arguments: tuple, capability: tuple[int, int] = CAPABILITY) -> str:
    """PTX of a kernel for types of its arguments, on disk by the digests by which whoever runs it finds the kernel."""
    parts = (digest(kernel), *map(type_text, arguments), str(capability))
    path = folder_of(f"PTX\n{surroundings()}") / hashlib.sha256("\n".join(parts).encode()).hexdigest()
    if path.exists():
        os.utime(path)
        return path.read_text()
    ptx, _ = cuda.compile_ptx(kernel.py_func, types.void(*arguments), cc=capability)
    path.parent.mkdir(0o700, parents=True, exist_ok=True)
    with atomic_write(path) as temporary:
        temporary.write_text(ptx)
    keep_recent(path.parent)
    return ptx


def pretend(capability: tuple[int, int]) -> None:
    """Stand in for a device. Device functions remember the capability that they were first compiled for: those of
    another device are forgotten."""
    if getattr(cuda.dispatcher.get_current_device, "keywords", {}) != {"compute_capability": capability}:
        for cached in (skeletons.stream_collide, skeletons.access, node_function):
            cached.cache_clear()
    cuda.dispatcher.get_current_device = partial(SimpleNamespace, compute_capability=capability)


def counts(ptx: str) -> dict:
    """What the PTX of a kernel holds."""
    return {
        "in_local_memory": "__local_depot" in ptx,
        "calls": len(re.findall(r"^\s*(?:@%p\d+\s+)?call\b", ptx, re.MULTILINE)),
        "double_operations": len(re.findall(r"^\s*\w[\w.]*\.f64\b", ptx, re.MULTILINE)),
        "operations": len(ARITHMETIC.findall(ptx)),
        "quads": len(re.findall(r"\bld\.global\.v4", ptx)),
        "loads": len(re.findall(r"\bld\.global(?!\.v4)", ptx)),
        "stores": len(re.findall(r"\bst\.global", ptx)),
    }


def findings(relaxation, step, pattern, precision, index_type, threads, capability) -> dict:
    """What the PTX of one kernel of D3Q19 holds."""
    operator, n_parameters = collision(relaxation), RATES[relaxation] + 3
    how = {"index_type": index_type, "threads": threads, "capability": capability}
    ptx = compiled(operator, n_parameters, pattern, D3Q19, precision, **how)
    wide = "" if index_type is np.uint32 else "-wide"
    device = "" if capability == CAPABILITY else "-sm_{}{}".format(*capability)
    return counts(ptx) | {
        "name": f"{relaxation.name}-{step}-{precision.name}-{threads}{wide}{device}",
        "precision": precision.name,
        "threads": threads,
        "nodes": NODES_PER_THREAD[threads],
        "entries": len(pattern.directions),
    }


def main():
    """Print the findings of every kernel; end with CANNOT_RUN where there is no compiler."""
    refuse_without_compiler()
    chosen = few() if sys.argv[1] == "few" else kernels()
    print(json.dumps([findings(*kernel) for kernel in chosen]))


def refuse_without_compiler() -> None:
    """End with CANNOT_RUN where there is no compiler."""
    try:
        from numba.cuda.cudadrv.nvvm import NVVM

        NVVM()
    except Exception as error:  # a missing NVVM shows itself in many exception types
        print(f"no NVVM, which compiles CUDA kernels: {error}")
        sys.exit(CANNOT_RUN)


if __name__ == "__main__":
    main()
