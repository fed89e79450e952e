"""Mobility of a bead in a periodic box: a force on it, the opposite force spread over the fluid.

Periodic images slow a bead down: mobility = 1 / friction + 1 / (g eta) - 2.837297 / (6 pi eta L), L the edge of the box
(Hasimoto, J. Fluid Mech. 5, 317 (1959)). g depends on how the bead is coupled to nodes and on where it is between them;
on a node it is the same for both kernels and any L.
"""

from collections.abc import Iterator
from math import pi

import numpy as np

from muphy_lb.physics.particles.beads.names import TRAVELLED
from muphy_lb.run.simulation import Simulation
from muphy_lb.validation.case import Settings, absolute, case, relative
from muphy_lb.validation.particles.beads_boxes import VISCOSITY, bead_flow, box, columns_of, place_beads, refuse
from muphy_lb.validation.plot import Plot, Series

HASIMOTO = 2.837297
ON_NODE = 0.1422
"""1/g of a bead on a node, nu = 1/6, BGK."""

TOLERANCE = 2e-3
EDGES, QUICK_EDGES = (8, 16, 32, 64), (8, 12)
FRICTION, HIGH_FRICTION, MASS, FORCE = 0.1, 1.0, 1.0, 1e-8
TIMES = 20.0  # decay times of the longest wave


@case(
    "bead-mobility",
    "Hasimoto, J. Fluid Mech. 5, 317 (1959); Ahlrichs, Duenweg, J. Chem. Phys. 111, 8225 (1999); 1/g: an independent"
    " program, on a node, nu = 1/6",
)
def bead_mobility(settings: Settings) -> Iterator:
    """1/g of beads on nodes, for edges of the box, kernels and frictions."""
    refuse(settings)
    edges = QUICK_EDGES if settings.quick else EDGES
    found = [inverse_g(PulledBead(edge, settings)(np.zeros(3)), edge) for edge in edges]
    for edge, value in zip(edges, found, strict=True):
        yield relative(f"on a node, L = {edge}: 1/g", ON_NODE, value, TOLERANCE)
    yield absolute(f"spread of 1/g over L = {edges}", 0.0, np.ptp(found) / np.mean(found), TOLERANCE)
    edge = edges[0]
    beside = inverse_g(PulledBead(edge, settings, kernel="point")(np.array([0.3, -0.2, 0.1])), edge)
    yield relative(f"point kernel, beside a node, L = {edge}: 1/g", found[0], beside, TOLERANCE)
    strong = inverse_g(PulledBead(edge, settings, friction_kg_s=HIGH_FRICTION)(np.zeros(3)), edge, HIGH_FRICTION)
    yield relative(f"friction {HIGH_FRICTION:g}, L = {edge}: 1/g", found[0], strong, TOLERANCE)
    curves = (Series("1/g", edges, [ON_NODE] * len(edges)), Series("found", edges, found, "points"))
    yield Plot("Mobility without images", "edge of the box", "1/g", curves, log_x=True)


def inverse_g(mobility: float, edge: int, friction: float = FRICTION) -> float:
    """1/g of a mobility."""
    return VISCOSITY * (mobility - 1.0 / friction) + HASIMOTO / (6.0 * pi * edge)


class PulledBead:
    """A bead pulled along x in a periodic box of a given edge, the fluid pushed back; further ``keys`` of its table.

    Called with a place relative to a node [voxels], it returns the mobility there.
    """

    def __init__(self, edge: int, settings: Settings, **keys):
        self._edge, self._mass = edge, keys.get("mass_kg", MASS)
        bead = {"name": "bead", "count": 1, "mass_kg": MASS, "friction_kg_s": FRICTION, **keys}
        bead["pull"] = {"force_n": [FORCE, 0.0, 0.0]}
        push = {"acceleration_m_s2": [-FORCE / edge**3, 0.0, 0.0]}
        self._simulation: Simulation = bead_flow(box((edge,) * 3), [bead], settings, kt=0.0, flow=push)

    def __call__(self, place: np.ndarray, in_rest_frame: bool = True) -> float:
        """Mobility (velocity over force) of a bead that starts there, relative to the fluid's mean or to all mass."""
        simulation = self._simulation
        simulation.start_from_rest()
        place_beads(simulation, "bead", self._edge // 2 + place[None])
        simulation.step(round(TIMES / (VISCOSITY * (2.0 * pi / self._edge) ** 2)))
        before = columns_of(simulation, "bead", TRAVELLED)[0, 0]
        simulation.step()
        mobility = float(columns_of(simulation, "bead", TRAVELLED)[0, 0] - before) / FORCE
        if not in_rest_frame:
            return mobility
        # The fluid moves against the bead: all momentum is none. In the middle of the step, half a force away from the
        # populations that arrive, its mean velocity is - (m v + F) / L^3.
        return mobility + (self._mass * mobility + 1.0) / self._edge**3
