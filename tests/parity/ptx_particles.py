"""Compiles kernels of particles to PTX without a GPU, and prints the names of the stages that compile.

Run as ``python -m tests.parity.ptx_particles`` in a process of its own.
"""

import sys
from dataclasses import replace

import numpy as np
from numba import typeof, types

from muphy_lb.backends.arrays import Coupling
from muphy_lb.backends.cuda import particle_skeletons, stage_skeletons
from muphy_lb.backends.cuda.access import Populations
from muphy_lb.base.precision import FP32
from muphy_lb.lattice import D3Q19
from muphy_lb.model.isothermal import Fluid
from muphy_lb.model.model import DRAG, MIGRATE, NODES, SHARE, VELOCITIES
from muphy_lb.physics.particles.beads.model import AT_REST
from muphy_lb.physics.particles.beads.motion import ARRIVING
from muphy_lb.physics.particles.tracers.species import with_tracers
from tests.laws.test_beads import CHAINS, SINGLE, BeadSetup
from tests.laws.test_beads_through_openings import Through
from tests.parity.ptx import CAPABILITY, pretend, ptx_of
from tests.support import Setup, build_engine, plain_flow, random_nodes

REAL, WORDS, FORCES = (typeof(np.zeros(1, dtype)) for dtype in (np.float32, np.uint32, np.int64))


class TracerSetup(Setup):
    """A flow with tracers."""

    def model(self):
        """The flow, and tracers in it."""
        return with_tracers(plain_flow(self.lattice, Fluid(self.rates), self.streaming), "t", 20, 0.01, 1).model()


def main() -> int:
    """All stages of single beads, of chains, of beads in a fluid at rest and through openings, of tracers."""
    pretend(CAPABILITY)
    point, many = replace(SINGLE, kernel="point"), replace(SINGLE, many=True)
    setups = [BeadSetup(D3Q19, beads=beads, precision=FP32) for beads in (SINGLE, CHAINS, point, many)]
    setups += [BeadSetup(D3Q19, beads=replace(SINGLE, coupling=AT_REST), precision=FP32)]
    setups += [Through(D3Q19, precision=FP32), TracerSetup(D3Q19, precision=FP32)]
    nodes = random_nodes(D3Q19, openings=False, periodic=(True, True, True))
    for setup in setups:
        engine = build_engine(nodes, setup)
        for stage in engine.model.stages:
            if stage.kernel != SHARE:
                kernel, arguments = kernel_of(stage, engine)
                ptx_of(kernel, arguments)
                print(stage.name, *(operator.name for operator in stage.operators), flush=True)
    for name, arguments in moving(build_engine(nodes, setups[0])).items():
        ptx_of(getattr(particle_skeletons, name), arguments)
        print(name, flush=True)
    return 0


def kernel_of(stage, engine) -> tuple:
    """The kernel of a stage, and the types of its arguments."""
    values = tuple(typeof(engine.parameters.values(each, stage.parameters, 0)) for each in stage.operators)
    number, of_nodes = types.int64, (types.uint32, types.uint32)
    if stage.where:
        of_nodes = (WORDS, types.uint32, *of_nodes)
    over = stage_skeletons.over_words if stage.where else stage_skeletons.over_range
    how = *stage.operators, D3Q19, FP32
    if stage.kernel == DRAG:
        return drag(stage, engine, values)
    if stage.kernel == VELOCITIES:
        at = stage_skeletons.velocities(stage.operators[0], populations(engine), D3Q19, FP32)
        return over(at), (types.Tuple((REAL, WORDS, WORDS, REAL)), *of_nodes, *values)
    if stage.over == NODES:
        at = stage_skeletons.at_node(stage.operators, None, None, 0, D3Q19, FP32)
        return over(at), (types.Tuple(()), *of_nodes, *values)
    if stage.kernel == MIGRATE:
        (bound,) = engine.particles._sets.values()
        given = bound.arrays, bound._migration[0]
        return particle_skeletons.update_and_send(*how), (*map(typeof, given), number, number, *values)
    if not stage.kernel:
        return particle_skeletons.particles(*how), (typeof(np.zeros(1, np.int64)), *values)
    return particle_skeletons.over_range(*how), (number, number, *values)


def populations(engine) -> Populations:
    """Where those of a node are found."""
    pattern = engine.addresses.patterns[0]
    return Populations(pattern.load, len(pattern.directions), np.uint32)


def drag(stage, engine, values) -> tuple:
    """The kernel of forces between particles and nodes, and the types of its arguments."""
    pushes = bool(stage.writes)
    coupling = Coupling(stage.nearest, engine.model.fills_everywhere(ARRIVING), pushes)
    kernel = particle_skeletons.drag(stage.operators, populations(engine), coupling, D3Q19, FP32)
    particles, _ = engine.particles.of_set(stage.over)
    flags = typeof(np.zeros(1, np.int8))
    fields = types.Tuple((REAL, FORCES if pushes else flags, flags, types.int8))
    around = types.Tuple((types.Tuple((REAL, WORDS, WORDS)), typeof(engine.particles.lookup), fields))
    return kernel, (typeof(particles), types.int64, around, types.Tuple(values))


def moving(engine) -> dict[str, tuple]:
    """The kernels by which beads migrate and are sorted, with the types of their arguments."""
    beads, lookup = engine.particles._sets["beads"], typeof(engine.particles.lookup)
    number, messages, particles = types.int64, beads._migration[0], typeof(beads.arrays)
    sorting, count = beads._sorting_arrays(1), typeof(beads.arrays.count)
    return {
        "clear_counts": (typeof(messages.outgoing), number, number),
        "match_holes": (count, typeof(messages)),
        "fill_holes": (particles, typeof(messages), number),
        "close_holes": (count, typeof(messages.n_moved)),
        "receive_particles": (particles, typeof(messages), number),
        "forget_counts": (typeof(sorting.counts),),
        "count_at_entries": (particles, lookup, number, typeof(sorting)),
        "find_sources": (particles, lookup, number, typeof(sorting)),
        "choose_places": (typeof(sorting),),
        "to_places": (typeof(beads.arrays.reals), typeof(sorting), count),
        "put_back": (typeof(sorting.column), typeof(beads.arrays.integers), count),
    }


if __name__ == "__main__":
    sys.exit(main())
