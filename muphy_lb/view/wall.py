"""The wall shear stress in a picture. The walls are looked for when it is asked for the first time, beside the steps:
that takes some seconds per million nodes."""

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from muphy_lb.geometry.nodes import voxel_coordinates
from muphy_lb.measure.flow_view import whole_nodes
from muphy_lb.measure.monitor import MonitoredFlow
from muphy_lb.measure.shear.wall_nodes import WallPatches, wall_patches
from muphy_lb.measure.shear.wall_shear import WallShear
from muphy_lb.view.messages import Demand

N_KEPT = 2  # places whose nodes are kept


class WallGathering:
    """Measures the wall shear stress at the nodes that a picture shows; every call is collective."""

    def __init__(self, simulation: MonitoredFlow):
        self._simulation, self._is_ready = simulation, False
        self._walls: Future | None = None
        if simulation.communicator.rank == 0:
            self._walls = started(wall_patches, whole_nodes(simulation), simulation.lattice)
        self._places: OrderedDict[tuple, tuple[WallShear, np.ndarray | None]] = OrderedDict()

    def values(self, demand: Demand, chosen: Callable) -> tuple[np.ndarray | None, np.ndarray]:
        """Flat positions of nodes in an image, and the magnitude of the stress there [Pa], on rank 0 (None elsewhere);
        none as long as the walls are looked for. ``chosen``: which of (3, n) voxels a demand shows, by ascending
        number, and their positions."""
        if not self._is_ready:
            self._is_ready = self._simulation.communicator.broadcast(self._walls.done() if self._walls else None)
        if not self._is_ready:
            return (np.empty(0, np.int32) if self._walls else None), np.empty(0, np.float32)
        key = demand.place, demand.axis, demand.index
        if key not in self._places:
            self._places[key] = self._place(demand, chosen)
            if len(self._places) > N_KEPT:
                self._places.popitem(last=False)
        shear, where = self._places[key]
        traction_pa = shear.traction_pa()
        if traction_pa is None:
            return None, np.empty(0, np.float32)
        return where, np.linalg.norm(traction_pa, axis=1).astype(np.float32)

    def _place(self, demand: Demand, chosen: Callable) -> tuple[WallShear, np.ndarray | None]:
        if self._walls is None:
            return WallShear(self._simulation), None
        patches: WallPatches = self._walls.result()
        numbers, where = chosen(voxel_coordinates(patches.surface.voxel, self._simulation.header.shape).T, demand)
        return WallShear(self._simulation, patches.chosen(numbers)), where.astype(np.int32)


def started(function: Callable, *arguments) -> Future:
    """The result of a function that runs beside the steps from now on."""
    executor = ThreadPoolExecutor(1, "walls of the live view")
    try:
        return executor.submit(function, *arguments)
    finally:
        executor.shutdown(wait=False)
