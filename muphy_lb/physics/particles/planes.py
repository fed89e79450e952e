"""Planes through which particles are counted."""

from collections.abc import Sequence

import numpy as np

from muphy_lb.errors import InputError
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.physics.particles.base_section import ParticlesSection, PlaneSection
from muphy_lb.physics.particles.measures import crossings

ALONG_AN_AXIS = 1e-12
"""Sine of the largest angle between a normal and an axis that counts as none."""


class PlaneCounts:
    """How many particles of a set have crossed each of its planes since they started, those against the normal taken
    off; its growth is the flux.

    The numbers follow from where particles are and how far they have come alone, so that none is missed between two
    rows, and nothing is kept. In a periodic box a plane has images, and crossings of all of them count.

    Args:
        section: table of the set in the case file.
        header: of the geometry.

    Raises:
        InputError: a plane is inclined to a periodic axis, so that its images are other planes.
    """

    def __init__(self, section: ParticlesSection, header: GeometryHeader):
        self._planes = section.planes
        self._period_m = [_period_m(section.name, plane, header) for plane in section.planes]

    def columns(self) -> list[str]:
        """Names of the columns."""
        return [f"{plane.name}_crossed" for plane in self._planes]

    def numbers(self, position_m: np.ndarray, travelled_m: np.ndarray) -> list[float]:
        """A number for each plane, from places (n, 3) and displacements since the start (n, 3) [m]."""
        start_m, found = position_m - travelled_m, []
        for plane, period_m in zip(self._planes, self._period_m, strict=True):
            forward, back = crossings(start_m, position_m, plane.point_m, plane.normal, period_m)
            found.append(float(forward - back))
        return found


def _period_m(name: str, plane: PlaneSection, header: GeometryHeader) -> float | None:
    """Distance between a plane and its next image; None if it has none."""
    normal = np.asarray(plane.normal) / np.linalg.norm(plane.normal)
    wraps = np.asarray(header.periodic) & (np.array(header.shape[::-1]) > 1)
    (along,) = np.nonzero(wraps & (np.abs(normal) > ALONG_AN_AXIS))
    if not along.size:
        return None
    axis = int(along[0])
    if along.size > 1 or np.abs(np.delete(normal, axis)).max() > ALONG_AN_AXIS:
        raise InputError(
            f"particles.{name}.planes.{plane.name}.normal is {list(plane.normal)}, which is inclined to the periodic"
            f" axis {'xyz'[axis]}; allowed there: along the axis, or across it"
        )
    return float(header.shape[::-1][axis] * header.spacing_m)


def told(counts: Sequence[float], names: Sequence[str]) -> str:
    """The numbers of a row, as an addition to a line of text."""
    return "".join(
        f", {int(n):,} crossed {name.removesuffix('_crossed')}" for n, name in zip(counts, names, strict=True)
    )
