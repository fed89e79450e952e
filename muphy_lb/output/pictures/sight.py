"""How a flow that knows what is up is looked at: upright, on a plane along the vertical."""

from dataclasses import dataclass

import numpy as np

from muphy_lb.geometry.nodes import NodeList
from muphy_lb.output.pictures.cut import Raster, fullest_layer, raster_of


@dataclass(frozen=True, eq=False)
class Sight:
    """What pictures of a flow take into account.

    Attributes:
        up: (3,) unit vector upwards.
        through_m: (3,) point (x, y, z) [m] through which a cut passes that tells most; None: where most fluid is.
    """

    up: np.ndarray
    through_m: np.ndarray | None = None

    @property
    def vertical(self) -> int:
        """The axis nearest to the vertical: 0, 1, 2 for x, y, z."""
        return int(np.abs(self.up).argmax())

    @property
    def is_downwards(self) -> bool:
        """Whether that axis points downwards."""
        return bool(self.up[self.vertical] < 0.0)

    def turned(self) -> np.ndarray:
        """(3, 3) a turn of the axes, unit vectors in rows, of which the third is upwards along the vertical axis."""
        right = np.eye(3)[int(self.vertical == 0)]
        upwards = np.eye(3)[self.vertical] * (-1.0 if self.is_downwards else 1.0)
        return np.stack((right, np.cross(upwards, right), upwards))


def upright_raster(nodes: NodeList, room: NodeList, sight: Sight) -> Raster:
    """The plane along the vertical and the longer side of the room; z = 0 in two dimensions.

    Args:
        nodes: those with fluid.
        room: all nodes.
        sight: what is up, and through which point the plane passes.
    """
    place, size = nodes.coordinates(), np.ptp(room.coordinates(), axis=0)
    axis = 2
    if room.shape[0] > 1:
        axis = min((k for k in (2, 1, 0) if k != sight.vertical), key=lambda k: size[k])
    layer = fullest_layer(nodes, axis)
    if sight.through_m is not None:
        wanted = round((sight.through_m[axis] - room.origin_m[axis]) / room.spacing_m)
        layer = wanted if np.any(place[:, axis] == wanted) else layer
    return raster_of(nodes, axis, layer, room, sight.vertical, sight.is_downwards)
