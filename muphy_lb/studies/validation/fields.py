"""Fields of the flow cases: a start with its viscous stress, values on the box, on lines and at their extrema."""

import numpy as np

from muphy_lb.run.simulation import Simulation


def start_from_flow(simulation: Simulation, density: np.ndarray, velocity: np.ndarray, strain: np.ndarray) -> None:
    """Start from equilibrium plus the first-order non-equilibrium populations, which represent the viscous stress.

    f_q^(1) = -(w_q tau / cs2) rho (c_q c_q - cs2 I) : grad u, Krueger et al., The Lattice Boltzmann Method (2017),
    equation 4.35; without it the stress of the first steps is wrong.

    Args:
        simulation: on one rank.
        density: (n,) in the order of the node list, like the others.
        velocity: (n, 3).
        strain: (n, 3, 3) rate of strain, lattice units.
    """
    lattice, own = simulation.lattice, simulation.domain.number
    cs2, tau = float(lattice.cs2), simulation.numerics.relaxation_time
    rho, u, s = density[own], velocity[own].T, strain[own]
    tensor = np.einsum("qa,qb->qab", lattice.c, lattice.c) - cs2 * np.eye(3)
    stress = -(lattice.w[:, None] * tau / cs2) * rho * np.einsum("qab,nab->qn", tensor, s)
    equilibrium = simulation.engine.model.equilibrium.populations(rho, u, lattice)
    simulation.engine.start_from_populations(equilibrium + stress - lattice.w[:, None])


def on_box(simulation: Simulation, values: np.ndarray) -> np.ndarray:
    """(nz, ny, nx, ...) array over the whole box of (n, ...) values of the nodes; NaN where there is no node."""
    nodes = simulation.nodes
    box = np.full((np.prod(nodes.shape), *values.shape[1:]), np.nan)
    box[nodes.voxel] = values
    return box.reshape(*nodes.shape, *values.shape[1:])


def middle(values: np.ndarray, axis: int) -> np.ndarray:
    """Values on the middle plane across an axis: those of its layer, or between two by a cubic through four."""
    n = values.shape[axis]
    if n % 2:
        return values.take(n // 2, axis)
    near = values.take(n // 2 - 1, axis) + values.take(n // 2, axis)
    far = values.take(n // 2 - 2, axis) + values.take(n // 2 + 1, axis)
    return (9.0 * near - far) / 16.0


def interpolate(x: np.ndarray, values: np.ndarray, points) -> np.ndarray:
    """Values at ``points`` by the cubic through the four nearest of evenly spaced, rising ``x``."""
    points = np.asarray(points, dtype=np.float64)
    position = (points - x[0]) / (x[1] - x[0])
    first = np.clip(np.floor(position).astype(int) - 1, 0, x.size - 4)
    t = position - first
    result = np.zeros_like(points)
    for k in range(4):
        others = [j for j in range(4) if j != k]
        weight = np.prod([(t - j) / (k - j) for j in others], axis=0)
        result += weight * values[first + k]
    return result


def extremum(x: np.ndarray, values: np.ndarray, sign: int) -> tuple[float, float]:
    """(position, value) of the maximum (``sign`` 1) or minimum (-1), on the parabola through three points of even
    spacing."""
    k = int(np.argmax(sign * values[1:-1])) + 1
    below, here, above = values[k - 1 : k + 2]
    slope, bend = 0.5 * (above - below), above - 2.0 * here + below
    return float(x[k] - slope / bend * (x[1] - x[0])), float(here - 0.5 * slope**2 / bend)
