"""Place of a solid that dissolves or grows, and what moves it, as a case says it."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SolidPlace:
    """Position of a solid that moves in a case."""

    wall: str  #: name of its surface, a labelled wall
    #: centre_m, radius_m: a sphere; in a single layer of voxels a disc
    centre_m: tuple[float, ...] | None = None
    radius_m: float | None = None
    #: lowest and highest corner of a box; without sphere and box the voxels that have the label of the wall
    box_m: tuple[tuple[float, ...], ...] | None = None
    shares_file: Path | None = None  #: .npy file of an array like the image with the share of each voxel that is solid


@dataclass(frozen=True)
class MovedBy:
    """Displacement of a solid by a case."""

    place: SolidPlace  #: where the solid is at the start
    scalar: str  #: name of what the flow carries, whose flux through the wall moves it
    #: volume that the solid loses for each unit m3 that enters the fluid through its wall; negative where it loses for
    #: what it takes up
    volume_m3: float
    end_s: float  #: time up to which it moves
    step_s: float | None  #: time step of its surface; None: as long as ``largest_change`` allows
    largest_change: float  #: share of a voxel that a face of the wall may lose or gain in a step
    settled_within: float  #: relative change of the flux, and of the flow, within which both are steady
