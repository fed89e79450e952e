"""Analytic geometries of published test cases, with named walls and the true position of every wall. Lengths without a
unit suffix are in voxels. *Face coordinates* count from the low corner of the box, so that voxel centres lie at i +
1/2; voxel coordinates are smaller by 1/2. Two-dimensional shapes have one layer, periodic along z."""

from itertools import product

import numpy as np

from muphy_lb.geometry.axes import AXES
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.implicit import ROUNDING, FirstWall, RoundWall, plane_pair
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.openings.carve import carve
from muphy_lb.geometry.options import check_counts, check_positive, check_whole, vector
from muphy_lb.geometry.shapes.shape_parts import (
    check_box,
    check_dimension,
    check_porosity,
    end_openings,
    flags_where,
    random_numbers,
    voxel_centres,
    with_ends,
)
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Voxels, wall_flag

CLOSEST_PACKING = {"simple": np.pi / 6, "body": np.sqrt(3) * np.pi / 8, "face": np.sqrt(2) * np.pi / 6}
#: Sphere centres of the cubic lattices, in edge lengths of the cell.
SITES: dict[str, list[tuple[float, float, float]]] = {
    "simple": [(0, 0, 0)],
    "body": [(0, 0, 0), (0.5, 0.5, 0.5)],
    "face": [(0, 0, 0), (0, 0.5, 0.5), (0.5, 0, 0.5), (0.5, 0.5, 0)],
}
#: Tolerance by which a solid fraction may exceed that of touching bodies: published values are rounded.
PACKING_SLACK = 1e-3
CHANNEL_HEIGHT_M = 0.41
CYLINDER_DIAMETER_M = 0.1
CYLINDER_Y_M = 0.2
CYLINDER_X_M = {2: 0.2, 3: 0.5}
CHANNEL_LENGTH_M = {2: 2.2, 3: 2.5}

#: Largest component of the direction of :func:`tilted_pipe`.
STEEPEST = 10**4
#: Channel width over disc diameter of :func:`circle`.
CIRCLE_BLOCKAGE = 5


TANKS = ("box", "wedge", "stairs")


def tank(length=64, height=32, width=1, bottom="box", obstacle=(), spacing_m=1.0) -> Voxels:
    """A closed tank, ``length`` along x, ``height`` along y, ``width`` along z (a width of 1 is periodic along z).

    Its bottom is flat (``box``), rises along x from the middle on by one voxel in two (``wedge``), or in four steps up
    to half of the height (``stairs``). ``obstacle``, if given, is a solid box in it: its lowest corner x, y, z and its
    highest one, six numbers, face coordinates. All walls lie half-way between voxel centres.
    """
    check_counts(length=length, height=height, width=width)
    check_positive(spacing_m=spacing_m)
    check_box((width, height, length))
    if bottom not in TANKS:
        raise GeometryError(f"bottom is {shown(bottom)}; allowed: {', '.join(TANKS)}")
    length, height, width = int(length), int(height), int(width)
    x, y = np.arange(length), np.arange(height)[:, None]
    rise = {
        "box": np.zeros(length),
        "wedge": np.maximum(0, (x - length // 2) // 2),
        "stairs": x * 5 // length * (height // 8),
    }
    flags = np.repeat(np.where(y < rise[bottom], SOLID, FLUID).astype(FLAG_DTYPE)[None], width, axis=0)
    if len(obstacle):
        flags[_within(obstacle, flags.shape)] = SOLID
    return Voxels(flags, spacing_m, periodic=(False, False, width == 1))


def _within(obstacle, shape: tuple[int, int, int]) -> np.ndarray:
    """Which voxels have their centre in a box, given by six face coordinates."""
    low, high = vector("obstacle", obstacle, 6).reshape(2, 3)
    z, y, x = (np.arange(n) + 0.5 for n in shape)
    inside = [(low[axis] <= place) & (place < high[axis]) for axis, place in enumerate((x, y, z))]
    is_solid = inside[2][:, None, None] & inside[1][:, None] & inside[0]
    if not is_solid.any() or is_solid.all():
        raise GeometryError(
            f"obstacle is {shown(obstacle)}, which takes {'all' if is_solid.any() else 'none'} of the tank's voxels, of"
            f" {shape[2]} x {shape[1]} x {shape[0]}; give its lowest x, y, z and its highest ones [voxels]"
        )
    if np.any(low < 0.0) or np.any(high > shape[::-1]):
        within = [*np.maximum(low, 0.0).tolist(), *np.minimum(high, shape[::-1]).tolist()]
        raise GeometryError(
            f"obstacle is {shown(obstacle)}, which reaches beyond the tank of {shape[2]} x {shape[1]} x {shape[0]}"
            f" voxels; what lies in it is {', '.join(f'{place:g}' for place in within)}"
        )
    return is_solid


def cavity(size=64, dimension=2, spacing_m=1.0) -> Voxels:
    """A square (or cube) of ``size`` voxels between solid walls; the wall at high y is labelled ``lid``.

    All walls lie half-way between voxel centres. Voxels of the lid's layer beyond its edges are unlabelled solid: on a
    link through the edge between two walls, the velocity is that of the wall at rest. One layer, periodic along z, if
    dimension is 2.
    """
    check_counts(size=size)
    check_positive(spacing_m=spacing_m)
    check_dimension(dimension)
    check_box((1 if dimension == 2 else size + 2, size + 2, size + 2))
    size, inside = int(size), slice(1, -1)
    across = slice(None) if dimension == 2 else inside
    flags = np.full((1 if dimension == 2 else size + 2, size + 2, size + 2), SOLID, dtype=FLAG_DTYPE)
    flags[across, inside, inside] = FLUID
    flags[across, -1, inside] = wall_flag(0)
    planes = FirstWall(tuple(plane_pair(axis, 0.5, size + 0.5) for axis in range(dimension)))
    periodic = (False, False, dimension == 2)
    return Voxels(flags, spacing_m, periodic=periodic, walls=("lid",), wall_shape=planes)


def facing_walls(size=64, width=None, dimension=3, axis="x", sides="closed", spacing_m=1.0) -> Voxels:
    """A box between two labelled walls ``size`` voxels apart, ``cold`` at low, ``hot`` at high coordinates. The other
    axes are ``width`` voxels long (``size`` by default) and bounded by unlabelled walls (``sides`` = "closed") or
    periodic ("periodic"). One layer, periodic along z, if dimension is 2."""
    width = size if width is None else width
    check_counts(size=size, width=width)
    check_positive(spacing_m=spacing_m)
    check_dimension(dimension)
    if axis not in AXES[:dimension] or sides not in ("closed", "periodic"):
        raise GeometryError(
            f"facing_walls has axis {shown(axis)} and sides {shown(sides)}; allowed: {', '.join(AXES[:dimension])} and"
            " closed, periodic"
        )
    size, width, along = int(size), int(width), 2 - AXES.index(axis)
    shape = [1 if dimension == 2 else width, width, width]
    shape[along] = size + 2
    check_box(shape)
    flags = np.moveaxis(np.full(shape, FLUID, dtype=FLAG_DTYPE), along, 0)
    flags[0], flags[-1] = wall_flag(0), wall_flag(1)
    repeats = [sides == "periodic" and name != axis for name in AXES]
    repeats[2] |= dimension == 2
    first = [float(name == axis) - 0.5 for name in AXES]  # the wall lies half a voxel before the first node
    ends = [first[a] + (size if AXES[a] == axis else width) for a in range(3)]
    planes = FirstWall(tuple(plane_pair(a, first[a], ends[a]) for a in range(3) if not repeats[a]))
    flags = np.moveaxis(flags, 0, along)
    return Voxels(flags, spacing_m, periodic=tuple(repeats), walls=("cold", "hot"), wall_shape=planes)


def cylinder_array(size=40, cells=1, solid_fraction=0.12566370614359174, shift=(0.0, 0.0), spacing_m=1.0) -> Voxels:
    """``cells`` x ``cells`` unit cells with a cylinder along z in the middle of each, in a box ``size`` voxels wide.

    Periodic; all cylinders are moved by ``shift`` [voxels] (x, y) and labelled ``cylinders``. Source of the case:
    Sangani, Acrivos, Int. J. Multiphase Flow 8 (1982) 193.
    """
    check_counts(size=size, cells=cells)
    check_positive(solid_fraction=solid_fraction, spacing_m=spacing_m)
    _check_fraction(solid_fraction, np.pi / 4)
    check_whole(1, int(size), cells=cells)
    size, cell = int(size), int(size) / int(cells)
    centre = np.full(3, 0.5 * cell - 0.5) + np.append(vector("shift", shift, 2), 0.0)
    wall = RoundWall(centre, cell * np.sqrt(solid_fraction / np.pi), (0.0, 0.0, 1.0), (cell, cell, 0.0))
    return _around_bodies(wall, (1, size, size), spacing_m, "cylinders")


def sphere_array(size=48, lattice="simple", solid_fraction=0.216, spacing_m=1.0, radius=None) -> Voxels:
    """A periodic cube with solid spheres on a ``simple``, ``body`` (-centred) or ``face`` (-centred) cubic lattice.

    Centres lie on the corners of the cube (face coordinate 0); the spheres are labelled ``spheres``. ``radius``, if
    given, overrides ``solid_fraction``, and the spheres may overlap. Source of the case: Zick, Homsy, J. Fluid Mech.
    115 (1982) 13.
    """
    check_counts(size=size)
    check_positive(solid_fraction=solid_fraction, spacing_m=spacing_m)
    if lattice not in SITES:
        raise GeometryError(f"lattice is {shown(lattice)}; allowed: {', '.join(SITES)}")
    size, sites = int(size), np.array(SITES[lattice], dtype=np.float64)
    if radius is None:
        _check_fraction(solid_fraction, CLOSEST_PACKING[lattice])
        radius = size * np.cbrt(3.0 * solid_fraction / (4.0 * np.pi * len(sites)))
    check_positive(radius=radius)
    return _around_bodies(RoundWall(size * sites - 0.5, radius, periods=(size,) * 3), (size,) * 3, spacing_m, "spheres")


def tilted_pipe(radius=8.6, direction=(2, 1, 0), centre_offset=(0.0, 0.0, 0.0), spacing_m=1.0) -> Voxels:
    """An infinite round pipe along an integer direction (x, y, z), in the smallest box in which it is periodic.

    Along the axes along which the pipe extends, the box is ``|direction| * k`` voxels wide and periodic, with k such
    that the periodic images of the pipe are at least two voxels apart. The pipe's axis passes through the middle of
    the box, shifted by ``centre_offset``.
    """
    check_positive(radius=radius, spacing_m=spacing_m)
    check_box((1, radius + 1, radius + 1))
    step, offset = np.array(direction), vector("centre_offset", centre_offset, 3)
    if step.shape != (3,) or step.dtype.kind != "i" or not step.any() or np.abs(step).max() > STEEPEST:
        raise GeometryError(
            f"direction is {shown(direction)}; give three whole numbers x, y, z that are not all zero, at most"
            f" {STEEPEST}"
        )
    step = np.abs(step) // np.gcd.reduce(step) * np.sign(step)
    repeats, wanted = step != 0, 2.0 * radius + 2.0
    k = max(1, int(wanted / _nearest_image(step, 1)) - 1)
    while _nearest_image(step, k) < wanted:
        k += 1
    size = np.where(repeats, np.abs(step) * k, 2 * int(np.ceil(radius + np.abs(offset).max())) + 3)
    check_box(size[::-1])
    middle = 0.5 * (size - 1) + offset
    wall = RoundWall(middle + _images(np.where(repeats, size, 0)), radius, tuple(step.astype(np.float64)))
    shape = tuple(size[::-1].tolist())
    flags = flags_where(wall.gaps(voxel_centres(shape)) < -ROUNDING).reshape(shape)
    return Voxels(flags, spacing_m, periodic=tuple(repeats.tolist()), wall_shape=wall)


def annulus(inner=10.6, outer=25.2, centre_offset=(0.137, -0.211), spacing_m=1.0) -> Voxels:
    """The plane annulus between circles of radius ``inner`` and ``outer``, walls labelled ``inner`` and ``outer``.
    Their common centre is that of the middle voxel, shifted by ``centre_offset`` (x, y): circular Couette flow. Walls
    that turn about it want it as ``walls.centre_m``; without, they turn about the middle of the box."""
    check_positive(inner=inner, outer=outer, spacing_m=spacing_m)
    if inner >= outer:
        raise GeometryError(f"inner = {inner} and outer = {outer}; inner must be smaller")
    offset = vector("centre_offset", centre_offset, 2)
    half = int(np.ceil(outer + np.abs(offset).max())) + 1
    shape, centre = (1, 2 * half + 1, 2 * half + 1), half + np.append(offset, 0.0)
    inside, outside = (RoundWall(centre, radius, (0.0, 0.0, 1.0)) for radius in (inner, outer))
    points = voxel_centres(shape)
    flags = np.where(inside.gaps(points) <= ROUNDING, wall_flag(0), FLUID)
    flags = np.where(outside.gaps(points) >= -ROUNDING, wall_flag(1), flags).astype(FLAG_DTYPE).reshape(shape)
    walls = FirstWall((inside, outside))
    return Voxels(flags, spacing_m, periodic=(False, False, True), walls=("inner", "outer"), wall_shape=walls)


def obstacle_channel(cells_per_diameter=20, dimension=2, spacing_m=None) -> Voxels:
    """Schaefer and Turek's channel with a cylinder along z, labelled ``cylinder``; openings ``inlet`` and ``outlet``.

    In metres: diameter 0.1; plane: length 2.2, height 0.41, axis at (0.2, 0.2); dimension 3 (case 3D-1Z): length 2.5,
    section 0.41 x 0.41, axis at (0.5, 0.2). The walls lie at y = 0 and y = 0.41 (z alike in three dimensions), the
    inlet at x = 0. The lower wall is exactly half-way between the first fluid row and the solid row below it; the upper
    one lies between 0 and 1 voxel above the last fluid row, half-way only if 0.41 m is a whole number of voxels: use
    cut distances. ``spacing_m``, if given, overrides ``cells_per_diameter`` and must divide the diameter.
    Source: Schaefer, Turek, Benchmark computations of laminar flow around a cylinder (1996).
    """
    if spacing_m is not None:
        check_positive(spacing_m=spacing_m)
        cells = CYLINDER_DIAMETER_M / spacing_m
        if abs(cells - round(cells)) > ROUNDING * cells:
            raise GeometryError(
                f"spacing_m = {spacing_m:g} does not divide the cylinder's diameter of {CYLINDER_DIAMETER_M} m; give"
                f" {CYLINDER_DIAMETER_M / max(1, round(cells)):.12g}"
            )
        cells_per_diameter = round(cells)
    check_positive(cells_per_diameter=cells_per_diameter)
    check_dimension(dimension)
    if cells_per_diameter < 1:
        raise GeometryError(f"cells_per_diameter is {cells_per_diameter}; give one or more")
    spacing_m = CYLINDER_DIAMETER_M / int(cells_per_diameter)
    high = CHANNEL_HEIGHT_M / spacing_m + 0.5
    n_rows = int(np.ceil(high - ROUNDING)) - 1
    n_columns = round(CHANNEL_LENGTH_M[dimension] / spacing_m)
    check_box((n_rows if dimension == 3 else 1, n_rows, n_columns))
    flags = np.full((n_rows if dimension == 3 else 1, n_rows, n_columns), FLUID, dtype=FLAG_DTYPE)
    flags = np.pad(flags, ((dimension == 3,) * 2, (1, 1), (0, 0)), constant_values=SOLID)
    axis = np.array([CYLINDER_X_M[dimension] / spacing_m - 0.5, CYLINDER_Y_M / spacing_m + 0.5, 0.0])
    cylinder = RoundWall(axis, 0.5 * int(cells_per_diameter), (0.0, 0.0, 1.0))
    section = cylinder.gaps(voxel_centres((1, *flags.shape[1:]))).reshape(flags.shape[1:]) <= ROUNDING
    flags[(flags == FLUID) & section] = wall_flag(0)
    walls = FirstWall((cylinder, *(plane_pair(i, 0.5, high) for i in range(1, dimension))))
    origin_m = (0.5 * spacing_m, -0.5 * spacing_m, -0.5 * spacing_m if dimension == 3 else 0.0)
    voxels = Voxels(flags, spacing_m, origin_m, (False, False, dimension == 2), (), ("cylinder",), walls)
    middle = 0.5 * (high + 0.5)
    return carve(voxels, end_openings(voxels, 0, np.array([0.0, middle, middle if dimension == 3 else 0.0])))


def tunnel(size=64, spacing_m=1.0) -> Voxels:
    """An empty plane channel of ``size`` x ``size`` voxels, inlet at low x, outlet at high x, half-way walls."""
    return _plane_channel(np.ones((_checked_size(size),) * 2, dtype=bool), spacing_m)


def circle(size=64, spacing_m=1.0) -> Voxels:
    """The :func:`tunnel` with a solid disc of diameter size / 5 in its middle, labelled ``disc``."""
    size = _checked_size(size)
    disc = RoundWall(np.array([0.5 * (size - 1), 0.5 * (size + 1), 0.0]), 0.5 * size / CIRCLE_BLOCKAGE, (0.0, 0.0, 1.0))
    gaps = disc.gaps(voxel_centres((1, size, size)) + np.array([0.0, 1.0, 0.0]))
    return _plane_channel((gaps > ROUNDING).reshape(size, size), spacing_m, "disc", disc)


def random_porous(size=64, porosity=0.7, seed=0, spacing_m=1.0) -> Voxels:
    """A plane channel of ``size`` x ``size`` voxels, periodic along x, each solid with probability 1 - porosity. The
    random voxels are labelled ``grains``; the walls below and above are unlabelled. The voxel faces are the walls."""
    check_porosity(porosity)
    fluid = random_numbers(seed).random((_checked_size(size),) * 2) < porosity
    flags = np.pad(flags_where(fluid, wall_flag(0)), ((1, 1), (0, 0)), constant_values=SOLID)[np.newaxis]
    check_positive(spacing_m=spacing_m)
    return Voxels(flags, spacing_m, periodic=(True, False, True), walls=("grains",))


def _checked_size(size) -> int:
    check_counts(size=size)
    check_box((1, size, size))
    return int(size)


def _check_fraction(solid_fraction: float, most: float) -> None:
    if solid_fraction > most * (1.0 + PACKING_SLACK):
        raise GeometryError(f"solid_fraction is {solid_fraction}; the bodies overlap above {most:.6f}")


def _around_bodies(wall: RoundWall, shape, spacing_m: float, label: str) -> Voxels:
    """A periodic box of fluid around labelled bodies with round walls."""
    check_box(shape)
    flags = flags_where(wall.gaps(voxel_centres(shape)) > ROUNDING, wall_flag(0)).reshape(shape)
    return Voxels(flags, spacing_m, periodic=(True, True, True), walls=(label,), wall_shape=wall)


def _plane_channel(fluid: np.ndarray, spacing_m: float, label: str = "", body: RoundWall | None = None) -> Voxels:
    """A plane channel along x with open ends; where ``fluid`` (ny, nx) is false there is the labelled body."""
    check_positive(spacing_m=spacing_m)
    flags = np.pad(flags_where(fluid, wall_flag(0)), ((1, 1), (0, 0)), constant_values=SOLID)[np.newaxis]
    planes = plane_pair(1, 0.5, len(fluid) + 0.5)
    shape, walls = (planes, ()) if body is None else (FirstWall((planes, body)), (label,))
    voxels = Voxels(flags, spacing_m, periodic=(False, False, True), walls=walls, wall_shape=shape)
    return with_ends(voxels, "x", "open")


def _images(size: np.ndarray) -> np.ndarray:
    """(m, 3) shifts by up to two boxes along each axis; no shift where ``size`` is 0."""
    return np.unique(np.array(list(product(range(-2, 3), repeat=3))) * size, axis=0)


def _nearest_image(step: np.ndarray, k: int) -> float:
    """Distance of a line along ``step`` from its nearest periodic image, in a box of |step| * k voxels."""
    shifts = _images(np.abs(step) * k).astype(np.float64)
    along = np.outer(shifts @ step, step) / (step @ step)
    distance = np.linalg.norm(shifts - along, axis=1)
    return float(distance[distance > ROUNDING].min(initial=np.inf))
