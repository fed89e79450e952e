"""A step of a tracer: with the velocity between nodes, and at random.

The velocity between nodes is linear in every voxel, and its mean over the voxel is the velocity of the node, so that
its mean over the fluid is that of the flow, whatever the geometry. Slopes are central differences; beside a wall, which
lies half-way, the component across it falls to zero there, and the others continue as between the nodes on the other
side, but not beyond zero. (With half-way bounce-back the velocity of a node is exactly the mean of the flows through
two opposite faces of its voxel: with a wall on one side the flow through the other is twice it.) Then the slopes along
axes without walls are corrected so that the divergence is zero: the flow neither gathers nor thins tracers.

Both matter for residence times, which are volume over flow only if the flow keeps a uniform density of tracers uniform.
Measured by the mean velocity of tracers that started uniformly, after two crossings of a periodic pack of spheres four
voxels in radius (porosity 0.5), over that of the flow: 0.98; the same with linear interpolation between nodes, the
component across a wall zero there, and weights shared among fluid nodes for the others: 0.95.

x += (3 u_n - u_(n-1)) / 2 + sqrt(2 D) xi: Adams-Bashforth in time, Euler in its first step; u interpolated after the
step of the flow, xi independent, uniform, with variance one along each axis, from Philox words keyed by seed, id and
step (:mod:`muphy_lb.operators.philox`).

The axes take turns, so that every move crosses at most one face of a voxel. At a face of a wall a tracer is reflected,
which keeps a uniform density of random walkers uniform exactly, or it sticks. At a face of an opening the walk is
reflected, and a tracer that the flow then carries across has left, at this face. So tracers come and go with the flow
alone (closed boundaries: Danckwerts, Chem. Eng. Sci. 2, 1 (1953)), an even density stays even (but within a step of an
inlet, where a tracer whose walk would have crossed and which the flow has brought back is not reflected), and the mean
time that they stay is the volume over the flow with diffusion as without.
"""

from functools import cache

import numpy as np

from muphy_lb.domain.lookup import HERE, OPENING, STRIDES, WALL, crossed, crossed_node, look_around_nodes, look_up
from muphy_lb.lattice.layout import RECORD
from muphy_lb.model.model import POSITION
from muphy_lb.model.settle import settle
from muphy_lb.operators import VELOCITY_VECTOR, Operator, named
from muphy_lb.operators.operator import vector_reader
from muphy_lb.operators.philox import random_numbers, random_numbers_node
from muphy_lb.operators.unroll import unroll
from muphy_lb.physics.particles.openings import BORN, END, END_STEP, STUCK, TOUCHING, UNDER_WAY, WAITING


def velocity(field, at: np.ndarray, offset: np.ndarray, n_axes: int) -> np.ndarray:
    """Velocity (3, n) at places, computed in the precision of the field.

    Args:
        field: vectors at nodes.
        at: (7, n) the node of each place, and what is found at its neighbours along +x, -x, +y, -y, +z, -z
            (:func:`muphy_lb.domain.lookup.look_up`).
        offset: (3, n) from the node.
        n_axes: dimension of the lattice.
    """
    fields = field.reshape(-1, RECORD).T[:3]
    own = fields[:, at[0]]
    offset, half, one, two = offset.astype(own.dtype), *map(own.dtype.type, (0.5, 1.0, 2.0))
    slope = np.zeros((3, 3, at.shape[1]), own.dtype)
    is_free = np.zeros((3, at.shape[1]), dtype=bool)
    for b in range(n_axes):
        own[b][(at[1 + 2 * b] == WALL) & (at[2 + 2 * b] == WALL)] = 0.0
    for b in range(n_axes):
        plus, minus = at[1 + 2 * b], at[2 + 2 * b]
        is_free[b] = (plus != WALL) & (minus != WALL)
        factor = np.where((plus >= 0) & (minus >= 0), half, one)
        for a in range(3):
            above, below = (np.where(node >= 0, fields[a][np.maximum(node, 0)], own[a]) for node in (plus, minus))
            free = factor * (above - below)
            most = two * np.abs(own[a])
            at_wall = np.where(plus == WALL, -two, two) * own[a] if a == b else np.clip(free, -most, most)
            slope[a, b] = np.where(is_free[b], free, at_wall)
    shares = np.array([1.0, 1.0, 1.0 / 2.0, 1.0 / 3.0], own.dtype)
    excess = np.einsum("aan->n", slope) * shares[is_free.sum(axis=0)]
    for a in range(n_axes):
        slope[a, a][is_free[a]] -= excess[is_free[a]]
    return own + np.einsum("abn,bn->an", slope, offset)


def _slope_node(jit, real):
    """Node function: slope of a component, from its values at the node and at two neighbours, and what these are."""
    wall, nothing, half, one, two = np.int32(WALL), np.int32(0), real(0.5), real(1.0), real(2.0)

    def slope(own, above, below, plus, minus, is_along):
        free = (above if plus >= nothing else own) - (below if minus >= nothing else own)
        most = two * abs(own)
        beside_wall = min(max(free, -most), most)
        if is_along:
            beside_wall = -two * own if plus == wall else two * own
        factor = half if min(plus, minus) >= nothing else one
        return beside_wall if plus == wall or minus == wall else factor * free

    return jit(slope)


@cache
def velocity_node(jit, real, n_axes: int):
    """Node function of :func:`velocity`: the field, seven addresses, three offsets, which are of the type ``real`` as
    the field, -> three components. It reads without a condition, so that GPUs wait for all neighbours at once."""
    wall, nothing, is_solid = np.int32(WALL), np.int32(0), n_axes == 3
    zero, one, half, third = real(0.0), real(1.0), real(1.0 / 2.0), real(1.0 / 3.0)
    read, slope = vector_reader(jit), _slope_node(jit, real)
    beside = jit(lambda field, node: read(field, np.uint32(max(node, nothing))))
    between = jit(lambda own, plus, minus: zero if plus == wall and minus == wall else own)
    shares = jit(lambda count: third if count == 3 else half if count == 2 else one)
    freedom = jit(lambda plus, minus: np.int32(0) if plus == wall or minus == wall else np.int32(1))

    def interpolate(field, at, offset):
        node, e, w, n, s, t, b = at
        x, y, z = offset
        own, to_e, to_w, to_n, to_s = (
            beside(field, node),
            beside(field, e),
            beside(field, w),
            beside(field, n),
            beside(field, s),
        )
        to_t, to_b = (beside(field, t), beside(field, b)) if is_solid else (own, own)
        u, v = between(own[0], e, w), between(own[1], n, s)
        u_x, v_y = slope(u, to_e[0], to_w[0], e, w, True), slope(v, to_n[1], to_s[1], n, s, True)
        free_x, free_y = freedom(e, w), freedom(n, s)
        at_u = u + slope(u, to_n[0], to_s[0], n, s, False) * y
        at_v = v + slope(v, to_e[1], to_w[1], e, w, False) * x
        at_w, w_z, free_z = zero, zero, nothing
        if is_solid:
            o = between(own[2], t, b)
            w_z, free_z = slope(o, to_t[2], to_b[2], t, b, True), freedom(t, b)
            at_u += slope(u, to_t[0], to_b[0], t, b, False) * z
            at_v += slope(v, to_t[1], to_b[1], t, b, False) * z
            at_w = o + slope(o, to_e[2], to_w[2], e, w, False) * x + slope(o, to_n[2], to_s[2], n, s, False) * y
        excess = (u_x + v_y + w_z) * shares(free_x + free_y + free_z)
        return (
            at_u + (u_x - (excess if free_x else zero)) * x,
            at_v + (v_y - (excess if free_y else zero)) * y,
            at_w + (w_z - (excess if free_z else zero)) * z,
        )

    return jit(interpolate)


STREAM = 0x74726163  # second word of the key: sets tracers apart from other noise with the same seed

VOXEL, OFFSET = POSITION
#: Where a tracer would have started, had it come to its position without crossing periodic edges.
ORIGIN = ("origin_x", "origin_y", "origin_z")
BEFORE = ("before_x", "before_y", "before_z")
INTEGERS, REALS, VALUES = (END,), (BORN, END_STEP, *ORIGIN), BEFORE

COLUMNS = ("id", *VOXEL, *OFFSET, *INTEGERS, *REALS, *VALUES)
PARAMETERS = named("lookup", "step", "seed", "amplitude", *COLUMNS, VELOCITY_VECTOR)
AROUND = ((0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))


def travelled(columns) -> np.ndarray:
    """(3, n) how far tracers have come since they started, in voxels."""
    names = zip(VOXEL, OFFSET, ORIGIN, strict=True)
    return np.stack([columns[voxel] + columns[offset] - columns[origin] for voxel, offset, origin in names])


def _interpolated(i, p, n_axes: int) -> np.ndarray:
    """(3, n) velocity at tracers."""
    voxel, offset = (np.stack([p[name][i] for name in names]) for names in POSITION)
    places = [voxel + np.array(way)[:, None] for way in AROUND]
    at = np.stack([look_up(p["lookup"], *place) for place in places])
    return velocity(p[VELOCITY_VECTOR], at, offset, n_axes)


def _walk(sticks: bool, n_axes: int):
    def reference(i, lattice, p):
        step, size, wraps, node = int(p["step"][0]), p["lookup"].size[:3], p["lookup"].size[6:9], np.full(i.size, HERE)
        under_way = np.flatnonzero((p[END][i] == UNDER_WAY) | (p[END][i] == WAITING) & (p[BORN][i] < step))
        i = i[under_way]
        moved = _interpolated(i, p, n_axes)
        real = moved.dtype.type
        before = np.stack([p[name][i] for name in BEFORE])
        move = np.where(p[END][i] == WAITING, moved, real(1.5) * moved - real(0.5) * before)
        carried = move.copy()
        move[:n_axes] += real(p["amplitude"]) * random_numbers(p["id"][i], step, p["seed"], STREAM, real)[:n_axes]
        voxel, end = np.stack([p[name][i] for name in VOXEL]), np.full(i.size, UNDER_WAY)
        for axis in range(3):
            start = p[OFFSET[axis]][i]
            target = start + move[axis]
            hop = crossed(target)
            beyond = voxel.copy()
            beyond[axis] += hop
            found = look_up(p["lookup"], *beyond)
            hits, is_open = (hop != 0) & (found == WALL), (hop != 0) & (found <= OPENING)
            walked = start + (move[axis] - carried[axis])
            walked = np.where(crossed(walked) == hop, hop - walked, walked)
            leaves = is_open & (crossed(walked + carried[axis]) == hop)
            goes_on = end == UNDER_WAY
            back = hop * TOUCHING if sticks else np.clip(hop - target, -TOUCHING, TOUCHING)
            within = np.where(leaves, hop * TOUCHING, walked + carried[axis])
            target = np.where(hits, back, np.where(is_open, within, target))
            voxel[axis] += np.where(hits | is_open | ~goes_on, 0, hop)
            is_across = (wraps[axis] == 1) & ((voxel[axis] < 0) | (voxel[axis] >= size[axis]))
            p[ORIGIN[axis]][i] -= np.where(is_across, hop * size[axis], 0)
            end = np.where(goes_on & leaves, OPENING - found + 1, end)
            end = np.where(goes_on & hits & sticks, STUCK, end)
            p[OFFSET[axis]][i] = np.where(goes_on, target, start)
            p[BEFORE[axis]][i] = moved[axis]
        p[END][i], p[END_STEP][i] = end, np.where(end != UNDER_WAY, step, p[END_STEP][i])
        node[under_way] = settle(i, lattice, p)
        return node

    return reference


def _flow_node(jit, real, n_axes: int):
    """Node function: (lookup, field, place, offset) -> the three components of the velocity; ``place`` as of
    :class:`muphy_lb.domain.lookup.LookAround`."""
    at, interpolate = look_around_nodes(jit).at, velocity_node(jit, real, n_axes)
    one, none, other, wall, is_solid = np.int32(1), np.int32(0), np.int32(-1), np.int32(WALL), n_axes == 3

    def flow(lookup, field, place, offset):
        node = at(lookup, place, none, none, none)
        east, west = at(lookup, place, one, none, none), at(lookup, place, other, none, none)
        north, south = at(lookup, place, none, one, none), at(lookup, place, none, other, none)
        top, bottom = wall, wall
        if is_solid:
            top, bottom = at(lookup, place, none, none, one), at(lookup, place, none, none, other)
        return interpolate(field, (node, east, west, north, south, top, bottom), offset)

    return jit(flow)


def _move_node(jit, sticks: bool):
    """Node function: a move along one axis from an offset -> offset and position behind it, and value of ``end``;
    ``carried`` is what of the move is with the flow."""
    hop_of, strides, nowhere, touching = crossed_node(jit), STRIDES, np.int32(0), TOUCHING
    opening, one, stuck, under_way = np.int32(OPENING), np.int32(1), np.int32(STUCK), np.int32(UNDER_WAY)
    end, address = np.int32, np.uint64

    def move(lookup, place, axis, start, by, carried):
        target = start + by
        hop = hop_of(target)
        beyond = place + strides[axis] * hop
        found = lookup.entry[address(beyond)]
        if hop == nowhere or found >= nowhere:
            return target, beyond, under_way
        if found <= opening:
            walked = start + (by - carried)
            walked = hop - walked if hop_of(walked) == hop else walked
            if hop_of(walked + carried) == hop:
                return hop * touching, place, end(opening - found + one)
            return walked + carried, place, under_way
        if sticks:
            return hop * touching, place, stuck
        return min(max(hop - target, -touching), touching), place, under_way

    return jit(move)


def _moves_node(jit, sticks: bool):
    """Node function: moves along all axes in turn -> the three offsets, the node, and value of ``end``; ``carried`` is
    what of the moves is with the flow. Most meet nothing but nodes: these are looked up at once, so that GPUs wait
    once."""
    move, hop_of, address, (_, to_y, to_z) = _move_node(jit, sticks), crossed_node(jit), np.uint64, STRIDES
    under_way, nowhere = np.int32(UNDER_WAY), np.int32(0)

    def carefully(lookup, place, start, by, carried):
        x, place, how = move(lookup, place, 0, start[0], by[0], carried[0])
        y, z = start[1], start[2]
        if how == under_way:
            y, place, how = move(lookup, place, 1, y, by[1], carried[1])
        if how == under_way:
            z, place, how = move(lookup, place, 2, z, by[2], carried[2])
        return x, y, z, lookup.entry[address(place)], how

    in_turn = jit(carefully)

    def moves(lookup, place, start, by, carried):
        x, y, z = start[0] + by[0], start[1] + by[1], start[2] + by[2]
        first = place + hop_of(x)
        second = first + to_y * hop_of(y)
        third = second + to_z * hop_of(z)
        node = lookup.entry[address(third)]
        if min(lookup.entry[address(first)], lookup.entry[address(second)], node) < nowhere:
            return in_turn(lookup, place, start, by, carried)
        return x, y, z, node, under_way

    return jit(moves)


def _arrive_node(jit, at):
    """Node function ``(i, p, voxel, to)``: store a tracer's place, its offsets ``to`` brought back into their range."""
    hop_of, nowhere, nothing, one = crossed_node(jit), np.int32(0), np.int64(0), np.float64(1.0)
    lookup = at["lookup"]
    voxels, offsets, origins = (tuple(at[each] for each in names) for names in (VOXEL, OFFSET, ORIGIN))

    def arrive(i, p, voxel, to):
        for k in range(3):
            hop = hop_of(to[k])
            p[offsets[k]][i] = to[k] - one if hop > nowhere else to[k] + one if hop < nowhere else to[k]
            if hop != nowhere:
                n, there = p[lookup].size[k], voxel[k] + hop
                turn = nothing if nothing <= there < n else hop * n
                p[voxels[k]][i] = there - turn
                if turn != nothing:
                    p[origins[k]][i] -= turn

    return jit(unroll(arrive))


def _displacement_node(jit, precision, n_axes: int, at):
    """Node function ``(i, p, state, u, v, w)`` -> the move along each axis, of the flow with this velocity and at
    random, and the part of it with the flow."""
    real, whole, numbers = precision.real, np.int64, random_numbers_node(jit, STREAM, precision.real)
    now, identity, seed, amplitude = (at[name] for name in ("step", "id", "seed", "amplitude"))
    bx, by, bz = (at[name] for name in BEFORE)
    waiting, depth = np.int32(WAITING), real(n_axes == 3)
    zero, half, one = real(0.0), real(0.5), real(1.0)

    def displacement(i, p, state, u, v, w):
        old = zero if state == waiting else half
        new = one + old
        dx, dy, dz = new * u - old * p[bx][i], new * v - old * p[by][i], new * w - old * p[bz][i]
        length, carried = real(p[amplitude]), (dx, dy, dz)
        if length > zero:
            rx, ry, rz, _ = numbers(whole(p[identity][i]), p[now][0], p[seed])
            dx, dy, dz = dx + length * rx, dy + length * ry, dz + length * depth * rz
        return (dx, dy, dz), carried

    return jit(displacement)


def _walk_node(sticks: bool, n_axes: int):
    def node(lattice, precision, jit, at):
        place_of, moves, arrive = look_around_nodes(jit).place, _moves_node(jit, sticks), _arrive_node(jit, at)
        flow, displacement = _flow_node(jit, precision.real, n_axes), _displacement_node(jit, precision, n_axes, at)
        lookup, now, vector = (at[name] for name in ("lookup", "step", VELOCITY_VECTOR))
        born, end, end_step = (at[name] for name in (BORN, END, END_STEP))
        (vx, vy, vz), (ox, oy, oz), (bx, by, bz) = (
            tuple(at[each] for each in names) for names in (VOXEL, OFFSET, BEFORE)
        )
        under_way, waiting, here, real = np.int32(UNDER_WAY), np.int32(WAITING), np.int32(HERE), precision.real

        def update(i, p):
            known, state = p[lookup], p[end][i]
            if state != under_way and (state != waiting or p[born][i] >= p[now][0]):
                return here
            voxel, offset = (p[vx][i], p[vy][i], p[vz][i]), (p[ox][i], p[oy][i], p[oz][i])
            place = place_of(known, voxel[0], voxel[1], voxel[2])
            u, v, w = flow(known, p[vector], place, (real(offset[0]), real(offset[1]), real(offset[2])))
            move, carried = displacement(i, p, state, u, v, w)
            x, y, z, node, how = moves(known, place, offset, move, carried)
            p[bx][i], p[by][i], p[bz][i] = u, v, w  # behind all reads, for which a GPU waits together
            arrive(i, p, voxel, (x, y, z))
            if how != state:
                p[end][i] = how
            if how != under_way:
                p[end_step][i] = p[now][0]
            return node

        return jit(update)

    return node


@cache
def walk(sticks: bool, n_axes: int) -> Operator:
    """The step of a tracer.

    Args:
        sticks: whether tracers stick to walls; else they are reflected.
        n_axes: number of axes along which they diffuse, the dimension of the lattice.
    """
    name = f"walk_{n_axes}{'_stick' if sticks else ''}"
    return Operator(name, _walk(sticks, n_axes), _walk_node(sticks, n_axes), PARAMETERS)
