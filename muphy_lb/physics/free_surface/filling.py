"""The filling of the voxels with liquid, its mass, and where it falls."""

import numpy as np

from muphy_lb.measure.flow_view import FlowView, PreparedView
from muphy_lb.physics.free_surface.cells import CELL, FILL, INTERFACE, LIQUID, MASS
from muphy_lb.setup.force import uniform_acceleration_m_s2


def fill(view: FlowView) -> np.ndarray | None:
    """(n,) share of every voxel that is liquid, on rank 0; collective."""
    cell, share = view.model_field(CELL), view.model_field(FILL)
    if cell is None or share is None:
        return None
    return share_of_liquid(cell, share)


def share_of_liquid(cell: np.ndarray, share: np.ndarray) -> np.ndarray:
    """The share of voxels that is liquid, from what they are and the filling of those at the surface."""
    return np.where(cell == LIQUID, 1.0, np.where(cell == INTERFACE, share, 0.0))


def liquid_mass(view: FlowView) -> np.ndarray | None:
    """(n,) mass of liquid in every voxel [lattice units], on rank 0; collective."""
    cell, held, density = view.model_field(CELL), view.model_field(MASS), view.density()
    if cell is None or held is None or density is None:
        return None
    return np.where(cell == LIQUID, density, 0.0) + held


def gravity_m_s2(view: PreparedView) -> np.ndarray:
    """(3,) uniform acceleration of the case [m/s2], on every rank."""
    return uniform_acceleration_m_s2(view.case, view.header)
