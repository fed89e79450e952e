"""The rock in a box: what is left of it without the layers of fluid that a case adds at both ends."""

from dataclasses import dataclass

import numpy as np

from muphy_lb.case.case import Case
from muphy_lb.geometry.axes import AXES
from muphy_lb.geometry.nodes import GeometryHeader, voxel_coordinates


@dataclass(frozen=True)
class Rock:
    """The part of a box that is rock.

    Attributes:
        low, high: first voxel (x, y, z), and the first beyond the last.
        size: voxels of the whole box along x, y, z.
    """

    low: tuple[int, int, int]
    high: tuple[int, int, int]
    size: tuple[int, int, int]

    @property
    def is_all(self) -> bool:
        """Whether there are no reservoirs."""
        return self.high == self.size and not any(self.low)

    @property
    def n_voxels(self) -> int:
        """Number of voxels, solid ones included."""
        return int(np.prod(self.extent))

    @property
    def extent(self) -> tuple[int, int, int]:
        """Voxels along x, y, z."""
        x, y, z = (b - a for a, b in zip(self.low, self.high, strict=True))
        return x, y, z

    @property
    def concentration(self) -> np.ndarray:
        """(3,) length of the box over that of the rock: reservoirs have no resistance, so that the force on the whole
        box drives the flow through the rock."""
        return np.array(self.size) / np.array(self.extent)

    def holds(self, voxel: np.ndarray, shape: tuple[int, int, int]) -> np.ndarray | slice:
        """(n,) bool: which of some voxels of a box of ``shape`` (nz, ny, nx) are in the rock; without reservoirs all,
        as a slice."""
        if self.is_all:
            return slice(None)
        place = voxel_coordinates(voxel, shape)
        return np.all((place >= self.low) & (place < self.high), axis=1)


def rock_of(case: Case, header: GeometryHeader) -> Rock:
    """The rock of a case: its box without ``reservoir_layers``."""
    options, size = case.geometry.options, header.shape[::-1]
    layers = np.zeros(3, dtype=int)
    layers[AXES.index(options.get("reservoir_axis", "x"))] = options.get("reservoir_layers", 0)
    return Rock(tuple(layers.tolist()), tuple((np.array(size) - layers).tolist()), size)
