"""One meaning of ``periodic`` for every input: along these axes the box repeats, with all that is drawn in it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from muphy_lb.base.narrow import triple
from muphy_lb.geometry.axes import AXES, PERIODIC, periodic_axes
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.rule import Noted
from muphy_lb.geometry.porous.preparation import Preparation, prepare_image
from muphy_lb.geometry.surfaces.surface_cuts import SurfaceWall
from muphy_lb.geometry.voxels import FLUID, Voxels

Axes = tuple[bool, bool, bool]
ALONG = 0.99  # cosine of the angle between an axis and the normal of an opening that lies across it


def split_periodic(options: Mapping[str, object]) -> tuple[Axes | None, dict[str, object]]:
    """The axes (x, y, z) along which the box shall repeat, None where the options do not say, and the other options.
    Raises GeometryError for what names no axes."""
    rest = {name: value for name, value in options.items() if name != PERIODIC}
    return periodic_axes(options[PERIODIC]) if PERIODIC in options else None, rest  # type: ignore[arg-type]


def prepared(loaded: Noted, preparation: Preparation, periodic: Axes | None) -> Noted:
    """The loaded voxels, after the steps of a preparation, repeating along the axes that are asked for.

    Args:
        loaded: voxels that are periodic where they were drawn so: a face of an image is what it is.
        periodic: (x, y, z) of the box that is left; None: what the input and the steps make of it.

    Raises GeometryError: what is drawn cannot repeat: flow within a surface; spheres that a crop has cut; an opening
    that lies there.
    """
    if periodic is None:
        voxels, notes = prepare_image(loaded.voxels, preparation)
        return Noted(voxels, (*loaded.notes, *notes))
    if any(periodic) and isinstance(loaded.voxels.wall_shape, SurfaceWall) and not preparation.invert:
        raise GeometryError(
            f"periodic is {_letters(periodic)!r} and the input is a surface, which has layers of solid around it, so"
            " that nothing can repeat: leave periodic out, and give the flow through its ends by openings, or set"
            " invert = true for flow around it"
        )
    cropped, notes = prepare_image(loaded.voxels, Preparation(crop=preparation.crop))
    for i, axis in enumerate(AXES):
        if periodic[i] and loaded.voxels.periodic[i] and not cropped.periodic[i]:
            raise GeometryError(
                f"periodic has {axis}, along which what is drawn repeats with the whole box, and crop shortens the box"
                f" along {axis}: bodies would be cut where it repeats; leave {axis} out of periodic, or crop other axes"
            )
    voxels, more = prepare_image(replace(cropped, periodic=periodic), replace(preparation, crop=None))
    _refuse_openings(voxels, periodic)
    closed = triple(drawn and not asked for drawn, asked in zip(cropped.periodic, periodic, strict=True))
    further = _told_closed(closed, periodic) if np.any(np.array(closed) & (np.array(voxels.shape[::-1]) > 1)) else ()
    return Noted(replace(voxels, periodic=periodic), (*loaded.notes, *notes, *more, *further))


def without_effect(voxels: Voxels) -> Iterator[str]:
    """A sentence on each axis along which the box repeats, although solid lies at one of its ends."""
    for i, repeats in enumerate(voxels.periodic):
        layers = np.moveaxis(voxels.flags, 2 - i, 0)
        if repeats and not all(np.any(layers[end] == FLUID) for end in (0, -1)):
            yield (
                f"the box repeats along {AXES[i]} (periodic), and the layer of voxels at its low or high end there is"
                f" solid: nothing flows through; check the axis, or leave {AXES[i]} out"
            )


def _refuse_openings(voxels: Voxels, periodic: Axes) -> None:
    for opening in voxels.openings:
        normal = np.abs(opening.normal) / np.linalg.norm(opening.normal)
        for i, axis in enumerate(AXES):
            if periodic[i] and normal[i] > ALONG and not np.isfinite(opening.radius_m):
                raise GeometryError(
                    f"periodic has {axis}, and the {opening.title} lies across {axis}, where nothing can repeat: leave"
                    f" {axis} out of periodic, or the input without openings there (such as ends = 'periodic')"
                )


def _told_closed(closed: Axes, periodic: Axes) -> tuple[str]:
    axes, asked = _letters(closed), _letters(periodic)
    return (
        f"the input repeats along {axes}, the box does not, as periodic is {asked!r}: its faces there are walls unless"
        " openings lie there",
    )


def _letters(axes: Axes) -> str:
    return "".join(axis for axis, repeats in zip(AXES, axes, strict=True) if repeats)
