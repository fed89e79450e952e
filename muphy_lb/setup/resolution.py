"""Whether the voxels resolve the openings."""

from collections.abc import Iterator, Sequence

from muphy_lb.boundaries.opening_geometry import OpeningFrame
from muphy_lb.geometry.voxels import Opening

FEW_ACROSS = 8
"""Fewer voxels across an opening than these give no reliable profile, flow rate or wall shear."""

SMALLER = 0.85
"""Radius of a disc over that of the opening it makes, below which its rim of some voxels decides what is open."""


def resolution_warnings(openings: Sequence[Opening], frames: Sequence[OpeningFrame], spacing_m: float) -> Iterator[str]:
    """Warnings of openings with few voxels across them, and of those that are larger than their discs.

    Args:
        openings: those of a geometry.
        frames: their measures.
        spacing_m: voxel edge [m].
    """
    across = {opening.name: 2.0 * frame.radius for opening, frame in zip(openings, frames, strict=True)}
    few = {name: n for name, n in across.items() if n < FEW_ACROSS}
    if few:
        listed = ", ".join(f"{name} {n:.1f}" for name, n in few.items())
        finer_m = spacing_m * min(few.values()) / FEW_ACROSS
        yield (
            f"few voxels across openings: {listed}; {FEW_ACROSS} or more are needed to rely on the result:"
            f" geometry.spacing_m = {finer_m:.2g} or finer"
        )
    for opening, frame in zip(openings, frames, strict=True):
        radius_m = frame.radius * spacing_m
        if opening.radius_m < SMALLER * radius_m:
            yield (
                f"openings.{opening.name}: radius_m = {opening.radius_m:.4g} is less than what opens: a disc of radius"
                f" {radius_m:.4g} m, as discs reach some voxels beyond their rim; give that as radius_m, or a finer"
                " geometry.spacing_m if only a part of the end is to be open"
            )
