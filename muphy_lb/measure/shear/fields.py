"""Stress and rate of strain at every node, as fields of outputs.

    S = sigma / (2 mu),   shear rate sqrt(2 S:S),   shear stress sqrt(sigma:sigma / 2) = mu sqrt(2 S:S)

of the viscous stress sigma and the viscosity mu (:mod:`muphy_lb.operators.viscous_stress`) of the populations that the
step ahead brings, in double precision whatever the backend; 0 where there is no fluid. The trace of S, of the order of
the square of the Mach number, is that of a fluid whose bulk viscosity is 2/3 of its shear viscosity.
Krueger et al., The Lattice Boltzmann Method (2017), sect. 4.1; Bernaschi et al. (2009), eq. 6.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from muphy_lb.base.units import Units
from muphy_lb.geometry.neighbours import neighbour_table
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.measure.flow_view import EngineView, FlowView
from muphy_lb.measure.shear.stress import NodeStress
from muphy_lb.operators.viscous_stress import COMPONENTS, PAIRS, contracted

N_NUMBERS = 7  # of a node: six components of the stress, and the viscosity


class StressField(NamedTuple):
    """A field that follows from the stress and the viscosity at a node: its unit, the (k, n) or (n,) lattice values of
    (7, n) numbers, and their SI size."""

    unit: str
    of_numbers: Callable[[np.ndarray], np.ndarray]
    size: Callable[[Units], float]

    def in_si(self, numbers: np.ndarray, units: Units) -> np.ndarray:
        """(n,) or (n, 6) SI values of (7, n) numbers of nodes."""
        return self.size(units) * self.of_numbers(numbers).T


def _strain(numbers: np.ndarray) -> np.ndarray:
    stress, viscosity = numbers[:6], numbers[6]
    return np.divide(stress, 2.0 * viscosity, out=np.zeros_like(stress), where=viscosity > 0.0)


def _pascals(units: Units) -> float:
    return units.pascals_per_density(1.0)


def _rate(units: Units) -> float:
    return 1.0 / units.time_step_s


STRESS_FIELDS = {
    "stress": StressField("Pa", lambda numbers: numbers[:6], _pascals),
    "strain_rate": StressField("1/s", _strain, _rate),
    "shear_stress": StressField("Pa", lambda numbers: np.sqrt(contracted(numbers[:6]) / 2.0), _pascals),
    "shear_rate": StressField("1/s", lambda numbers: np.sqrt(2.0 * contracted(_strain(numbers))), _rate),
}
"""By name; of tensors the components xx, yy, zz, xy, yz, zx."""
TENSORS = ("stress", "strain_rate")


def velocity_gradient(nodes: NodeList, velocity_m_s: np.ndarray, strain_rate: np.ndarray) -> np.ndarray:
    """(n, 9) velocity gradient [1/s]: du_x/dx, du_x/dy, du_x/dz, du_y/dx and so on.

    Its symmetric part is the rate of strain, which is known at a node. Its antisymmetric part follows from central
    differences between neighbours; where a neighbour is missing, at walls, from the rate of strain and the derivative
    of the other component, if that is known, else it is 0.

    Args:
        velocity_m_s: (n, 3) velocity.
        strain_rate: (n, 6) rate of strain [1/s].
    """
    unit = np.eye(3, dtype=np.int64)
    rotation, strain = np.zeros((3, 3, nodes.n_nodes)), np.empty((3, 3, nodes.n_nodes))
    for (a, b), values in zip(COMPONENTS, strain_rate.T, strict=True):
        strain[a, b] = strain[b, a] = values
    slope, is_known = np.empty((3, 3, nodes.n_nodes)), np.empty((3, nodes.n_nodes), dtype=bool)
    for axis in range(3):
        before, after = neighbour_table(nodes, np.stack((-unit[axis], unit[axis])))
        is_known[axis] = (before >= 0) & (after >= 0)
        change = velocity_m_s[np.maximum(after, 0)] - velocity_m_s[np.maximum(before, 0)]
        slope[:, axis] = change.T / (2.0 * nodes.spacing_m)
    for a, b in ((0, 1), (1, 2), (2, 0)):
        by_both = 0.5 * (slope[a, b] - slope[b, a])
        by_one = np.where(is_known[b], slope[a, b] - strain[a, b], np.where(is_known[a], strain[a, b] - slope[b, a], 0))
        rotation[a, b] = np.where(is_known[a] & is_known[b], by_both, by_one)
        rotation[b, a] = -rotation[a, b]
    return (strain + rotation).reshape(9, -1).T


def local_numbers(view: EngineView) -> np.ndarray:
    """(7, n) viscous stress and dynamic viscosity at the nodes of this rank, lattice units; collective."""
    compute = NodeStress(view.fluid, view.lattice)
    return view.engine.of_arriving(N_NUMBERS, compute.with_viscosity)


class NodeNumbers:
    """The same at selected nodes of all ranks; every call is collective. ``voxel``: (m,) ascending voxel ids of fluid
    nodes, on rank 0."""

    def __init__(self, view: FlowView, voxel: np.ndarray | None):
        self._probe, self._compute = view.node_probe(voxel), NodeStress(view.fluid, view.lattice)

    def read(self) -> np.ndarray | None:
        """(7, m) stress and viscosity, lattice units, on rank 0."""
        return self._probe.arriving(self._compute.with_viscosity)


def column_names(name: str) -> list[str]:
    """Names of the columns of a field in a series: of a tensor one for each component."""
    unit = {"Pa": "pa", "1/s": "per_s"}[STRESS_FIELDS[name].unit]
    return [f"{name}_{pair}_{unit}" for pair in PAIRS] if name in TENSORS else [f"{name}_{unit}"]
