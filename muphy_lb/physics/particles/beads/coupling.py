"""Friction between beads and fluid: each drags the other along, momentum is exchanged to the last digit.

    F = [-Gamma (v - u) + sqrt(2 Gamma kT) xi] / [1 + Gamma/2 (1/m + W)],   W = sum_a w_a^2,   u = sum_a w_a u_a,

on a bead, -w_a F on the nodes a around it (lattice units, rho_0 = 1). It is the mean over a step of the friction of
Ahlrichs, Duenweg, J. Chem. Phys. 111, 8225 (1999), the velocities in the middle of the step: bead and fluid together
keep the temperature that the noise xi asks for, whatever Gamma. u is that of the populations that have just arrived, in
this step: with the velocity of the step before the lattice's two-step oscillation grows without bounds.

Forces on nodes are multiples of ``FORCE_UNIT``, summed as integers; the bead takes their exact sum.
"""

from functools import cache
from math import floor, sqrt

import numpy as np

from muphy_lb.domain.corners import corners
from muphy_lb.domain.lookup import LAYER, look_up, look_up_node, look_up_nodes
from muphy_lb.lattice import Lattice, added
from muphy_lb.operators import Operator, named
from muphy_lb.operators.operator import adder
from muphy_lb.operators.philox import random_numbers, random_numbers_node
from muphy_lb.operators.unroll import unroll
from muphy_lb.physics.particles.beads.names import (
    ARRIVED,
    AT_BORDER,
    FORCE_UNIT,
    MARKED,
    OFFSET,
    PUSHES,
    VELOCITY,
    VOXEL,
    WANTED,
)

STREAM = 0x62656164
"""Second word of the key of the beads' noise."""

KERNELS = ("linear", "point")
"""Whose velocity drags a bead: that of the corners of the cell around it, interpolated, or of the nearest node."""

COUPLING = ("friction", "mass", "kt", "seed", "step")


def _cells(parameters, i, lattice: Lattice, kernel: str) -> tuple[np.ndarray, np.ndarray]:
    """Addresses and weights of the nodes that beads are coupled to."""
    voxel = np.stack([parameters[name][i] for name in VOXEL])
    if kernel == "point":
        return look_up(parameters["lookup"], *voxel)[None], np.ones((1, np.size(i)))
    offset = np.stack([parameters[name][i] for name in OFFSET])
    return corners(parameters["lookup"], voxel, offset, lattice.dimension)


def _cell_node(lattice: Lattice, jit, kernel: str):
    """Node function ``(lookup, x, y, z, ox, oy, oz)`` -> addresses, then weights: 2 n numbers."""
    if kernel == "point":
        find = look_up_node(jit)
        return jit(lambda lookup, x, y, z, ox, oy, oz: ((find(lookup, x, y, z),), (1.0,)))
    along_x, along_y, along_z, at = look_up_nodes(jit)
    dimension, count = lattice.dimension, 1 << lattice.dimension
    one, zero, whole = 1.0, 0.0, np.int64
    up_x, up_y, up_z = (tuple(corner >> k & 1 for corner in range(count)) for k in range(3))
    has_z = 1 if dimension == 3 else 0

    def cell(lookup, x, y, z, ox, oy, oz):
        bx, by, bz = floor(ox), floor(oy), floor(oz) * has_z
        fx, fy, fz = ox - bx, oy - by, (oz - bz) * has_z
        x, y, z = x + whole(bx), y + whole(by), z + whole(bz)
        xs = along_x(lookup, x), along_x(lookup, x + whole(1))
        ys = along_y(lookup, y), along_y(lookup, y + whole(1))
        zs = along_z(lookup, z), along_z(lookup, z + whole(1))
        found = [whole(0)] * count
        weight = [zero] * count
        total = zero
        for c in range(count):
            found[c] = at(lookup, xs[up_x[c]], ys[up_y[c]], zs[up_z[c]])
            share = (fx if up_x[c] else one - fx) * (fy if up_y[c] else one - fy) * (fz if up_z[c] else one - fz)
            weight[c] = share if found[c] >= 0 else zero
            total += weight[c]
        for c in range(count):
            weight[c] /= total
        return found, weight

    return jit(unroll(cell))


@cache
def mark(kernel: str) -> Operator:
    """Marks the own nodes that beads are coupled to."""

    def reference(i, lattice, parameters):
        address, _ = _cells(parameters, i, lattice, kernel)
        own = address[(address >= 0) & (address < parameters["lookup"].size[LAYER])]
        parameters[WANTED][own] |= MARKED

    def node(lattice, precision, jit, at):
        cell, count = _cell_node(lattice, jit, kernel), 1 if kernel == "point" else 1 << lattice.dimension
        lookup, wanted, place = at["lookup"], at[WANTED], tuple(at[name] for name in (*VOXEL, *OFFSET))
        flag, address = np.int8(MARKED), np.uint64

        def mark_cell(i, parameters):
            x, y, z = parameters[place[0]][i], parameters[place[1]][i], parameters[place[2]][i]
            ox, oy, oz = parameters[place[3]][i], parameters[place[4]][i], parameters[place[5]][i]
            found, _ = cell(parameters[lookup], x, y, z, ox, oy, oz)
            for c in range(count):
                if found[c] >= 0 and found[c] < parameters[lookup].size[LAYER]:
                    parameters[wanted][address(found[c])] |= flag

        return jit(unroll(mark_cell))

    return Operator(f"mark-{kernel}", reference, node, named("lookup", WANTED, *VOXEL, *OFFSET))


def _clear(n, lattice, parameters):
    for push in PUSHES:
        parameters[push][n] = 0
    parameters[WANTED][n] &= AT_BORDER


def _clear_node(lattice, precision, jit, at):
    wanted, (px, py, pz) = at[WANTED], (at[name] for name in PUSHES)
    nothing, border = np.int64(0), np.int8(AT_BORDER)

    def clear(n, parameters):
        parameters[px][n] = nothing
        parameters[py][n] = nothing
        parameters[pz][n] = nothing
        parameters[wanted][n] &= border

    return jit(clear)


CLEAR = Operator("clear", _clear, _clear_node, named(WANTED, *PUSHES))
"""Forgets what nodes beads were coupled to, and the forces there; the border stays marked, for the beads of others."""


def _pushed(n, parameters):
    force = FORCE_UNIT * np.stack([parameters[push][n] for push in PUSHES]).astype(np.float64)
    return np.where(parameters[WANTED][n] != 0, force, 0.0)


def _pushed_node(lattice, precision, jit, at):
    wanted, (px, py, pz) = at[WANTED], (at[name] for name in PUSHES)
    real, unit, zero = precision.real, np.float64(FORCE_UNIT * precision.unit), precision.real(0)

    def pushed(n, parameters):
        if parameters[wanted][n] == 0:
            return zero, zero, zero
        x, y, z = parameters[px][n], parameters[py][n], parameters[pz][n]
        return real(unit * x), real(unit * y), real(unit * z)

    return jit(pushed)


PUSHED = Operator("beads", _pushed, _pushed_node, named(WANTED, *PUSHES))
"""The force of beads on the fluid, as a body force."""


@cache
def couple(kernel: str, pushes_fluid: bool) -> Operator:
    """The friction of one step; without ``pushes_fluid`` the fluid does not notice."""
    names = named("lookup", "id", *VOXEL, *OFFSET, *VELOCITY, *COUPLING, *ARRIVED, *(PUSHES if pushes_fluid else ()))

    def reference(i, lattice, parameters):
        address, weight = _cells(parameters, i, lattice, kernel)
        flow = np.stack([added(weight * parameters[name][np.maximum(address, 0)]) for name in ARRIVED])
        friction, mass, kt = (parameters[name] for name in ("friction", "mass", "kt"))
        inertia = 1.0 / mass + (added(weight**2) if pushes_fluid else 0.0)
        velocity = np.stack([parameters[name][i] for name in VELOCITY])
        xi = random_numbers(parameters["id"][i], parameters["step"][0], parameters["seed"], STREAM)[: lattice.dimension]
        for k in range(lattice.dimension):
            force = sqrt(2.0 * friction * kt) * xi[k] - friction * (velocity[k] - flow[k])
            force /= 1.0 + 0.5 * friction * inertia
            if pushes_fluid:
                parts = np.rint(weight * force / FORCE_UNIT).astype(np.int64)
                np.add.at(parameters[PUSHES[k]], address[address >= 0], -parts[address >= 0])
                force = FORCE_UNIT * parts.sum(axis=0)
            parameters[VELOCITY[k]][i] = velocity[k] + force / mass

    def node(lattice, precision, jit, at):
        return _couple_node(lattice, jit, at, kernel, pushes_fluid)

    return Operator(f"couple-{kernel}-{'both' if pushes_fluid else 'one'}", reference, node, names)


def _langevin(i, lattice, parameters):
    friction, mass, kt = (parameters[name] for name in ("friction", "mass", "kt"))
    xi = random_numbers(parameters["id"][i], parameters["step"][0], parameters["seed"], STREAM)
    for k in range(lattice.dimension):
        v = parameters[VELOCITY[k]][i]
        force = (sqrt(2.0 * friction * kt) * xi[k] - friction * v) / (1.0 + 0.5 * friction / mass)
        parameters[VELOCITY[k]][i] = v + force / mass


def _langevin_node(lattice, precision, jit, at):
    random_at, own, speed = random_numbers_node(jit, STREAM), at["id"], tuple(at[name] for name in VELOCITY)
    friction_at, mass_at, kt_at, seed_at, step_at = (at[name] for name in COUPLING)
    half, one, two, real, dimension = np.float64(0.5), np.float64(1.0), np.float64(2.0), np.float64, lattice.dimension

    def friction(i, parameters):
        gamma, mass = real(parameters[friction_at]), real(parameters[mass_at])
        amplitude = sqrt(two * gamma * real(parameters[kt_at]))
        xi = random_at(parameters[own][i], parameters[step_at][0], parameters[seed_at])
        for k in range(dimension):
            v = parameters[speed[k]][i]
            force = (amplitude * xi[k] - gamma * v) / (one + half * gamma / mass)
            parameters[speed[k]][i] = v + force / mass

    return jit(unroll(friction))


LANGEVIN = Operator("langevin", _langevin, _langevin_node, named("id", *VELOCITY, *COUPLING))
"""The friction with a fluid at rest that does not notice."""


def _spread_node(jit, count: int, pushes_fluid: bool):
    """Node function ``(array, found, weight, force)``: takes a bead's force from its nodes; what the bead gets."""
    add, unit, whole, address = adder(jit), np.float64(FORCE_UNIT), np.int64, np.uint64
    if not pushes_fluid:
        return jit(lambda array, found, weight, force: force)

    def pushed_back(array, found, weight, force):
        used = whole(0)
        for c in range(count):
            part = whole(round(weight[c] * force / unit))
            if found[c] >= 0:
                add(array, address(found[c]), -part)
                used += part
        return unit * used

    return jit(unroll(pushed_back))


def _couple_node(lattice, jit, at, kernel: str, pushes_fluid: bool):
    count = 1 if kernel == "point" else 1 << lattice.dimension
    cell, random_at = _cell_node(lattice, jit, kernel), random_numbers_node(jit, STREAM)
    spread = _spread_node(jit, count, pushes_fluid)
    lookup, own = at["lookup"], at["id"]
    place, speed, arrived = (tuple(at[name] for name in names) for names in ((*VOXEL, *OFFSET), VELOCITY, ARRIVED))
    push = tuple(at[name] for name in PUSHES) if pushes_fluid else (0, 0, 0)
    friction_at, mass_at, kt_at, seed_at, step_at = (at[name] for name in COUPLING)
    zero, half, one, two = (np.float64(x) for x in (0.0, 0.5, 1.0, 2.0))
    real, dimension, is_pushing = np.float64, lattice.dimension, np.float64(pushes_fluid)
    address, nothing = np.uint64, np.int64(0)

    def friction(i, parameters):
        x, y, z = parameters[place[0]][i], parameters[place[1]][i], parameters[place[2]][i]
        ox, oy, oz = parameters[place[3]][i], parameters[place[4]][i], parameters[place[5]][i]
        found, weight = cell(parameters[lookup], x, y, z, ox, oy, oz)
        gamma, mass = real(parameters[friction_at]), real(parameters[mass_at])
        amplitude = sqrt(two * gamma * real(parameters[kt_at]))
        xi = random_at(parameters[own][i], parameters[step_at][0], parameters[seed_at])
        inertia = zero
        for c in range(count):
            inertia += weight[c] * weight[c]
        scale = one / (one + half * gamma * (one / mass + is_pushing * inertia))
        flow = [zero] * dimension
        v = [zero] * dimension
        for k in range(dimension):  # all that is read, ahead of what is written: GPUs wait for it once
            v[k] = parameters[speed[k]][i]
            for c in range(count):
                flow[k] += weight[c] * parameters[arrived[k]][address(max(found[c], nothing))]
        for k in range(dimension):
            force = (amplitude * xi[k] - gamma * (v[k] - flow[k])) * scale
            parameters[speed[k]][i] = v[k] + spread(parameters[push[k]], found, weight, force) / mass

    return jit(unroll(friction))
