"""The filling of the voxels with liquid, and where it falls."""

import numpy as np

from muphy_lb.measure.flow_view import FlowView
from muphy_lb.physics.free_surface.cells import CELL, FILL, INTERFACE, LIQUID
from muphy_lb.setup.force import uniform_acceleration_m_s2


def fill(view: FlowView) -> np.ndarray | None:
    """(n,) share of every voxel that is liquid, on rank 0; collective."""
    cell, share = view.model_field(CELL), view.model_field(FILL)
    if cell is None or share is None:
        return None
    return np.where(cell == LIQUID, 1.0, np.where(cell == INTERFACE, share, 0.0))


def gravity_m_s2(view: FlowView) -> np.ndarray:
    """(3,) uniform acceleration of the case [m/s2], on every rank."""
    return uniform_acceleration_m_s2(view.case, view.header)
