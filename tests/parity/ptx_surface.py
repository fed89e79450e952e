"""Compiles the kernels of a free surface to PTX without a GPU, and prints the names of those that compile.

Run as ``python -m tests.parity.ptx_surface`` in a process of its own.
"""

import sys

import numpy as np
from numba import typeof, types

from muphy_lb.backends.arrays import Collected, SumArrays
from muphy_lb.backends.cuda import skeletons, stage_skeletons
from muphy_lb.backends.cuda.access import Populations
from muphy_lb.backends.cuda.stage_skeletons import Arriving, Candidates, Flags
from muphy_lb.base.precision import FP32, FP64
from muphy_lb.lattice import D2Q9, D3Q19
from muphy_lb.model.model import ARRIVING, COLLECT, REFILL, STORED
from muphy_lb.operators.moments import N_WITH_STRESS
from muphy_lb.physics.free_surface.bubbles import GasLaw
from muphy_lb.physics.free_surface.capillarity import COS_ANGLE, PARABOLOID, TENSION
from muphy_lb.physics.free_surface.contact_angle import CONTACT_ANGLE
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


def fluid_arguments(buffer, values) -> tuple:
    """Types of the arguments of the step of nodes with fluid."""
    return buffer, buffer, *TABLE, types.boolean, *RANGE, values, CELLS, types.uint8, types.uint8, AMONG


def composed(stage, operators, arriving, stored, how):
    """The kernel of a stage that is composed from its access, and the types of its arguments ahead of the values;
    ``arriving`` and ``stored``: as of ``at_node``. Its nodes collide with a second operator, whose values come last."""
    lattice, precision, *of_collision = how
    buffer, tables = types.Array(typeof(precision.real(0)), 1, "C"), []
    arriving, stored = arriving if ARRIVING in stage.reads else None, stored if STORED in stage.reads else None
    n_neighbours = lattice.q - 1 if stage.reads_at_neighbours else 0
    if arriving or stored:
        tables.append(buffer)
    if arriving:
        tables.append(types.Tuple((*TABLE, *((buffer, *of_collision) if of_collision else ()))))
    if stored:
        tables.append(types.Tuple(TABLE))
    if n_neighbours:
        tables.append(WORDS)
    at = stage_skeletons.at_node(operators, arriving, stored, n_neighbours, lattice, precision)
    registers = operators[0].registers if precision is FP32 else None
    if stage.where and stage.where.among:
        return stage_skeletons.over_chosen(at, registers), (types.Tuple(tables), CANDIDATES)
    if stage.where:
        return stage_skeletons.over_words(at), (types.Tuple(tables), WORDS, types.uint32, *RANGE)
    return stage_skeletons.over_range(at, registers), (types.Tuple(tables), *RANGE)


def kernel_of(stage, operators, pattern, lattice, precision):
    """The kernel of a stage, and the types of its arguments ahead of the values."""
    stored, how = Populations(tuple(range(lattice.q)), 0, np.uint32), (lattice, precision)
    if stage.kernel == REFILL:
        buffer = types.Array(typeof(precision.real(0)), 1, "C")
        sources = types.Tuple((CELLS, types.uint8, types.int64))
        kernel = stage_skeletons.refill(operators, stored, lattice.q - 1, *how)
        return kernel, (buffer, *TABLE, WORDS, CANDIDATES, sources, buffer)
    arriving = Arriving(Populations(pattern.load, len(pattern.directions), np.uint32), True)
    return composed(stage, operators[:1], arriving, stored, how)


def surface_arguments(engine, stage, collides: bool):
    """The kernel of a stage between streaming and collision, and the types of its arguments; ``collides``: the last of
    them, whose nodes collide behind it."""
    model, pattern, lattice = engine.model, engine.addresses.patterns[0], engine.model.lattice
    given = typeof(engine.parameters.values(stage.operators[0], stage.parameters, 0))
    of_collision = typeof(engine.parameters.values(model.collision, model.parameters, 0))
    stored, how = Populations(tuple(range(lattice.q)), 0, np.uint32), (lattice, engine.precision)
    arriving = Arriving(Populations(pattern.load, len(pattern.directions), np.uint32), True)
    if collides:
        arriving, how = arriving._replace(stores_at=pattern.store), (*how, of_collision)
    operators = (*stage.operators, *((model.collision,) if collides else ()))
    kernel, ahead = composed(stage, operators, arriving, stored, how)
    return kernel, (*ahead, given)


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
            if engine.model.kernel_of(stage) == COLLECT:
                continue
            given = [engine.parameters.values(each, stage.parameters, 0) for each in stage.operators]
            if engine.model.kernel_of(stage) == "moments":
                buffer = types.Array(typeof(precision.real(0)), 1, "C")
                kernel = skeletons.moments(
                    *stage.operators, N_WITH_STRESS, Populations(rows, 0, np.uint32), lattice, precision
                )
                ptx = ptx_of(kernel, (buffer, *TABLE, *RANGE, buffer, typeof(given[0])))
                assert "fma.rn" not in ptx, f"{stage.name}: other ranks would find other numbers"
                print(precision.name, stage.name, flush=True)
                continue
            both = stage.kernel == REFILL
            values = typeof(tuple(given)) if both else typeof(given[0])
            kernel, ahead = kernel_of(stage, stage.operators, pattern, lattice, precision)
            ptx_of(kernel, (*ahead, values))
            print(precision.name, stage.name, flush=True)
        collide, how = engine.model.collision, (Populations(rows, 0, np.uint32), lattice.q - 1, lattice, precision)
        values = typeof(engine.parameters.values(collide, engine.model.parameters, 0))
        buffer = types.Array(typeof(precision.real(0)), 1, "C")
        kernel = skeletons.stream_collide_fluid(collide, pattern, lattice, precision, np.uint32)
        ptx_of(kernel, fluid_arguments(buffer, values))
        print(precision.name, "stream and collide", flush=True)
        measure, moments = extent_in((9, 8, 7)), engine.model.macroscopic
        of_measure = typeof(engine.parameters.values(measure.operator, measure.values, 0))
        kernel = skeletons.sums((measure.operator, moments), (N_SUMS, N_PEAKS), how[0], True, lattice, precision)
        result = types.NamedTuple((SUMS, SUMS, types.Array(types.float64, 2, "C"), types.float64), SumArrays)
        ptx_of(kernel, (buffer, *TABLE, CELLS, types.int64, result, of_measure, typeof(engine.measuring(0))))
        print(precision.name, "extent", flush=True)
        ptx_of(*surface_arguments(engine, engine.model.between[-1], True))
        print(precision.name, "completion, stream and collide", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
