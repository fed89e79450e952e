"""A step of a tracer: with the flow, and at random.

x += (3 u_n - u_(n-1)) / 2 + sqrt(2 D) xi: Adams-Bashforth in time, Euler in its first step; u interpolated
(:mod:`muphy_lb.physics.particles.tracers.interpolation`) after the step of the flow, xi independent, uniform, with
variance one along each axis, from Philox words keyed by seed, id and step (:mod:`muphy_lb.operators.philox`).

The axes take turns, so that every move crosses at most one face of a voxel. At a face of a wall a tracer is reflected,
which keeps a uniform density of random walkers uniform exactly, or it sticks. Behind a face of an opening it has left.
"""

from functools import cache
from math import floor

import numpy as np

from muphy_lb.domain.lookup import OPENING, WALL, look_up, look_up_nodes
from muphy_lb.operators import VELOCITY_FIELDS, Operator, named
from muphy_lb.operators.philox import random_numbers, random_numbers_node
from muphy_lb.physics.model import POSITION
from muphy_lb.physics.particles.tracers.interpolation import velocity, velocity_node

STREAM = 0x74726163
"""Second word of the key: sets tracers apart from other noise with the same seed."""

VOXEL, OFFSET = POSITION
TRAVELLED = ("travelled_x", "travelled_y", "travelled_z")
BEFORE = ("before_x", "before_y", "before_z")
BORN, END, END_STEP = "born_step", "end", "end_step"
INTEGERS, REALS = (BORN, END, END_STEP), (*TRAVELLED, *BEFORE)
UNDER_WAY, STUCK = 0, -1
"""Values of the column ``end``; k + 1 of those that have left through opening k."""

TOUCHING = 0.5 - 2.0**-30
"""Largest offset of what is at a wall: a face itself belongs to the voxel beyond it."""

PARAMETERS = named("lookup", "step", "id", "seed", "amplitude", *VOXEL, *OFFSET, *INTEGERS, *REALS, *VELOCITY_FIELDS)
REPLACING = (
    (lambda all, x: (x, all[1], all[2])),
    (lambda all, y: (all[0], y, all[2])),
    (lambda all, z: (all[0], all[1], z)),
)
"""Of what is known along each axis, one is replaced."""
AROUND = ((0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))


def _interpolated(i, p, n_axes: int) -> np.ndarray:
    """(3, n) velocity at tracers."""
    voxel, offset = (np.stack([p[name][i] for name in names]) for names in POSITION)
    places = [voxel + np.array(way)[:, None] for way in AROUND]
    at = np.stack([look_up(p["lookup"], *place) for place in places])
    return velocity([p[name] for name in VELOCITY_FIELDS], at, offset, n_axes)


def _walk(sticks: bool, n_axes: int):
    def reference(i, lattice, p):
        step = int(p["step"][0])
        i = i[(p[END][i] == UNDER_WAY) & (p[BORN][i] < step)]
        moved = _interpolated(i, p, n_axes)
        before = np.stack([p[name][i] for name in BEFORE])
        move = np.where(p[BORN][i] + 1 == step, moved, 1.5 * moved - 0.5 * before)
        move[:n_axes] += p["amplitude"] * random_numbers(p["id"][i], step, p["seed"], STREAM)[:n_axes]
        voxel = np.stack([p[name][i] for name in VOXEL])
        end = np.zeros(i.size, dtype=np.int64)
        for axis in range(3):
            start = p[OFFSET[axis]][i]
            target = start + move[axis]
            hop = np.floor(target + 0.5).astype(np.int64)
            beyond = voxel.copy()
            beyond[axis] += hop
            found = look_up(p["lookup"], *beyond)
            hits, leaves = (hop != 0) & (found == WALL), (hop != 0) & (found <= OPENING)
            under_way = end == UNDER_WAY
            back = hop * TOUCHING if sticks else np.clip(hop - target, -TOUCHING, TOUCHING)
            target = np.where(hits, back, np.where(leaves, start, target))
            target = np.where(under_way, target, start)
            voxel[axis] += np.where(hits | leaves | ~under_way, 0, hop)
            end = np.where(under_way & leaves, OPENING - found + 1, end)
            end = np.where(under_way & hits & sticks, STUCK, end)
            p[OFFSET[axis]][i] = target
            p[TRAVELLED[axis]][i] += target - start
            p[BEFORE[axis]][i] = moved[axis]
        p[END][i], p[END_STEP][i] = end, np.where(end != UNDER_WAY, step, p[END_STEP][i])

    return reference


def _flow_node(jit, n_axes: int):
    """Node function: (lookup, fields, voxel, what :class:`muphy_lb.domain.lookup.LookUp` knows along each axis, offset)
    -> the three components of the velocity."""
    (along_x, along_y, along_z, find), interpolate = look_up_nodes(jit), velocity_node(jit, n_axes)
    one, wall, is_solid = np.int64(1), np.int64(WALL), n_axes == 3

    def flow(lookup, fields, voxel, along, offset):
        x, y, z = along
        node = find(lookup, x, y, z)
        east = find(lookup, along_x(lookup, voxel[0] + one), y, z)
        west = find(lookup, along_x(lookup, voxel[0] - one), y, z)
        north = find(lookup, x, along_y(lookup, voxel[1] + one), z)
        south = find(lookup, x, along_y(lookup, voxel[1] - one), z)
        top, bottom = wall, wall
        if is_solid:
            top = find(lookup, x, y, along_z(lookup, voxel[2] + one))
            bottom = find(lookup, x, y, along_z(lookup, voxel[2] - one))
        return interpolate(fields, (node, east, west, north, south, top, bottom), offset)

    return jit(flow)


def _move_node(jit, sticks: bool, axis: int):
    """Node function: a move along one axis -> offset, what is known along each axis behind it, and value of ``end``."""
    nodes, replaced = look_up_nodes(jit), jit(REPLACING[axis])
    along_axis, find = nodes[axis], nodes.at
    opening, one, touching = np.int64(OPENING), np.int64(1), TOUCHING
    stuck, under_way = np.int64(STUCK), np.int64(UNDER_WAY)

    def move(lookup, start, by, x, along):
        target = start + by
        hop = np.int64(floor(target + 0.5))
        if hop == 0:
            return target, along, under_way
        beyond = replaced(along, along_axis(lookup, x + hop))
        found = find(lookup, beyond[0], beyond[1], beyond[2])
        if found >= 0:
            return target, beyond, under_way
        if found <= opening:
            return start, along, opening - found + one
        if sticks:
            return hop * touching, along, stuck
        return min(max(hop - target, -touching), touching), along, under_way

    return jit(move)


def _walk_node(sticks: bool, n_axes: int):
    def node(lattice, precision, jit, at):
        flow, numbers = _flow_node(jit, n_axes), random_numbers_node(jit, STREAM)
        along_x, along_y, along_z, _ = look_up_nodes(jit)
        move_x, move_y, move_z = (_move_node(jit, sticks, axis) for axis in range(3))
        lookup, now, identity, seed, amplitude = (at[name] for name in ("lookup", "step", "id", "seed", "amplitude"))
        (vx, vy, vz), (ox, oy, oz) = (tuple(at[name] for name in names) for names in POSITION)
        born, end, end_step, tx, ty, tz, bx, by, bz = (at[name] for name in (*INTEGERS, *REALS))
        ux, uy, uz = (at[name] for name in VELOCITY_FIELDS)
        under_way, one, depth = np.int64(UNDER_WAY), np.int64(1), float(n_axes == 3)

        def update(i, p):
            known, step, ended, birth = p[lookup], p[now][0], p[end][i], p[born][i]
            if ended != under_way or birth >= step:
                return
            voxel, offset = (p[vx][i], p[vy][i], p[vz][i]), (p[ox][i], p[oy][i], p[oz][i])
            # read ahead of what is written: GPUs wait for it once
            so_far, before = (p[tx][i], p[ty][i], p[tz][i]), (p[bx][i], p[by][i], p[bz][i])
            along = along_x(known, voxel[0]), along_y(known, voxel[1]), along_z(known, voxel[2])
            x, y, z = flow(known, (p[ux], p[uy], p[uz]), voxel, along, offset)
            new = 1.0 if birth + one == step else 1.5
            old = 1.0 - new
            dx, dy, dz = new * x + old * before[0], new * y + old * before[1], new * z + old * before[2]
            p[bx][i], p[by][i], p[bz][i] = x, y, z
            if p[amplitude] > 0.0:
                rx, ry, rz, _ = numbers(p[identity][i], step, p[seed])
                dx, dy, dz = dx + p[amplitude] * rx, dy + p[amplitude] * ry, dz + p[amplitude] * depth * rz
            to, along, how = move_x(known, offset[0], dx, voxel[0], along)
            p[ox][i], p[tx][i] = to, so_far[0] + (to - offset[0])
            if how == under_way:
                to, along, how = move_y(known, offset[1], dy, voxel[1], along)
                p[oy][i], p[ty][i] = to, so_far[1] + (to - offset[1])
            if how == under_way:
                to, along, how = move_z(known, offset[2], dz, voxel[2], along)
                p[oz][i], p[tz][i] = to, so_far[2] + (to - offset[2])
            if how != under_way:
                p[end][i], p[end_step][i] = how, step

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
