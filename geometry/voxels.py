"""Voxels: the segmented image that every reader produces, the kinds of its voxels, and the records of its openings.

A voxel image holds one ``uint8`` flag per voxel. Values below ``FIRST_OPENING`` are the fixed kinds;
``FIRST_OPENING + k`` marks a voxel of opening ``k``. Opening voxels are not fluid: they lie just outside the
flow, and the boundary condition of the opening is imposed at the midpoint of every lattice link from a fluid node
into one of them. ``FIRST_WALL + k`` marks a solid voxel of labelled wall ``k``: a wall with a name, such as a
moving lid or a body whose drag is computed. ``WALL`` is a solid voxel tagged as wall by the input (MUPHY's tag);
the flow treats it as ``SOLID``. Openings and labelled walls share one numbering, ``flag - FIRST_OPENING``: walls start
at ``FIRST_WALL_NUMBER``.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numba
import numpy as np

from muphy_lb.base.kept.functions import njit
from muphy_lb.base.narrow import triple
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.link_cuts import WallShape
from muphy_lb.geometry.options import SMALLEST, is_number, vector
from muphy_lb.geometry.slabs import slabs

SOLID = 0
FLUID = 1
WALL = 2
FIRST_OPENING = 16
FIRST_WALL = 128
FIRST_WALL_NUMBER = FIRST_WALL - FIRST_OPENING
MAX_OPENINGS = FIRST_WALL - FIRST_OPENING
MAX_WALLS = 256 - FIRST_WALL
#: Labels of fluid nodes by the region that they belong to; regions are no voxel flags.
FIRST_REGION_NUMBER = 256 - FIRST_OPENING
MAX_REGIONS = FIRST_OPENING

FLAG_DTYPE = np.uint8


def opening_flag(number: int) -> int:
    """Flag of the voxels of opening ``number`` (0-based)."""
    return FIRST_OPENING + number


def wall_flag(number: int) -> int:
    """Flag of the voxels of labelled wall ``number`` (0-based)."""
    return FIRST_WALL + number


KINDS = ("inlet", "outlet")

#: A normal this close to unit length is not normalised again, so that a record read back equals the record written.
UNIT_ROUND_OFF = 1e-14


def opening_title(kind: str, name: str) -> str:
    """Kind and name of an opening, such as "outlet left"; the kind once if the name begins with it."""
    return name if name.startswith(kind) else f"{kind} {name}"


@dataclass(frozen=True)
class Opening:
    """A plane region through which fluid enters or leaves."""

    name: str  #: unique name, used in case files and in every output
    kind: str  #: ``"inlet"`` or ``"outlet"`` (a label for reports; the boundary condition is set in the case)
    centre_m: tuple[float, float, float]  #: point (x, y, z) of the opening plane [m]
    normal: tuple[float, float, float]  #: unit vector (x, y, z) pointing into the fluid
    radius_m: float = float("inf")  #: radius [m] of the disc that bounds the opening; ``inf`` for the whole plane

    def __post_init__(self):
        if self.kind not in KINDS:
            raise GeometryError(f"opening {self.name!r}: kind is {self.kind!r}; allowed: {', '.join(KINDS)}")
        centre, length = vector(f"opening {self.name!r}: centre", self.centre_m, 3), float(np.linalg.norm(self.normal))
        if not np.isfinite(length) or length == 0.0:
            raise GeometryError(
                f"opening {self.name!r}: normal is {self.normal}; give a non-zero vector that points into the fluid"
            )
        if not self.radius_m >= SMALLEST:
            raise GeometryError(f"opening {self.name!r}: radius is {self.radius_m} m; it must be positive")
        object.__setattr__(self, "centre_m", tuple(centre.tolist()))
        scale = 1.0 if abs(length - 1.0) < UNIT_ROUND_OFF else length
        object.__setattr__(self, "normal", tuple(float(c) / scale for c in self.normal))

    @property
    def title(self) -> str:
        """Its kind and name, see :func:`opening_title`."""
        return opening_title(self.kind, self.name)

    def flipped(self) -> "Opening":
        """The same opening with its normal reversed."""
        return replace(self, normal=triple(-c for c in self.normal))


@dataclass(frozen=True, eq=False)
class End:
    """An end of an input, where fluid could enter or leave."""

    source: str  #: text: what kind of end it is
    centre_m: tuple[float, float, float]  #: its centre (x, y, z) [m]
    normal: tuple[float, float, float]  #: unit vector (x, y, z) into the fluid
    area_m2: float  #: its area [m2]
    outer_radius_m: float  #: radius [m] about the centre that encloses it; ``inf`` for a whole face of the box
    points_m: np.ndarray  #: (n, 3) points on it [m]
    areas_m2: np.ndarray  #: (n,) area that each of them stands for [m2]

    @property
    def radius_m(self) -> float:
        """Radius [m] of a circle of the same area."""
        return float(np.sqrt(self.area_m2 / np.pi))


AT_INLET = "inlet"
RESERVOIR_ENDS = ("periodic", "open", AT_INLET)


class Reservoirs(NamedTuple):
    """Layers of fluid added to an image, as of :class:`muphy_lb.geometry.porous.preparation.Preparation`."""

    layers: int  #: at each end
    axis: str  #: "x", "y" or "z"
    ends: str  #: one of ``RESERVOIR_ENDS``

    @property
    def both(self) -> tuple[int, int]:
        """Layers at the low end and at the high one, where ``AT_INLET`` has none."""
        return self.layers, 0 if self.ends == AT_INLET else self.layers


@dataclass(frozen=True)
class Voxels:
    """A segmented image: a box of flagged voxels."""

    #: (nz, ny, nx) uint8 array of ``muphy_lb.geometry.voxels`` values, x fastest. Two dimensions: nz = 1.
    flags: np.ndarray
    spacing_m: float = 1.0  #: edge length of the cubic voxels [m]
    origin_m: tuple[float, float, float] = (0.0, 0.0, 0.0)  #: (x, y, z) of the *centre* of voxel (0, 0, 0) [m]
    periodic: tuple[bool, bool, bool] = (False, False, False)  #: (x, y, z) whether the box is periodic along each axis
    #: ``openings[k]`` describes the voxels flagged ``FIRST_OPENING + k``
    openings: tuple[Opening, ...] = field(default=())
    #: ``walls[k]`` is the name of the solid voxels flagged ``FIRST_WALL + k``
    walls: tuple[str, ...] = field(default=())
    #: the true wall, in voxel coordinates of this box; ``None`` if only the voxels are known
    wall_shape: WallShape | None = field(default=None, compare=False)
    #: where the input ends without being closed, as far as that is known
    ends: tuple[End, ...] = field(default=(), compare=False)
    reservoirs: Reservoirs | None = None  #: layers of fluid that were added to the image

    def __post_init__(self):
        if self.flags.ndim != 3 or self.flags.dtype != FLAG_DTYPE:
            raise GeometryError(
                f"voxel flags have shape {self.flags.shape} and type {self.flags.dtype};"
                " they must be a (nz, ny, nx) uint8 array"
            )
        if not (is_number(self.spacing_m) and self.spacing_m >= SMALLEST):
            raise GeometryError(
                f"voxel spacing is {shown(self.spacing_m)} m; it must be positive and finite, at least {SMALLEST:g}"
            )
        if len(self.walls) > MAX_WALLS:
            raise GeometryError(f"{len(self.walls)} labelled walls; at most {MAX_WALLS} are supported")
        twice = sorted({name for name in self.walls if self.walls.count(name) > 1})
        if twice:
            raise GeometryError(
                f"wall name {twice[0]!r} is used {self.walls.count(twice[0])} times; names must be unique"
            )

    @property
    def shape(self) -> tuple[int, int, int]:
        """(nz, ny, nx)."""
        return self.flags.shape

    @property
    def n_fluid(self) -> int:
        """Number of fluid voxels."""
        return int(self.count_flags()[FLUID])

    def count_flags(self) -> np.ndarray:
        """(256,) int64 number of voxels with each flag."""
        counts = np.zeros(256, dtype=np.int64)
        with ThreadPoolExecutor(n_threads := numba.get_num_threads()) as pool:
            for _, slab in slabs(self.flags):
                counts += sum(pool.map(_count, np.array_split(slab, min(n_threads, len(slab)))))
        return counts

    def check_flags(self) -> "Voxels":
        """Return self; raise GeometryError if a flag is neither a fixed kind nor that of a known opening or wall."""
        known = np.zeros(256, dtype=bool)
        known[: WALL + 1] = True
        known[FIRST_OPENING : FIRST_OPENING + len(self.openings)] = True
        known[FIRST_WALL : FIRST_WALL + len(self.walls)] = True
        unknown = np.flatnonzero((self.count_flags() > 0) & ~known)
        if unknown.size:
            raise GeometryError(f"voxel flags hold the unknown values {unknown.tolist()}; see geometry/voxels.py")
        return self


@njit(cache=True, nogil=True, usually="void(uint8[:,:,::1])")
def _count(flags):
    """(256,) number of voxels with each flag, in a function that compiles in a third of the time of a parallel one.
    Increments of one counter by equal neighbouring flags would be serialised; so there are four of each."""
    nz, ny, nx = flags.shape
    counts = np.zeros((4, 256), dtype=np.int64)
    for z in range(nz):
        for y in range(ny):
            for x in range(nx):
                counts[x % 4, flags[z, y, x]] += 1
    for flag in range(256):
        counts[0, flag] += counts[1, flag] + counts[2, flag] + counts[3, flag]
    return counts[0]
