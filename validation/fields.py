"""Fields of the flow cases: a start with its viscous stress, values on the box, on lines and at their extrema."""

import numpy as np

from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.nodes import on_box as nodes_on_box
from muphy_lb.operators.initial import AXES_OF_TENSOR
from muphy_lb.run.simulation import Simulation
from muphy_lb.setup.initial_stress import stress_of


def start_from_flow(simulation: Simulation, density: np.ndarray, velocity: np.ndarray, strain: np.ndarray) -> None:
    """Start with the viscous stress of an exact rate of strain (:mod:`muphy_lb.operators.initial`); without it the
    stress of the first steps is wrong. ``simulation``: on one rank; ``density``: (n,) in the order of the node list,
    like the others; ``velocity``: (n, 3); ``strain``: (n, 3, 3) rate of strain, lattice units."""
    own, fluid = simulation.domain.number, simulation.fluid
    rho, six = density[own], np.stack([strain[own, a, b] for a, b in AXES_OF_TENSOR])
    stress = stress_of(fluid, rho if fluid.equilibrium.is_compressible else 1.0, six)
    simulation.engine.start_from(rho, velocity[own].T, stress)


def on_box(simulation: Simulation, values: np.ndarray) -> np.ndarray:
    """(nz, ny, nx, ...) float64 values (n, ...) of the nodes on the whole box; NaN where there is no node."""
    return nodes_on_box(simulation.nodes, values.astype(np.float64))


def from_axis(nodes: NodeList) -> np.ndarray:
    """(n,) distance of nodes from the middle of their box, across z."""
    x, y, _ = (nodes.coordinates() - 0.5 * (np.array(nodes.shape[::-1]) - 1.0)).T
    return np.hypot(x, y)


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
