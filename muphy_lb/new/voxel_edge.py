"""The voxel edge of an image, checked before the image is read."""

from pathlib import Path

from muphy_lb.base.errors import InputError
from muphy_lb.geometry.load import BARE_FORMATS, file_ending
from muphy_lb.geometry.quantities import WithUnit, metres_per_unit
from muphy_lb.new.prompt import CaseOptions

LARGEST_OF_A_ROCK_M = 1e-3
SMALLEST_M = 1e-10
"""Smaller than an atom: a unit has been applied twice."""


def in_metres(spacing: float | None, unit: str | None, file: Path | None, is_surface: bool) -> float | None:
    """The voxel edge [m] of the options ``--spacing`` and ``--unit``; the unit of a surface is that of its points.

    Raises:
        InputError: an image has both a voxel edge with its unit and a unit.
    """
    if spacing is None or unit is None or file is None or is_surface:
        return spacing
    if isinstance(spacing, WithUnit):
        raise InputError(
            f"new: --spacing names its unit, and --unit {unit} is given: of an image it would count twice; leave --unit"
            " out"
        )
    return spacing * metres_per_unit(unit)


def check_voxel_edge(requested: CaseOptions, unit: str | None) -> None:
    """Refuse an image without a voxel edge, and a rock of voxels that are hardly those of one.

    Args:
        requested: the options of the case; its voxel edge in metres.
        unit: the unit that the user has given; None for none.

    Raises:
        InputError: the message names the likely remedy.
    """
    file, spacing_m = requested.file, requested.spacing_m
    if file is None or requested.is_surface:
        return
    if spacing_m is None and "spacing_m" not in requested.reader and file_ending(file) in BARE_FORMATS:
        raise InputError(f"new: {file} does not contain its voxel edge; give it in metres, such as --spacing 5e-6")
    if spacing_m is not None and spacing_m < SMALLEST_M:
        raise InputError(
            f"new: the voxel edge of {file} is {spacing_m:.4g} m, less than an atom; give --spacing in metres, or with"
            " --unit in that unit"
        )
    if requested.kind == "rock" and unit is None and spacing_m is not None and spacing_m > LARGEST_OF_A_ROCK_M:
        raise InputError(
            f"new: the voxel edge of {file} is {spacing_m:.4g} m, for an image of a rock hardly so: it is usually some"
            f" micrometres. Give --spacing {spacing_m * 1e-6:.4g} if that were micrometres (or --unit um, mm),"
            " or --unit m if it is meant"
        )
