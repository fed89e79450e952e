"""Friction between beads and fluid: each drags the other along, momentum is exchanged to the last digit.

    F = [-Gamma (v - u) + sqrt(2 Gamma kT) xi] / [1 + Gamma/2 (1/m + W)],   W = sum_a w_a^2,   u = sum_a w_a u_a,

on a bead, -w_a F on the nodes a around it (lattice units, rho_0 = 1). It is the mean over a step of the friction of
Ahlrichs, Duenweg, J. Chem. Phys. 111, 8225 (1999), the velocities in the middle of the step: bead and fluid together
keep the temperature that the noise xi asks for, whatever Gamma. u is that of the populations that have just arrived, in
this step: with the velocity of the step before the lattice's two-step oscillation grows without bounds.

Forces on nodes are multiples of ``FORCE_UNIT``, summed as integers; the bead takes their exact sum.
"""

from functools import cache, partial
from math import sqrt

import numpy as np

from muphy_lb.lattice.layout import RECORD
from muphy_lb.operators import Operator, named
from muphy_lb.operators.operator import joined, opaque, vector_writer
from muphy_lb.operators.philox import random_numbers, random_numbers_node
from muphy_lb.operators.unroll import unroll
from muphy_lb.physics.particles.beads.motion import AT_BORDER, FLOW, FORCE_UNIT, PUSH, VELOCITY, WANTED, moves_node
from muphy_lb.physics.particles.openings import BORN, END, WAITING, are_under_way

STREAM = 0x62656164  # second word of the key of the beads' noise

#: Whose velocity drags a bead: that of the corners of the cell around it, interpolated, or of the nearest node.
KERNELS = ("linear", "point")
COUPLING = ("friction", "mass", "kt", "seed", "step")


def _pushed(n, parameters):
    force = FORCE_UNIT * np.stack([parameters[PUSH][RECORD * n + k] for k in range(3)]).astype(np.float64)
    return np.where(parameters[WANTED][n] != 0, force, 0.0)


def _pushed_node(lattice, precision, jit, at):
    wanted, push = at[WANTED], at[PUSH]
    real, unit, zero = precision.real, np.float64(FORCE_UNIT * precision.unit), precision.real(0)
    behind = opaque(jit)
    address, (record, one, two) = np.uint64, (np.uint64(x) for x in (RECORD, 1, 2))

    def force(n, parameters):
        if parameters[wanted][n] == 0:
            return zero, zero, zero
        first = record * address(n)
        x, y, z = parameters[push][first], parameters[push][first + one], parameters[push][first + two]
        return real(unit * x), real(unit * y), real(unit * z)

    force_at = jit(force)

    def pushed(n, parameters):
        x, y, z = force_at(n, parameters)
        return behind(x), behind(y), behind(z)

    return jit(pushed)


#: The force of beads on the fluid, as a body force.
PUSHED = Operator("beads", _pushed, _pushed_node, named(WANTED, PUSH))


def _clear(n, lattice, parameters):
    parameters[PUSH].reshape(-1, RECORD)[n] = 0
    parameters[WANTED][n] &= AT_BORDER


def _clear_node(lattice, precision, jit, at):
    wanted, push, write, zero = at[WANTED], at[PUSH], vector_writer(jit), np.int64(0)

    def clear(n, parameters):
        write(parameters[push], n, zero, zero, zero)
        parameters[wanted][n] &= AT_BORDER

    return jit(clear)


CLEAR = Operator("clear", _clear, _clear_node, named(WANTED, PUSH))  # nodes have no force on them, and are not marked


def _friction(i, k, flow, share, lattice, parameters, passes=False):
    if passes:
        parameters[FLOW[k]][i] = flow
        enters = are_under_way(i, parameters) & (parameters[END][i] == WAITING)
        parameters[VELOCITY[k]][i] += np.where(enters, flow, 0.0)
    number, kt = parameters["id"][i], parameters["kt"]
    friction, mass = (parameters[name][number] for name in ("friction", "mass"))
    xi = random_numbers(number, parameters["step"][0], parameters["seed"], STREAM)[k]
    force = np.sqrt(2.0 * friction * kt) * xi - friction * (parameters[VELOCITY[k]][i] - flow)
    force = force / (1.0 + 0.5 * friction * (1.0 / mass + parameters["reaction"] * share)) / FORCE_UNIT
    return np.where(are_under_way(i, parameters), force, 0.0) if passes else force


def _friction_node(lattice, precision, jit, at, passes=False):
    random_at, own, speed = random_numbers_node(jit, STREAM), at["id"], tuple(at[name] for name in VELOCITY)
    friction_at, mass_at, kt_at, seed_at, step_at = (at[name] for name in COUPLING)
    reaction_at, unit, dimension, real = at["reaction"], np.float64(FORCE_UNIT), lattice.dimension, np.float64
    zero, half, one, two = (np.float64(x) for x in (0.0, 0.5, 1.0, 2.0))

    goes_in = _goes_in_node(jit, at, passes, dimension)

    def friction(i, k, flow, share, parameters):
        if not goes_in(i, k, flow, parameters):
            return zero
        number = parameters[own][i]
        gamma, mass = parameters[friction_at][number], parameters[mass_at][number]
        xi = random_at(number, parameters[step_at][0], parameters[seed_at])
        v, noise = zero, zero
        for axis in range(dimension):
            if k == axis:
                v, noise = parameters[speed[axis]][i], xi[axis]
        scale = one / (one + half * gamma * (one / mass + real(parameters[reaction_at]) * share))
        force = (sqrt(two * gamma * real(parameters[kt_at])) * noise - gamma * (v - flow)) * scale
        return force / unit

    return jit(unroll(friction))


def _goes_in_node(jit, at, passes: bool, dimension: int):
    """Node function: whether a bead is in the flow. Where beads pass openings it keeps the velocity of the fluid around
    the bead, with which one that enters begins."""
    moves = moves_node(jit, at, passes)
    if not passes:
        return jit(lambda i, k, flow, parameters: True)
    speed, around = (tuple(at[name] for name in names) for names in (VELOCITY, FLOW))
    end, waiting = at[END], np.int32(WAITING)

    def goes_in(i, k, flow, parameters):
        is_in = moves(i, parameters)
        for axis in range(dimension):
            if k == axis:
                parameters[around[axis]][i] = flow
                if is_in and parameters[end][i] == waiting:
                    parameters[speed[axis]][i] += flow
        return is_in

    return jit(unroll(goes_in))


@cache
def friction(passes: bool = False) -> Operator:
    """The friction of one step along an axis, in ``FORCE_UNIT``; its parameter ``reaction`` is 1 where the fluid
    notices, else 0; ``passes``: openings."""
    names = named("id", *VELOCITY, *COUPLING, "reaction")
    if not passes:
        return Operator("friction", _friction, _friction_node, names)
    ways = partial(_friction, passes=True), partial(_friction_node, passes=True)
    return Operator("friction-open", *ways, joined(names, named(END, BORN, *FLOW)))


def _take(i, k, force, lattice, parameters):
    parameters[VELOCITY[k]][i] += FORCE_UNIT * force / parameters["mass"][parameters["id"][i]]


def _take_node(lattice, precision, jit, at):
    mass_at, own, speed, dimension = at["mass"], at["id"], tuple(at[name] for name in VELOCITY), lattice.dimension
    unit = np.float64(FORCE_UNIT)

    def take(i, k, force, parameters):
        gained = unit * force / parameters[mass_at][parameters[own][i]]
        for axis in range(dimension):
            if k == axis:
                parameters[speed[axis]][i] += gained

    return jit(unroll(take))


TAKE = Operator(
    "take", _take, _take_node, named("id", "mass", *VELOCITY)
)  # the effect of friction on a bead's velocity


def _langevin(i, lattice, parameters):
    number, kt = parameters["id"][i], parameters["kt"]
    friction, mass = (parameters[name][number] for name in ("friction", "mass"))
    xi = random_numbers(number, parameters["step"][0], parameters["seed"], STREAM)
    for k in range(lattice.dimension):
        v = parameters[VELOCITY[k]][i]
        force = (np.sqrt(2.0 * friction * kt) * xi[k] - friction * v) / (1.0 + 0.5 * friction / mass)
        parameters[VELOCITY[k]][i] = v + force / mass


def _langevin_node(lattice, precision, jit, at):
    random_at, own, speed = random_numbers_node(jit, STREAM), at["id"], tuple(at[name] for name in VELOCITY)
    friction_at, mass_at, kt_at, seed_at, step_at = (at[name] for name in COUPLING)
    half, one, two, real, dimension = np.float64(0.5), np.float64(1.0), np.float64(2.0), np.float64, lattice.dimension

    def friction(i, parameters):
        number = parameters[own][i]
        gamma, mass = parameters[friction_at][number], parameters[mass_at][number]
        amplitude = sqrt(two * gamma * real(parameters[kt_at]))
        xi = random_at(number, parameters[step_at][0], parameters[seed_at])
        for k in range(dimension):
            v = parameters[speed[k]][i]
            force = (amplitude * xi[k] - gamma * v) / (one + half * gamma / mass)
            parameters[speed[k]][i] = v + force / mass

    return jit(unroll(friction))


#: The friction with a fluid at rest that does not notice.
LANGEVIN = Operator("langevin", _langevin, _langevin_node, named("id", *VELOCITY, *COUPLING))
