"""Compiles kernels of species, dispersion and two fluids to PTX without a GPU, and prints names of those that compile.

Run as ``python -m tests.parity.ptx_species`` in a process of its own.
"""

import sys

import numpy as np
from numba import typeof, types

from muphy_lb.backends.cuda import boundary_skeletons, skeletons
from muphy_lb.base.precision import FP32, FP64
from muphy_lb.domain import PULL
from muphy_lb.model.model import NODES
from muphy_lb.operators.observers import PAST_GAPS
from muphy_lb.run.solver import Solver
from tests.laws.smallest import smallest
from tests.laws.test_replay import REPLAYED, beating
from tests.parity.ptx import CAPABILITY, pretend, ptx_of
from tests.parity.ptx_surface import composed

WORDS, NUMBERS, FLAGS = (typeof(np.zeros(1, dtype)) for dtype in (np.uint32, np.int64, np.int8))


def main() -> int:
    """The stages of these physics, and what serves boundaries of scalars, in both precisions."""
    pretend(CAPABILITY)
    for precision in (FP32, FP64):
        real = typeof(np.zeros(1, precision.real))
        compute = {"precision": precision.name}
        cases = {name: smallest(name, compute=compute) for name in ("species", "dispersion", "two_fluid")}
        for name, case in (cases | {"replay": beating(run=REPLAYED, compute=compute)}).items():
            engine = Solver(case).engine
            lattice = engine.model.lattice
            for stage in engine.model.stages:
                (operator,) = stage.operators
                values = typeof(engine.parameters.values(operator, stage.parameters, 0))
                if engine.model.kernel_of(stage) == "advance":
                    n_entries = engine.fields.table_of(stage.name).table.n_entries
                    how = skeletons.Advance(operator, n_entries, True)
                    kernel = skeletons.advance(how, True, lattice, precision, np.uint32)
                    ptx_of(kernel, (real, real, WORDS, WORDS, *[types.uint32] * 3, FLAGS, types.uint8, values))
                elif stage.over == NODES:
                    kernel, ahead = composed(stage, stage.operators, None, None, (lattice, precision))
                    ptx_of(kernel, (*ahead, values))
                print(name, stage.name, precision.name, flush=True)
        engine = Solver(smallest("species", compute=compute, lattice={"walls": "bouzidi"})).engine
        assert engine.fields.has(PAST_GAPS)
        how = PULL.patterns(engine.model.lattice)[0], engine.model.lattice, precision, np.uint32
        values = typeof(engine.parameters.values(engine.model.collision, engine.model.parameters, 0))
        buffer = typeof(np.zeros(1, precision.storage))
        places = WORDS, WORDS, types.int64, types.int64, types.uint32, types.uint32
        ptx_of(skeletons.stream_collide(engine.model.collision, *how), (buffer, buffer, *places, values))
        print("carried past gaps", precision.name, flush=True)
        ptx_of(skeletons.extrapolation, (real, real, NUMBERS, real, real))
        ptx_of(skeletons.saturation(precision), (real, real, NUMBERS, NUMBERS, real, real, real))
        ptx_of(skeletons.outflow, (real, real, real, NUMBERS, NUMBERS, NUMBERS))
        ptx_of(boundary_skeletons.profile, (real, NUMBERS, real, real))
        print("boundaries", precision.name, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
