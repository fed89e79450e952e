"""Compiles the kernels of a free surface to PTX without a GPU, and prints the names of those that compile.

Run as ``python -m tests.parity.ptx_surface`` in a process of its own.
"""

import sys

import numpy as np
from numba import typeof, types

from muphy_lb.backends.arrays import Collected, SumArrays
from muphy_lb.backends.cuda import skeletons, stage_skeletons
from muphy_lb.backends.cuda.access import Populations
from muphy_lb.backends.cuda.stage_skeletons import Candidates, Flags
from muphy_lb.base.precision import FP32, FP64
from muphy_lb.lattice import D2Q9, D3Q19
from muphy_lb.model.model import COLLECT, CROSSING, EACH, MOMENTS, NEIGHBOURS, REFILL, STORED
from muphy_lb.physics.free_surface.bubbles import GasLaw
from muphy_lb.physics.free_surface.capillarity import PARABOLOID, TENSION
from muphy_lb.physics.free_surface.contact_angle import CONTACT_ANGLE, COS_ANGLE
from muphy_lb.physics.free_surface.operators.extent import N_PEAKS, N_SUMS, extent_in
from tests.free_surface import SurfaceSetup
from tests.parity.ptx import CAPABILITY, pretend, ptx_of
from tests.support import build_engine, random_nodes

SUMS = types.Array(types.int64, 2, "C")
WORDS = types.Array(types.uint32, 1, "C")
TABLE = WORDS, WORDS
RANGE = types.uint32, types.uint32
CELLS = types.Array(types.uint8, 1, "C")
AMONG = types.NamedTuple((types.Array(types.int32, 1, "C"), WORDS, WORDS), Collected)
CANDIDATES = types.NamedTuple((*RANGE, AMONG, CELLS, types.uint8), Candidates)

TENSE = {
    FP32: {"capillarity": CONTACT_ANGLE, "of_capillarity": {TENSION: 0.01, COS_ANGLE: 0.5}},
    FP64: {"capillarity": PARABOLOID, "of_capillarity": {TENSION: 0.01}},
}
"""Away from walls a surface with a contact angle is that without."""


def kernel_of(stage, operators, pattern, lattice, precision):
    """The kernel of a stage, and the types of its arguments between the tables and the parameters."""
    how = lattice, precision
    rows = tuple(range(lattice.q))
    stored, n_neighbours = Populations(rows, 0, np.uint32), lattice.q - 1
    buffer = types.Array(typeof(precision.real(0)), 1, "C")
    if stage.kernel == EACH:
        return stage_skeletons.each(operators[0], *how), (CANDIDATES,)
    if stage.kernel == NEIGHBOURS:
        return stage_skeletons.neighbours(operators[0], n_neighbours, *how, True), (WORDS, CANDIDATES)
    tables = (buffer, *TABLE, WORDS, CANDIDATES)
    if stage.kernel == CROSSING:
        arriving = Populations(pattern.load, len(pattern.directions), np.uint32)
        kernel = stage_skeletons.crossing(operators[0], arriving, stored, n_neighbours, *how)
        return kernel, (buffer, *TABLE, *tables[1:])
    if stage.kernel == STORED:
        return stage_skeletons.stored(operators[0], stored, n_neighbours, *how), tables
    sources = types.Tuple((CELLS, types.uint8, types.int64))
    return stage_skeletons.refill(operators, stored, n_neighbours, *how), (*tables, sources, buffer)


def main() -> int:
    """All stages, and the step of nodes with fluid, in both precisions and in two and three dimensions."""
    pretend(CAPABILITY)
    counts = AMONG.types[0]
    arguments = types.NamedTuple((WORDS, types.uint32, *RANGE), Flags), AMONG, counts, types.int64
    ptx_of(stage_skeletons.collect, arguments)
    print("collect", flush=True)
    for lattice, precision in ((D3Q19, FP32), (D2Q9, FP64)):
        law = GasLaw(absolute=1.0, deviation=0.0, gamma=1.0, largest=0.3)
        setup = SurfaceSetup(lattice, precision=precision, law=law, **TENSE[precision])
        engine = build_engine(random_nodes(lattice, openings=False), setup)
        pattern, rows = engine.addresses.patterns[0], tuple(range(lattice.q))
        for stage in engine.model.stages:
            if stage.kernel in (MOMENTS, COLLECT):
                continue
            given = [engine.parameters.values(each, stage.parameters, 0) for each in stage.operators]
            both = stage.kernel == REFILL
            values = typeof(tuple(given)) if both else typeof(given[0])
            kernel, ahead = kernel_of(stage, stage.operators, pattern, lattice, precision)
            ptx_of(kernel, (*ahead, values))
            print(precision.name, stage.name, flush=True)
        collide, how = engine.model.collision, (Populations(rows, 0, np.uint32), lattice.q - 1, lattice, precision)
        values = typeof(engine.parameters.values(collide, engine.model.parameters, 0))
        buffer = types.Array(typeof(precision.real(0)), 1, "C")
        kernel = skeletons.stream_collide_fluid(collide, pattern, lattice, precision, np.uint32)
        arguments = buffer, buffer, *TABLE, types.boolean, *RANGE, values, CELLS, types.uint8, AMONG
        ptx_of(kernel, arguments)
        print(precision.name, "stream and collide", flush=True)
        measure, moments = extent_in((9, 8, 7)), engine.model.macroscopic
        of_measure = typeof(engine.parameters.values(measure.operator, measure.values, 0))
        kernel = skeletons.sums((measure.operator, moments), (N_SUMS, N_PEAKS), how[0], True, lattice, precision)
        result = types.NamedTuple((SUMS, SUMS, types.Array(types.float64, 2, "C"), types.float64), SumArrays)
        ptx_of(kernel, (buffer, *TABLE, CELLS, types.int64, result, of_measure, typeof(engine.measuring(0))))
        print(precision.name, "extent", flush=True)
        (stage,) = engine.model.between
        operators, given = (
            (*stage.operators, collide),
            engine.parameters.values(stage.operators[0], stage.parameters, 0),
        )
        kernel = stage_skeletons.crossing_and_collision(operators, pattern, *how)
        ptx_of(kernel, (buffer, buffer, *TABLE, *TABLE, WORDS, CANDIDATES, typeof(given), values))
        print(precision.name, "exchange, stream and collide", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
