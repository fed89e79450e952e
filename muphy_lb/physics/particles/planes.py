"""Planes through which particles are counted."""

from collections.abc import Sequence

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.physics.particles.base_section import ParticlesSection, PlaneSection
from muphy_lb.physics.particles.measures import crossings

ALONG_AN_AXIS = 1e-12
"""Sine of the largest angle between a normal and an axis that counts as none."""
NO_DISTANCE = 1e-9
"""Distance in front of a plane [voxels] from which on a particle is beyond it: one that starts in the plane has not
crossed it, however its place is rounded."""


class PlaneCounts:
    """How many particles of a set have crossed each of its planes since they started, those against the normal taken
    off; its growth is the flux.

    The numbers follow from where particles are and how far they have come alone, so that none is missed between two
    rows, and nothing is kept. In a periodic box a plane has images, and crossings of all of them count.

    Args:
        section: table of the set in the case file.
        header: of the geometry.
        dimension: number of axes along which particles move.

    Raises:
        InputError: nothing can cross a plane, or it is inclined to a periodic axis, so that its images are others.
    """

    def __init__(self, section: ParticlesSection, header: GeometryHeader, dimension: int):
        self._planes = section.planes
        self._normal = [np.asarray(plane.normal) / np.linalg.norm(plane.normal) for plane in section.planes]
        self._period_m = []
        for plane, normal in zip(section.planes, self._normal, strict=True):
            key = f"particles.{section.name}.planes.{plane.name}"
            _refuse_out_of_reach(key, plane, normal, header, dimension)
            self._period_m.append(_period_m(key, plane, normal, header))
        self._no_distance_m = NO_DISTANCE * header.spacing_m

    def columns(self) -> list[str]:
        """Names of the columns."""
        return [f"{plane.name}_crossed" for plane in self._planes]

    def numbers(self, position_m: np.ndarray, travelled_m: np.ndarray) -> list[int]:
        """A number for each plane, from places (n, 3) and displacements since the start (n, 3) [m]."""
        start_m, found = position_m - travelled_m, []
        for plane, normal, period_m in zip(self._planes, self._normal, self._period_m, strict=True):
            point_m = np.asarray(plane.point_m) - self._no_distance_m * normal
            forward, back = crossings(start_m, position_m, point_m, normal, period_m)
            found.append(forward - back)
        return found


def _refuse_out_of_reach(key: str, plane: PlaneSection, normal: np.ndarray, header: GeometryHeader, dimension: int):
    """Raise InputError for a plane that is outside the box, or along which all particles move."""
    if np.abs(normal[:dimension]).max() <= ALONG_AN_AXIS:
        raise InputError(f"{key}.normal is {list(plane.normal)}, along which no particle of a plane flow moves")
    size = np.array(header.shape[::-1])
    corners = np.stack(np.meshgrid(*zip(np.full(3, -0.5), size - 0.5, strict=True), indexing="ij"), axis=-1)
    corners_m = np.asarray(header.origin_m) + header.spacing_m * corners.reshape(-1, 3)
    distance_m = (corners_m - plane.point_m) @ normal
    if distance_m.min() > 0.0 or distance_m.max() < 0.0:
        low, high = corners_m.min(axis=0), corners_m.max(axis=0)
        raise InputError(
            f"{key} is outside the box of the geometry, which is from {low.tolist()} to {high.tolist()} m; move point_m"
        )


def _period_m(key: str, plane: PlaneSection, normal: np.ndarray, header: GeometryHeader) -> float | None:
    """Distance between a plane and its next image; None if it has none."""
    (along,) = np.nonzero(np.asarray(header.periodic) & (np.abs(normal) > ALONG_AN_AXIS))
    if not along.size:
        return None
    axis = int(along[0])
    if along.size > 1 or np.abs(np.delete(normal, axis)).max() > ALONG_AN_AXIS:
        raise InputError(
            f"{key}.normal is {list(plane.normal)}, which is inclined to the periodic axis {'xyz'[axis]}; allowed"
            " there: along the axis, or across it"
        )
    return float(header.shape[::-1][axis] * header.spacing_m)


def told(counts: Sequence[int], names: Sequence[str]) -> str:
    """The numbers of a row, as an addition to a line of text."""
    pairs = zip(counts, names, strict=True)
    return "".join(f", {n:,} net through {name.removesuffix('_crossed')}" for n, name in pairs)
