"""How beads move: velocity Verlet, forces of bonds, bending, other beads and walls.

    v += f dt/2m,  x += v dt,  f = f(x),  v += f dt/2m,        n_sub times a step, dt = 1 / n_sub

Positions are made known to every rank by id, as integers (``PLACE_UNIT``); each rank computes the forces on its own beads
from these. Differences of integers are exact, and forces of other beads are summed as integers, so no force depends on
ranks or on the order in which beads are found. Beads near each other are found by linked lists in a table of cells,
addressed by a hash of the cell.
"""

from dataclasses import dataclass
from functools import cache
from math import floor

import numpy as np

from muphy_lb.domain.corners import address_node, addresses
from muphy_lb.lattice import Lattice
from muphy_lb.operators import Operator, named
from muphy_lb.operators.operator import adder, exchanger
from muphy_lb.physics.particles.beads.names import (
    FORCE,
    FORCE_UNIT,
    HEAD,
    NEXT,
    OFFSET,
    PLACE,
    PLACE_UNIT,
    TRAVELLED,
    VELOCITY,
    VOXEL,
)
from muphy_lb.physics.particles.beads.potentials import BONDS, PAIRS, lennard_jones

SHIFT = 40  # bits of PLACE_UNIT
NEAREST = 1e-3
"""Distance to a wall, in voxels, below which its force grows no more."""


@dataclass(frozen=True)
class Interactions:
    """Which forces act on beads; their constants are parameters.

    Attributes:
        bonds: a name of ``BONDS``, or None.
        pairs: a name of ``PAIRS``, or None.
        bends: whether chains resist bending.
        walls: whether walls repel.
        pulls: whether some beads are pulled.
    """

    bonds: str | None = None
    pairs: str | None = None
    bends: bool = False
    walls: bool = False
    pulls: bool = False

    @property
    def need_others(self) -> bool:
        """Whether a bead must know where others are."""
        return self.bonds is not None or self.pairs is not None or self.bends

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the constants and tables."""
        groups = (
            (self.bonds, ("bond_start", "bond_partner", "bond_a", "bond_b")),
            (self.pairs, ("pair_a", "pair_b", "pair_range", "cell")),
            (self.bends, ("bend_start", "bend_ids", "bend_a")),
            (self.walls, ("wall_a", "wall_b", "wall_range")),
            (self.pulls, ("pulled", "pull_x", "pull_y", "pull_z")),
        )
        return tuple(name for given, names in groups if given for name in names)


def _forget(i, lattice, parameters):
    for name in PLACE:
        parameters[name][i] = 0
    parameters[HEAD][i] = -1


def _forget_node(lattice, precision, jit, at):
    x, y, z, head = (at[name] for name in (*PLACE, HEAD))
    zero, nobody = np.int64(0), np.int64(-1)

    def forget(i, parameters):
        parameters[x][i] = zero
        parameters[y][i] = zero
        parameters[z][i] = zero
        parameters[head][i] = nobody

    return jit(forget)


FORGET = Operator("forget", _forget, _forget_node, named(*PLACE, HEAD))
"""Empties the positions by id, and the cells."""


@cache
def drift(publishes: bool) -> Operator:
    """Half a kick and a move; with ``publishes`` the new position is written by id."""
    columns = (*VOXEL, *OFFSET, *VELOCITY, *FORCE, *TRAVELLED)
    names = named("id", *columns, "mass", "duration", *(PLACE if publishes else ()))

    def reference(i, lattice, parameters):
        duration = parameters["duration"]
        for k in range(3):
            velocity = parameters[VELOCITY[k]][i] + 0.5 * duration / parameters["mass"] * parameters[FORCE[k]][i]
            parameters[VELOCITY[k]][i] = velocity
            parameters[OFFSET[k]][i] += velocity * duration
            parameters[TRAVELLED[k]][i] += velocity * duration
            if publishes:
                offset = np.rint(parameters[OFFSET[k]][i] / PLACE_UNIT).astype(np.int64)
                parameters[PLACE[k]][parameters["id"][i]] = (parameters[VOXEL[k]][i] << SHIFT) + offset

    def node(lattice, precision, jit, at):
        voxel, offset, velocity, force, travelled = (
            tuple(at[name] for name in names) for names in (VOXEL, OFFSET, VELOCITY, FORCE, TRAVELLED)
        )
        place = tuple(at[name] for name in PLACE) if publishes else (0, 0, 0)
        mass, duration, own = at["mass"], at["duration"], at["id"]
        half, unit, shift, real, whole = np.float64(0.5), np.float64(PLACE_UNIT), np.int64(SHIFT), np.float64, np.int64

        def publish(array, i, place):
            array[i] = place

        write = jit(publish) if publishes else jit(lambda array, i, place: None)

        def move(i, parameters):
            time, number = real(parameters[duration]), parameters[own][i]
            for k in range(3):
                v = parameters[velocity[k]][i] + half * time / real(parameters[mass]) * parameters[force[k]][i]
                parameters[velocity[k]][i] = v
                o = parameters[offset[k]][i] + v * time
                parameters[offset[k]][i] = o
                parameters[travelled[k]][i] += v * time
                write(parameters[place[k]], number, (parameters[voxel[k]][i] << shift) + whole(round(o / unit)))

        return jit(unroll(move))

    return Operator("drift-known" if publishes else "drift", reference, node, names)


