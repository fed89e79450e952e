"""Lengths given in the wrong unit: a point that a factor of a unit brings into the box."""

from collections.abc import Sequence

import numpy as np

UNITS = {"mm": 1e-3, "um": 1e-6, "cm": 1e-2}


def unit_hint(
    point_m: Sequence[float], origin_m: Sequence[float], shape: tuple[int, int, int], spacing_m: float
) -> str:
    """What to say of a point far outside the box of voxels: the unit that it seems to be given in; else nothing.

    Args:
        point_m: (x, y, z), meant in metres.
        origin_m: lowest corner (x, y, z) of the box [m].
        shape: (nz, ny, nx) of the box.
        spacing_m: voxel edge [m].
    """
    low, size = np.array(origin_m), spacing_m * np.array(shape[::-1])
    point, reach = np.array(point_m), float(np.linalg.norm(size))
    if np.linalg.norm(point - (low + 0.5 * size)) < 2.0 * reach:
        return ""
    for unit, metres in UNITS.items():
        if np.all((point * metres > low - 0.1 * reach) & (point * metres < low + size + 0.1 * reach)):
            there = ", ".join(f"{x:.6g}" for x in point * metres)
            return f"; it looks like {unit}: in metres it is [{there}]"
    return ""
