"""The wall shear stress in a picture; what is needed for it is made when it is asked for the first time."""

from collections import OrderedDict
from collections.abc import Callable

import numpy as np

from muphy_lb.geometry.nodes import voxel_coordinates
from muphy_lb.measure.flow_view import whole_nodes
from muphy_lb.measure.surface import WallSurface, wall_surface
from muphy_lb.measure.wall_shear import WallShear
from muphy_lb.run.simulation import Simulation
from muphy_lb.view.messages import Demand

N_KEPT = 2
"""Places whose nodes are kept."""


class WallGathering:
    """Measures the wall shear stress at the nodes that a picture shows; every call is collective.

    Args:
        simulation: the flow.
    """

    def __init__(self, simulation: Simulation):
        self._simulation = simulation
        self._surface: WallSurface | None = None
        if simulation.communicator.rank == 0:
            self._surface = wall_surface(whole_nodes(simulation), simulation.lattice.c)
            self._xyz = voxel_coordinates(self._surface.voxel, simulation.header.shape).T
        self._places: OrderedDict[tuple, tuple[WallShear, np.ndarray | None]] = OrderedDict()

    def values(self, demand: Demand, chosen: Callable) -> tuple[np.ndarray | None, np.ndarray]:
        """Flat positions of nodes in an image, and the magnitude of the stress there [Pa], on rank 0 (None elsewhere).

        Args:
            demand: what is shown.
            chosen: which of (3, n) voxels a demand shows, by ascending number, and their positions.
        """
        key = demand.place, demand.axis, demand.index
        if key not in self._places:
            self._places[key] = self._place(demand, chosen)
            if len(self._places) > N_KEPT:
                self._places.popitem(last=False)
        shear, where = self._places[key]
        traction_pa = shear.traction_of_ranks_pa()
        if traction_pa is None:
            return None, np.empty(0, np.float32)
        return where, np.linalg.norm(traction_pa, axis=1).astype(np.float32)

    def _place(self, demand: Demand, chosen: Callable) -> tuple[WallShear, np.ndarray | None]:
        if self._surface is None:
            return WallShear(self._simulation), None
        numbers, where = chosen(self._xyz, demand)
        return WallShear(self._simulation, self._surface.chosen(numbers)), where.astype(np.int32)
