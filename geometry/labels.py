"""Labelling of solid voxels inside a user-defined box."""

from dataclasses import replace

import numpy as np

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.flags import SOLID, WALL, wall_flag
from muphy_lb.geometry.slabs import copied
from muphy_lb.geometry.voxels import Voxels


def label_box(voxels: Voxels, name: str, low_m, high_m) -> Voxels:
    """Label the solid voxels whose centres lie in a box as a wall; voxels that already have a label keep it.

    Args:
        voxels: the image.
        name: name of a new or an existing wall.
        low_m, high_m: corners (x, y, z) of the box [m], both included.

    Raises:
        GeometryError: the box holds no solid voxel without a label.
    """
    low, high = ((np.asarray(corner) - voxels.origin_m) / voxels.spacing_m for corner in (low_m, high_m))
    size = np.array(voxels.shape[::-1])
    first = np.clip(np.ceil(low - 1e-9), 0, size).astype(int)
    last = np.clip(np.floor(high + 1e-9) + 1, 0, size).astype(int)
    inside = tuple(slice(a, b) for a, b in zip(first[::-1], last[::-1], strict=True))
    flags = copied(voxels.flags)
    chosen = (flags[inside] == SOLID) | (flags[inside] == WALL)
    if not chosen.any():
        end_m = tuple((voxels.origin_m + voxels.spacing_m * (size - 1.0)).tolist())
        others = f"; solid voxels of the walls {', '.join(voxels.walls)} stay theirs" if voxels.walls else ""
        raise GeometryError(
            f"walls.{name}: its box from {tuple(low_m)} to {tuple(high_m)} m holds no solid voxel; the image extends"
            f" from {voxels.origin_m} to {end_m} m (voxel centres){others}"
        )
    walls = voxels.walls if name in voxels.walls else (*voxels.walls, name)
    flags[inside][chosen] = wall_flag(walls.index(name))
    return replace(voxels, flags=flags, walls=walls)
