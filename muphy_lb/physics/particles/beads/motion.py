"""How beads move: velocity Verlet with forces of bonds, bending, other beads and walls; and the names of their columns.

    v += f dt/2m,  x += v dt,  f = f(x),  v += f dt/2m,        n_sub times a step, dt = 1 / n_sub

Where beads pass openings, those that wait or have left stay where they are, feel nothing, and are known to others as
far away. A bead that crosses an opening has left if the fluid around it goes that way; else it is reflected, so that
nothing diffuses out against an inflow.

Positions are made known to every rank by id, as integers (``PLACE_UNIT``); each rank computes the forces on its own
beads from these. Differences of integers are exact, and forces of other beads are summed as integers, so no force
depends on ranks or on the order in which beads are found. Beads near each other are found by linked lists in a table of
cells, addressed by a hash of the cell.
"""

from functools import cache

import numpy as np

from muphy_lb.domain.lookup import OPENING, crossed, crossed_node, look_up, look_up_node
from muphy_lb.model.model import POSITION
from muphy_lb.operators import Operator, named
from muphy_lb.operators.operator import exchanger
from muphy_lb.operators.unroll import unroll
from muphy_lb.physics.particles.openings import BORN, END, END_STEP, TOUCHING, UNDER_WAY, are_under_way, under_way_node

VOXEL, OFFSET = POSITION
VELOCITY = ("velocity_x", "velocity_y", "velocity_z")
FORCE = ("force_x", "force_y", "force_z")
TRAVELLED = ("travelled_x", "travelled_y", "travelled_z")
PLACE = ("place_x", "place_y", "place_z")
HEAD, NEXT, CELL = "head", "next", "cell"
FLOW = ("flow_x", "flow_y", "flow_z")  # velocity of the fluid around a bead, where beads pass openings
OPEN = (END, BORN, "step")  # names by which it follows whether a bead moves

WANTED, ARRIVING, PUSH = "bead_nodes", "bead_flow", "bead_push"

#: Bits of ``WANTED``: nodes that beads of other ranks can push, and those that beads of this one push.
AT_BORDER, MARKED = 1, 2
#: Unit of forces that are added up as integers, lattice units: exact in any order, and large enough for 2^19.
FORCE_UNIT = 2.0**-44
SHIFT = 40
PLACE_UNIT = 2.0**-SHIFT  # unit of positions known to every rank, in voxels
AWAY = -(1 << 61)  # position known of a bead that is not in the flow: beyond the reach of any force


def moving(i: np.ndarray, p, passes: bool) -> np.ndarray:
    """The beads among ``i`` that are in the flow; all where none passes openings."""
    return i[are_under_way(i, p)] if passes else i


def moves_node(jit, at, passes: bool):
    """Node function of :func:`moving`: ``(i, parameters)``, whether a bead is in the flow."""
    if not passes:
        return jit(lambda i, parameters: True)
    is_under_way, (end, born, step) = under_way_node(jit), (at[name] for name in OPEN)
    return jit(lambda i, p: is_under_way(p[end][i], p[born][i], p[step][0]))


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
def drift(publishes: bool, passes: bool = False) -> Operator:
    """Half a kick and a move; with ``publishes`` the new position is written by id; ``passes``: openings."""
    columns = (*VOXEL, *OFFSET, *VELOCITY, *FORCE, *TRAVELLED)
    own_names = (*(PLACE if publishes else ()), *(OPEN if passes else ()))
    names = named("id", *columns, "mass", "duration", *own_names)

    def reference(i, lattice, parameters):
        duration = parameters["duration"]
        if publishes and passes:
            for name in PLACE:
                parameters[name][parameters["id"][i]] = AWAY
        i = moving(i, parameters, passes)
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
        moves, away = moves_node(jit, at, passes), np.int64(AWAY)

        def move(i, parameters):
            time, number = real(parameters[duration]), parameters[own][i]
            if not moves(i, parameters):
                for k in range(3):
                    write(parameters[place[k]], number, away)
                return
            own_mass = parameters[mass][number]
            for k in range(3):
                v = parameters[velocity[k]][i] + half * time / own_mass * parameters[force[k]][i]
                parameters[velocity[k]][i] = v
                o = parameters[offset[k]][i] + v * time
                parameters[offset[k]][i] = o
                parameters[travelled[k]][i] += v * time
                write(parameters[place[k]], number, (parameters[voxel[k]][i] << shift) + whole(round(o / unit)))

        return jit(unroll(move))

    name = ("drift-known" if publishes else "drift") + ("-open" if passes else "")
    return Operator(name, reference, node, names)


def _depart(i, lattice, p):
    i = moving(i, p, True)
    p[END][i] = UNDER_WAY
    here = np.stack([p[name][i] for name in VOXEL])
    offset = np.stack([p[name][i] for name in OFFSET])
    hop = crossed(offset)
    is_gone = np.zeros(i.size, dtype=bool)
    for k in range(3):
        there = here.copy()
        there[k] += hop[k]
        found = look_up(p["lookup"], *there)
        meets = (hop[k] != 0) & (found <= OPENING) & ~is_gone
        leaves = meets & (hop[k] * p[FLOW[k]][i] > 0.0)
        back = np.where(meets & ~leaves, np.clip(hop[k] - offset[k], -TOUCHING, TOUCHING), offset[k])
        p[VELOCITY[k]][i] = np.where(meets & ~leaves, -p[VELOCITY[k]][i], p[VELOCITY[k]][i])
        p[END][i] = np.where(leaves, OPENING - found + 1, p[END][i])
        p[END_STEP][i] = np.where(leaves, p["step"][0], p[END_STEP][i])
        p[TRAVELLED[k]][i] += back - offset[k]
        offset[k], here[k] = back, np.where(meets, here[k], there[k])
        is_gone |= leaves
    for k in range(3):
        last = np.where(is_gone, np.clip(offset[k], -TOUCHING, TOUCHING), offset[k])
        p[TRAVELLED[k]][i] += last - offset[k]
        p[OFFSET[k]][i] = last


def _depart_node(lattice, precision, jit, at):
    moves, hop_of, find = moves_node(jit, at, True), crossed_node(jit), look_up_node(jit)
    voxel, offset, speed, flow, travelled = (
        tuple(at[name] for name in names) for names in (VOXEL, OFFSET, VELOCITY, FLOW, TRAVELLED)
    )
    lookup, end, end_step, step = at["lookup"], at[END], at[END_STEP], at["step"]
    under_way, opening, one, nowhere = (np.int32(x) for x in (UNDER_WAY, OPENING, 1, 0))
    touching, zero, wide = np.float64(TOUCHING), np.float64(0.0), np.int64

    inside = jit(lambda to: min(max(to, -touching), touching))

    def depart(i, p):
        if not moves(i, p):
            return
        p[end][i] = under_way
        x, y, z = wide(p[voxel[0]][i]), wide(p[voxel[1]][i]), wide(p[voxel[2]][i])
        for k in range(3):
            hop = hop_of(p[offset[k]][i])
            tx, ty, tz = (
                x + (hop if k == 0 else nowhere),
                y + (hop if k == 1 else nowhere),
                z + (hop if k == 2 else nowhere),
            )
            found = find(p[lookup], tx, ty, tz) if hop != nowhere and p[end][i] == under_way else nowhere
            if found > opening:
                x, y, z = tx, ty, tz
            elif hop * p[flow[k]][i] > zero:
                p[end][i] = opening - found + one
                p[end_step][i] = p[step][0]
            else:
                back = inside(hop - p[offset[k]][i])
                p[travelled[k]][i] += back - p[offset[k]][i]
                p[offset[k]][i] = back
                p[speed[k]][i] = -p[speed[k]][i]
        if p[end][i] != under_way:
            for k in range(3):
                last = inside(p[offset[k]][i])
                p[travelled[k]][i] += last - p[offset[k]][i]
                p[offset[k]][i] = last

    return jit(unroll(depart))


#: Beads that have crossed an opening leave, or are reflected; and those that enter in this step have entered.
DEPART = Operator(
    "depart",
    _depart,
    _depart_node,
    named("lookup", *VOXEL, *OFFSET, *VELOCITY, *TRAVELLED, *FLOW, *OPEN, END_STEP),
)


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
    away = whole(AWAY)

    def insert(i, parameters):
        size, cell = parameters[lookup].size, parameters[cell_at]
        if parameters[x_at][i] == away:
            return
        cx = along_axis(parameters[x_at][i], size[0], size[6], cell)
        cy = along_axis(parameters[y_at][i], size[1], size[7], cell)
        cz = along_axis(parameters[z_at][i], size[2], size[8], cell)
        bucket = ((cz * size[1] + cy) * size[0] + cx) % whole(parameters[head].size)
        parameters[following][i] = exchange(parameters[head], bucket, whole(i))

    return jit(insert)


#: Puts every bead into the list of its cell.
INSERT = Operator("insert", _insert, _insert_node, named("lookup", CELL, HEAD, NEXT, *PLACE))
