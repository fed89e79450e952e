"""Labels for solid voxels that the user picks by a box."""

from dataclasses import replace

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.flags import SOLID, WALL, wall_flag
from muphy_lb.geometry.slabs import copied
from muphy_lb.geometry.voxels import Voxels


def label_box(voxels: Voxels, name: str, low_m, high_m) -> Voxels:
    """Make the solid voxels whose centres lie in a box a labelled wall; earlier labels keep theirs.

    Args:
        voxels: the image.
        name: of the new wall, or of one that is there.
        low_m, high_m: corners (x, y, z) of the box [m], borders included.

    Raises:
        GeometryError: the box holds no solid voxel without a label.
    """
    low, high = ((np.asarray(corner) - voxels.origin_m) / voxels.spacing_m for corner in (low_m, high_m))
    size = np.array(voxels.shape[::-1])
    first = np.clip(np.ceil(low - 1e-9), 0, size).astype(int)
    last = np.clip(np.floor(high + 1e-9) + 1, 0, size).astype(int)
    inside = tuple(slice(a, b) for a, b in zip(first[::-1], last[::-1], strict=True))
    flags, walls = copied(voxels.flags), voxels.walls
    chosen = (flags[inside] == SOLID) | (flags[inside] == WALL)
    if not chosen.any():
        raise GeometryError(
            f"walls.{name}: its box from {tuple(low_m)} to {tuple(high_m)} m holds no solid voxel; the image reaches"
            f" from {voxels.origin_m} to {tuple(voxels.origin_m + voxels.spacing_m * (size - 1.0))} m (voxel centres)"
        )
    walls = walls if name in walls else (*walls, name)
    flags[inside][chosen] = wall_flag(walls.index(name))
    return replace(voxels, flags=flags, walls=walls)
