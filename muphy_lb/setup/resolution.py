"""Whether the voxels resolve the openings."""

from collections.abc import Iterable, Iterator

from muphy_lb.boundaries.opening_geometry import OpeningFrame

FEW_ACROSS = 8
"""Fewer voxels across an opening than these give no reliable profile, flow rate or wall shear."""


def coarse_openings(names: Iterable[str], frames: Iterable[OpeningFrame], spacing_m: float) -> Iterator[str]:
    """One warning, if some openings have few voxels across them: which, and the voxel edge that would do."""
    across = {name: 2.0 * frame.radius for name, frame in zip(names, frames, strict=True)}
    few = {name: n for name, n in across.items() if n < FEW_ACROSS}
    if few:
        listed = ", ".join(f"{name} {n:.1f}" for name, n in few.items())
        finer_m = spacing_m * min(few.values()) / FEW_ACROSS
        yield (
            f"few voxels across openings: {listed}; {FEW_ACROSS} or more are needed to rely on the result:"
            f" geometry.spacing_m = {finer_m:.2g} or finer"
        )
