"""Catalogue of analytic geometries by name. Lengths without a unit suffix are in voxels. ``ends = "periodic"`` makes
the box periodic along the flow; ``ends = "open"`` places an opening ``inlet`` at the low end and ``outlet`` at the high
end."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from muphy_lb.base.kept.functions import njit
from muphy_lb.base.narrow import triple
from muphy_lb.geometry.axes import AXES
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.implicit import ROUNDING, FirstWall, ImplicitWall, RoundWall, plane_pair
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.link_cuts import WallShape
from muphy_lb.geometry.openings.carve import carve
from muphy_lb.geometry.options import LARGEST, check_counts, check_names, check_positive, is_number
from muphy_lb.geometry.shapes import benchmark_shapes, packings
from muphy_lb.geometry.shapes.shape_parts import (
    box_counts,
    check_box,
    check_porosity,
    flags_where,
    random_numbers,
    voxel_centres,
    with_ends,
)
from muphy_lb.geometry.shapes.tubes import Tube, grow_tree, tree_voxels
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Opening, Voxels

#: Of :func:`branching_vessel`: beyond them all vessels are near to all voxels, or it is one long thread.
MOST_SLENDER, WIDEST_BLEND = 1000.0, 5.0
#: Of :func:`sphere_pack`: a smaller sphere may cover no voxel, so that no number of them is enough.
SMALLEST_RADIUS, MOST_SPHERES = 0.5, 10**7


def channel(length=32, height=16, width=1, spacing_m=1.0, ends="periodic", wall_offset=0.5) -> Voxels:
    """Two plates with ``height`` layers of fluid between them along y; flow along x; periodic along z. The true walls
    lie ``wall_offset`` (0 to 1) beyond the outermost layers of fluid: the plates are ``height - 1 + 2 * wall_offset``
    voxels apart, which is ``height`` by default."""
    check_counts(length=length, height=height, width=width)
    check_positive(wall_offset=wall_offset)
    if wall_offset > 1.0:
        raise GeometryError(f"wall_offset is {wall_offset}; it must lie between 0 and 1")
    check_box((width, height + 2, length))
    flags = np.full((int(width), int(height) + 2, int(length)), FLUID, dtype=FLAG_DTYPE)
    flags[:, [0, -1], :] = SOLID
    plates = plane_pair(1, 1.0 - wall_offset, int(height) + wall_offset)
    return with_ends(Voxels(flags, spacing_m, periodic=(False, False, True), wall_shape=plates), "x", ends)


def square_duct(length=32, side=16, axis="x", spacing_m=1.0, ends="periodic") -> Voxels:
    """A straight duct of square cross-section along ``axis``."""
    check_counts(length=length, side=side)
    check_box((length, side + 2, side + 2))
    section = np.pad(np.ones((int(side), int(side)), dtype=bool), 1)
    sides = FirstWall(tuple(plane_pair(i, 0.5, int(side) + 0.5) for i in range(3) if AXES[i] != axis))
    return with_ends(_extrude(section, int(length), axis, spacing_m, sides), axis, ends)


def pipe(length=32, radius=8.0, axis="z", spacing_m=1.0, ends="periodic") -> Voxels:
    """A straight round pipe along ``axis``: the voxels whose centre is less than ``radius`` from the pipe's axis."""
    check_counts(length=length)
    check_positive(radius=radius)
    half = int(np.ceil(radius))
    check_box((length, 2 * half + 1, 2 * half + 1))
    c = np.arange(-half, half + 1)
    section = c[:, np.newaxis] ** 2 + c**2 < radius**2
    wall = RoundWall(np.full(3, float(half)), float(radius), triple(float(a == axis) for a in AXES))
    return with_ends(_extrude(section, int(length), axis, spacing_m, wall), axis, ends)


def stenosis(length=120, radius=10.0, severity=0.5, extent=40.0, spacing_m=1.0, ends="open") -> Voxels:
    """A straight round pipe along x with an axisymmetric stenosis of cosine profile in its middle.

    Its radius is ``radius (1 - severity (1 + cos(2 pi x / extent)) / 2)`` at distances x of up to extent / 2 from the
    middle. Source of the shape: Young, J. Eng. Ind. 90 (1968) 248.

    Args:
        length: of the pipe.
        radius: radius of the unobstructed pipe.
        severity: largest reduction of the diameter, as a fraction (0 to below 1).
        extent: length of the stenosis, at most ``length``.
        spacing_m: voxel edge [m].
        ends: ``"open"`` or ``"periodic"``.
    """
    check_counts(length=length)
    check_positive(radius=radius, extent=extent)
    if not 0.0 <= severity < 1.0 or extent > length:
        raise GeometryError(
            f"severity = {severity}, extent = {extent}, length = {length}; severity must be 0 or more and below 1,"
            " extent at most length"
        )
    half = int(np.ceil(radius))
    level = StenosisLevel(np.array([0.5 * (int(length) - 1), half, half]), float(radius), severity, extent)
    shape = (2 * half + 1, 2 * half + 1, int(length))
    flags = flags_where(level(voxel_centres(shape)).reshape(shape) > ROUNDING)
    return with_ends(Voxels(flags, spacing_m, wall_shape=ImplicitWall(level)), "x", ends)


@dataclass(frozen=True)
class StenosisLevel:
    """The level function of :func:`stenosis`: distance from the wall across the pipe, positive in the fluid."""

    middle: np.ndarray  #: (3,) voxel coordinates (x, y, z) of the throat
    #: radius, severity, extent: arguments of the shape
    radius: float
    severity: float
    extent: float

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """(n,) levels of points (n, 3) in voxel coordinates."""
        along, *across = (points - self.middle).T
        phase = np.clip(2.0 * np.pi * along / self.extent, -np.pi, np.pi)
        return self.radius * (1.0 - 0.5 * self.severity * (1.0 + np.cos(phase))) - np.hypot(*across)


def nanopore(length=60, width=24, thickness=8.0, radius=3.0, spacing_m=1.0, ends="periodic") -> Voxels:
    """A round pore through a membrane between two chambers of water, along x; the membrane repeats along y and z.

    Args:
        length: of the box along x; the membrane lies in its middle.
        width: of the box along y and z, more than the diameter of the pore.
        thickness: of the membrane, less than ``length``.
        radius: of the pore.
        spacing_m: voxel edge [m].
        ends: ``"open"`` or ``"periodic"``, of the chambers along x.
    """
    check_counts(length=length, width=width)
    check_positive(thickness=thickness, radius=radius)
    if thickness >= length or 2.0 * radius >= width:
        raise GeometryError(
            f"thickness = {thickness}, length = {length}, radius = {radius}, width = {width}; allowed: a thickness"
            " below length, a radius below half of width"
        )
    shape = (int(width), int(width), int(length))
    check_box(shape)
    level = NanoporeLevel(0.5 * (np.array(shape[::-1]) - 1.0), float(thickness), float(radius))
    flags = flags_where(level(voxel_centres(shape)).reshape(shape) > ROUNDING)
    wall = ImplicitWall(level)
    return with_ends(Voxels(flags, spacing_m, periodic=(False, True, True), wall_shape=wall), "x", ends)


@dataclass(frozen=True)
class NanoporeLevel:
    """The level function of :func:`nanopore`: distance from the membrane or from the wall of its pore, positive in the
    fluid."""

    middle: np.ndarray  #: (3,) voxel coordinates (x, y, z) of the middle of the pore
    #: thickness, radius: arguments of the shape
    thickness: float
    radius: float

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """(n,) levels of points (n, 3) in voxel coordinates."""
        along, *across = (points - self.middle).T
        return np.maximum(np.abs(along) - 0.5 * self.thickness, self.radius - np.hypot(*across))


def branching_vessel(
    spacing_m=3e-4, parent_radius_m=4e-3, generations=2, asymmetry=0.75, slenderness=5.0, blend=0.5
) -> Voxels:
    """An arterial tree with openings: ``inlet`` and ``outlet_1`` ... ``outlet_N``, N = 2**generations.

    At each bifurcation of the curved vessels the radii obey Murray's law, r0^3 = r1^3 + r2^3, with r2 = asymmetry * r1,
    and the branching angles are those of minimum work. Source: Murray, J. Gen. Physiol. 9 (1926) 835.

    Args:
        spacing_m: edge length of a voxel [m].
        parent_radius_m: radius of the inlet [m].
        generations: number of bifurcations along each path (1 to 5).
        asymmetry: radius ratio of the two daughter vessels (0 to 1].
        slenderness: length of each vessel over its radius.
        blend: width of the rounding at a bifurcation over the smallest radius.
    """
    check_positive(
        spacing_m=spacing_m, parent_radius_m=parent_radius_m, asymmetry=asymmetry, slenderness=slenderness, blend=blend
    )
    if slenderness > MOST_SLENDER or blend > WIDEST_BLEND:
        raise GeometryError(
            f"slenderness = {slenderness}, blend = {blend}; allowed: a slenderness up to {MOST_SLENDER}, a blend up to"
            f" {WIDEST_BLEND}"
        )
    if generations not in range(1, 6) or asymmetry > 1.0:
        raise GeometryError(
            f"generations = {generations}, asymmetry = {asymmetry}; allowed: 1 to 5 generations, asymmetry up to 1"
        )
    tubes = grow_tree(parent_radius_m, int(generations), asymmetry, slenderness)
    voxels = tree_voxels(tubes, spacing_m, blend)
    return carve(voxels, _tree_openings(tubes))


def sphere_pack(size=64, radius=8.0, porosity=0.4, seed=0, spacing_m=1.0) -> Voxels:
    """Overlapping solid spheres at random positions in a periodic cube, added until the porosity falls to its value."""
    check_counts(size=size)
    check_positive(radius=radius, spacing_m=spacing_m)
    check_porosity(porosity)
    check_box((size,) * 3)
    size, random = int(size), random_numbers(seed)
    n_spheres = -np.log(max(porosity, 1.0 / size**3)) * size**3 / (4.0 / 3.0 * np.pi * radius**3)
    if radius < SMALLEST_RADIUS or n_spheres > MOST_SPHERES:
        raise GeometryError(
            f"radius is {radius:g} in a cube of {size} voxels, which takes about {n_spheres:.2g} spheres; take a radius"
            f" of at least {SMALLEST_RADIUS} voxels that takes at most {MOST_SPHERES:.0e}"
        )
    flags = np.full((size,) * 3, FLUID, dtype=FLAG_DTYPE)
    n_fluid, centres = flags.size, []
    half_width = min(int(np.ceil(radius)) + 1, size // 2)
    while n_fluid > porosity * flags.size:
        centres.append(random.random(3) * size)
        n_fluid -= _place_sphere(flags, centres[-1], float(radius**2), half_width)
    wall = RoundWall(np.reshape(centres, (-1, 3))[:, ::-1], float(radius), periods=(float(size),) * 3)
    return Voxels(flags, spacing_m, periodic=(True, True, True), wall_shape=wall)


def random_solid(shape_zyx=(32, 32, 32), porosity=0.5, seed=0, spacing_m=1.0) -> Voxels:
    """Every voxel of a periodic box is fluid with probability ``porosity``: the roughest possible wall."""
    check_porosity(porosity)
    shape = box_counts(shape_zyx)
    fluid = random_numbers(seed).random(shape) < porosity
    return Voxels(flags_where(fluid), spacing_m, periodic=(True, True, True))


SHAPES: Mapping[str, Callable[..., Voxels]] = MappingProxyType(
    {
        "channel": channel,
        "square_duct": square_duct,
        "pipe": pipe,
        "stenosis": stenosis,
        "nanopore": nanopore,
        "branching_vessel": branching_vessel,
        "sphere_pack": sphere_pack,
        "random_spheres": packings.random_spheres,
        "blurred_noise": packings.blurred_noise,
        "random_solid": random_solid,
        "tank": benchmark_shapes.tank,
        "cavity": benchmark_shapes.cavity,
        "facing_walls": benchmark_shapes.facing_walls,
        "cylinder_array": benchmark_shapes.cylinder_array,
        "sphere_array": benchmark_shapes.sphere_array,
        "tilted_pipe": benchmark_shapes.tilted_pipe,
        "annulus": benchmark_shapes.annulus,
        "obstacle_channel": benchmark_shapes.obstacle_channel,
        "tunnel": benchmark_shapes.tunnel,
        "circle": benchmark_shapes.circle,
        "random_porous": benchmark_shapes.random_porous,
    }
)


def build_shape(name: str, **options) -> Voxels:
    """The shape of this name; GeometryError, with a suggestion, for an unknown name or option."""
    check_names([name], SHAPES, "shape")
    parameters = inspect.signature(SHAPES[name]).parameters
    check_names(options, parameters, f"shape {name}")
    for option, value in options.items():
        _check_kind(f"shape {name}: {option}", value, parameters[option].default)
    try:
        return SHAPES[name](**options)
    except TypeError as error:
        raise GeometryError(f"shape {name}: an option has the wrong type ({error})") from error


def _check_kind(what: str, value, default) -> None:
    """Raise GeometryError for an option that is not of the kind of its default: text, numbers, or a number."""
    if isinstance(default, str):
        is_right, kind = isinstance(value, str), "a text"
    elif isinstance(default, tuple):
        is_right, kind = isinstance(value, list | tuple) and all(map(is_number, value)), "a list of numbers"
    else:
        is_right, kind = is_number(value) or value is default, f"a number, at most {LARGEST:g}"
    if not is_right:
        example = "" if default is None else f", such as {default!r}"
        raise GeometryError(f"{what} is {shown(value)}; it must be {kind}{example}")


def _extrude(section: np.ndarray, length: int, axis: str, spacing_m: float, wall: WallShape) -> Voxels:
    """The boolean cross-section extruded along an axis."""
    if axis not in tuple(AXES):
        raise GeometryError(f"axis is {shown(axis)}; allowed: x, y, z")
    along_z = flags_where(section)[np.newaxis].repeat(length, axis=0)
    flags = np.ascontiguousarray(np.moveaxis(along_z, 0, 2 - AXES.index(axis)))
    return Voxels(flags, spacing_m, wall_shape=wall)


def _tree_openings(tubes: list[Tube]) -> list[Opening]:
    """A disc at every cut end, its normal into the vessel, 1.2 times as wide: sections are not exactly round."""
    cut = [(tube.start, tube.start_direction, tube.radii[0], "inlet", "inlet") for tube in tubes if tube.cut_start]
    leaves = [tube for tube in tubes if tube.cut_end]
    cut += [(t.end, -t.end_direction, t.radii[-1], f"outlet_{k}", "outlet") for k, t in enumerate(leaves, start=1)]
    return [
        Opening(name, kind, tuple(centre.tolist()), tuple(direction.tolist()), 1.2 * float(radius))
        for centre, direction, radius, name, kind in cut
    ]


@njit(cache=True)
def _place_sphere(flags, centre, radius_squared, half_width):
    """Make one sphere of a periodic cube solid; returns the number of its voxels that were fluid before."""
    size = len(flags)
    first = np.floor(centre).astype(np.int64) - half_width
    n_hit = 0
    for z in range(first[0], first[0] + 2 * half_width + 1):
        for y in range(first[1], first[1] + 2 * half_width + 1):
            across = (z - centre[0]) ** 2 + (y - centre[1]) ** 2
            if across < radius_squared:
                row = flags[z % size, y % size]
                n_hit += _place_chord(row, first[2], first[2] + 2 * half_width + 1, across, centre[2], radius_squared)
    return n_hit


@njit(cache=True)
def _place_chord(row, first, last, across, centre, radius_squared):
    """:func:`_place_sphere` in one row of voxels."""
    n_hit = 0
    for x in range(first, last):
        if across + (x - centre) ** 2 < radius_squared and row[x % row.size] == FLUID:
            row[x % row.size] = SOLID
            n_hit += 1
    return n_hit
