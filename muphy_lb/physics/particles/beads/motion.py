"""How beads move: velocity Verlet with forces of bonds, bending, other beads and walls; and the names of their columns.

    v += f dt/2m,  x += v dt,  f = f(x),  v += f dt/2m,        n_sub times a step, dt = 1 / n_sub

Positions are made known to every rank by id, as integers (``PLACE_UNIT``); each rank computes the forces on its own
beads from these. Differences of integers are exact, and forces of other beads are summed as integers, so no force
depends on ranks or on the order in which beads are found. Beads near each other are found by linked lists in a table of
cells, addressed by a hash of the cell.
"""

from functools import cache

import numpy as np

from muphy_lb.model.model import POSITION
from muphy_lb.operators import Operator, named
from muphy_lb.operators.operator import exchanger
from muphy_lb.operators.unroll import unroll

VOXEL, OFFSET = POSITION
VELOCITY = ("velocity_x", "velocity_y", "velocity_z")
FORCE = ("force_x", "force_y", "force_z")
TRAVELLED = ("travelled_x", "travelled_y", "travelled_z")
PLACE = ("place_x", "place_y", "place_z")
HEAD, NEXT, CELL = "head", "next", "cell"

WANTED, ARRIVING, PUSH = "bead_nodes", "bead_flow", "bead_push"

#: Bits of ``WANTED``: nodes that beads of other ranks can push, and those that beads of this one push.
AT_BORDER, MARKED = 1, 2
#: Unit of forces that are added up as integers, lattice units: exact in any order, and large enough for 2^19.
FORCE_UNIT = 2.0**-44
SHIFT = 40
PLACE_UNIT = 2.0**-SHIFT  # unit of positions known to every rank, in voxels


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


FORGET = Operator("forget", _forget, _forget_node, named(*PLACE, HEAD))  # empties the positions by id, and the cells


@cache
def drift(publishes: bool) -> Operator:
    """Half a kick and a move; with ``publishes`` the new position is written by id."""
    columns = (*VOXEL, *OFFSET, *VELOCITY, *FORCE, *TRAVELLED)
    names = named("id", *columns, "mass", "duration", *(PLACE if publishes else ()))

    def reference(i, lattice, parameters):
        duration = parameters["duration"]
        for k in range(3):
            mass = parameters["mass"][parameters["id"][i]]
            velocity = parameters[VELOCITY[k]][i] + 0.5 * duration / mass * parameters[FORCE[k]][i]
            parameters[VELOCITY[k]][i] = velocity
            parameters[OFFSET[k]][i] += velocity * duration
            parameters[TRAVELLED[k]][i] += velocity * duration
            if publishes:
                offset = np.rint(parameters[OFFSET[k]][i] / PLACE_UNIT).astype(np.int64)
                parameters[PLACE[k]][parameters["id"][i]] = (np.int64(parameters[VOXEL[k]][i]) << SHIFT) + offset

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
            own_mass = parameters[mass][number]
            for k in range(3):
                v = parameters[velocity[k]][i] + half * time / own_mass * parameters[force[k]][i]
                parameters[velocity[k]][i] = v
                o = parameters[offset[k]][i] + v * time
                parameters[offset[k]][i] = o
                parameters[travelled[k]][i] += v * time
                write(parameters[place[k]], number, (parameters[voxel[k]][i] << shift) + whole(round(o / unit)))

        return jit(unroll(move))

    return Operator("drift-known" if publishes else "drift", reference, node, names)


def cell_node(jit):
    """Node function ``(place, size, wraps, cell)`` -> cell along one axis."""
    half, shift, zero, one = np.int64(1 << SHIFT - 1), np.int64(SHIFT), np.int64(0), np.int64(1)

    def along_axis(place, size, wraps, cell):
        voxel = (place + half) >> shift
        if wraps == 1:
            voxel = voxel + size if voxel < 0 else voxel
            voxel = voxel - size if voxel >= size else voxel
        voxel = min(max(voxel, zero), size - one)
        return min(voxel // cell, max(size // cell, one) - one)

    return jit(along_axis)


def _insert(i, lattice, parameters):
    """The specification searches all pairs and needs no cells."""


def _insert_node(lattice, precision, jit, at):
    along_axis, exchange = cell_node(jit), exchanger(jit)
    x_at, y_at, z_at = (at[name] for name in PLACE)
    head, following, lookup, cell_at, whole = at[HEAD], at[NEXT], at["lookup"], at[CELL], np.int64

    def insert(i, parameters):
        size, cell = parameters[lookup].size, parameters[cell_at]
        cx = along_axis(parameters[x_at][i], size[0], size[6], cell)
        cy = along_axis(parameters[y_at][i], size[1], size[7], cell)
        cz = along_axis(parameters[z_at][i], size[2], size[8], cell)
        bucket = ((cz * size[1] + cy) * size[0] + cx) % whole(parameters[head].size)
        parameters[following][i] = exchange(parameters[head], bucket, whole(i))

    return jit(insert)


#: Puts every bead into the list of its cell.
INSERT = Operator("insert", _insert, _insert_node, named("lookup", CELL, HEAD, NEXT, *PLACE))
