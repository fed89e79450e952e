"""Compiles the D3Q19 stream kernels to PTX without a GPU, and prints a JSON list of what was found in each.

Run as ``python -m tests.parity.ptx`` in a process of its own, in which it stands in for the device that
device functions ask for.
"""

import json
import re
import sys
from itertools import product
from types import SimpleNamespace

import numpy as np
from numba import types

from muphy_lb.backends.cuda import skeletons
from muphy_lb.backends.cuda.device import cuda
from muphy_lb.domain import STREAMINGS
from muphy_lb.lattice import D3Q19
from muphy_lb.operators import BGK, collision
from tests.parity.cases import CANNOT_RUN

SCALARS = {np.float32: types.float32, np.float64: types.float64}
CAPABILITIES = ((7, 5), (9, 0))
KERNELS = (*product([np.float32], CAPABILITIES), (np.float64, (8, 0)))


def signature(real):
    """Of a stream kernel: old, new, table, pitch, first, last, parameters."""
    populations, table = types.Array(SCALARS[real], 1, "C"), types.Array(types.uint32, 1, "C")
    sizes = (types.uint64,) * 3
    return types.void(populations, populations, table, *sizes, types.UniTuple(SCALARS[real], 4))


def findings(streaming, real, capability) -> dict:
    """What the PTX of one kernel holds."""
    skeletons.stream_collide.cache_clear()
    cuda.dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)
    kernel = skeletons.stream_collide(collision(BGK), streaming, D3Q19, real)
    ptx, _ = cuda.compile_ptx(kernel.py_func, signature(real), cc=capability)
    return {
        "name": f"{streaming}-{real.__name__}-sm_{capability[0]}{capability[1]}",
        "precision": real.__name__,
        "in_local_memory": "__local_depot" in ptx,
        "double_operations": len(re.findall(r"^\s*\w[\w.]*\.f64\b", ptx, re.MULTILINE)),
        "loads": len(re.findall(r"\bld\.global", ptx)),
        "stores": len(re.findall(r"\bst\.global", ptx)),
    }


def main():
    """Print the findings of every kernel; end with CANNOT_RUN where there is no compiler."""
    try:
        from numba.cuda.cudadrv.nvvm import NVVM

        NVVM()
    except Exception as error:  # a missing NVVM shows itself in many exception types
        print(f"no NVVM, which compiles CUDA kernels: {error}")
        sys.exit(CANNOT_RUN)
    print(json.dumps([findings(streaming, *kernel) for streaming, kernel in product(STREAMINGS, KERNELS)]))


if __name__ == "__main__":
    main()
