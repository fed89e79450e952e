"""Compiles a sample of collisions in single precision to PTX without a GPU, and prints a JSON list of findings.

Run as ``python -m tests.parity.ptx_collisions`` in a process of its own. Every lattice, relaxation, equilibrium and
closure is in the sample.
"""

import json
import re
import sys
from types import SimpleNamespace

import numpy as np
from numba import types

from muphy_lb.backends.cuda import skeletons
from muphy_lb.backends.cuda.device import cuda
from muphy_lb.lattice import D2Q9, D3Q15, D3Q19, D3Q27
from muphy_lb.operators import (
    BGK,
    CARREAU_YASUDA,
    CASSON,
    COMPRESSIBLE,
    INCOMPRESSIBLE,
    POWER_LAW,
    REGULARISED,
    SMAGORINSKY,
    STOKES,
    TRT,
    mrt_for,
)
from tests.laws.collisions import Case
from tests.parity.cases import CANNOT_RUN

CAPABILITY = (9, 0)


def sample() -> list[Case]:
    """The collisions to compile."""
    return [
        Case(D2Q9, *mrt_for(D2Q9), COMPRESSIBLE, CASSON),
        Case(D3Q15, TRT, (0.25,), STOKES, POWER_LAW),
        Case(D3Q19, *mrt_for(D3Q19)),
        Case(D3Q19, BGK, (), INCOMPRESSIBLE, SMAGORINSKY),
        Case(D3Q27, REGULARISED, (), COMPRESSIBLE, CARREAU_YASUDA),
    ]


def findings(case: Case) -> dict:
    """What the PTX of the pull kernel of a collision holds."""
    kernel = skeletons.stream_collide(case.operator, "pull", case.lattice, np.float32)
    populations, table = types.Array(types.float32, 1, "C"), types.Array(types.uint32, 1, "C")
    parameters = types.UniTuple(types.float32, len(case.parameters))
    signature = types.void(populations, populations, table, *(types.uint64,) * 3, parameters)
    ptx, _ = cuda.compile_ptx(kernel.py_func, signature, cc=CAPABILITY)
    return {
        "name": str(case),
        "in_local_memory": "__local_depot" in ptx,
        "calls": len(re.findall(r"^\s*(?:@%p\d+\s+)?call\b", ptx, re.MULTILINE)),
        "double_operations": len(re.findall(r"^\s*\w[\w.]*\.f64\b", ptx, re.MULTILINE)),
        "surplus_loads": len(re.findall(r"\bld\.global", ptx)) - (2 * case.lattice.q - 1),
        "surplus_stores": len(re.findall(r"\bst\.global", ptx)) - case.lattice.q,
    }


def main():
    """Print the findings of every kernel; end with CANNOT_RUN where there is no compiler."""
    try:
        from numba.cuda.cudadrv.nvvm import NVVM

        NVVM()
    except Exception as error:  # a missing NVVM shows itself in many exception types
        print(f"no NVVM, which compiles CUDA kernels: {error}")
        sys.exit(CANNOT_RUN)
    cuda.dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=CAPABILITY)
    print(json.dumps([findings(case) for case in sample()]))


if __name__ == "__main__":
    main()
