"""Spheres and porous noise with a porosity that is exact to one voxel, and spheres listed in a text file. Lengths
without a unit suffix are in voxels. Voxels are ranked by a level, such as the distance from the nearest sphere; the
highest ones become fluid, as many as the porosity requires."""

import inspect
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from muphy_lb.base.kept.functions import njit
from muphy_lb.base.narrow import triple
from muphy_lb.geometry.axes import periodic_axes
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.stored import BYTES_OF_TEXT, file_size, read_bytes
from muphy_lb.geometry.implicit import FirstWall, RoundWall
from muphy_lb.geometry.limits import BYTES_PER_NODE, ask_for, ask_for_voxels, shown
from muphy_lb.geometry.options import LARGEST, check_counts, check_flag, check_positive, vector
from muphy_lb.geometry.quantities import metres_per_unit
from muphy_lb.geometry.shapes.shape_parts import box_counts, check_box, check_porosity, flags_where, random_numbers
from muphy_lb.geometry.voxels import Voxels

#: Lower limit of :func:`random_spheres`: towards random close packing (0.36) the relaxation converges ever slower.
LOWEST_POROSITY = 0.38
OVERLAP = 1e-3  # largest overlap of two spheres of a random packing, as a fraction of their diameter
SKIN = 0.3  # cut-off of the pair list beyond contact, as a fraction of a diameter, so that a list serves many sweeps

MAX_SWEEPS = 20000
#: Of :func:`random_spheres`.
MOST_SPHERES = 2 * 10**4
BAND = 2.0  # distance from a sphere up to which levels are computed


def random_spheres(size=64, radius=8.0, porosity=0.45, seed=0, spacing_m=1.0) -> Voxels:
    """A periodic cube of equal solid spheres at random positions that touch but do not overlap.

    The number of spheres follows from radius and porosity, rounded; the radius is then adjusted (also in the wall
    shape) so that the porosity of the voxels is exact to one voxel. The spheres start at random positions and repel
    each other until no two overlap by more than 0.1 % of their diameter.

    Args:
        size: voxels along each edge.
        radius: nominal radius.
        porosity: 0.38 to 1; below 0.39 the relaxation fails for some seeds.
        seed: seed of the random initial positions.
        spacing_m: voxel edge [m].

    Raises GeometryError: a value out of range; a sphere wider than half the cube; overlaps that cannot be removed.
    """
    check_counts(size=size)
    check_positive(radius=radius, spacing_m=spacing_m)
    check_porosity(porosity)
    if porosity < LOWEST_POROSITY:
        raise GeometryError(
            f"porosity is {porosity}; random spheres that do not overlap have a porosity of {LOWEST_POROSITY} or more:"
            " use sphere_pack, whose spheres overlap"
        )
    check_box((size,) * 3)
    size = int(size)
    n_spheres = round((1.0 - porosity) * size**3 / (4.0 / 3.0 * np.pi * radius**3))
    if n_spheres == 0 or 4.0 * radius > size:
        raise GeometryError(f"radius = {radius} in a cube of {size} voxels; take a radius of at most {size / 4:g}")
    if n_spheres > MOST_SPHERES:
        raise GeometryError(
            f"radius = {radius} in a cube of {size} voxels makes {n_spheres:.3g} spheres, of which all pairs are looked"
            f" at; at most {MOST_SPHERES} are taken: use larger ones, or sphere_pack"
        )
    radius = size * np.cbrt(3.0 * (1.0 - porosity) / (4.0 * np.pi * n_spheres))
    centres = random_numbers(seed).random((n_spheres, 3)) * size
    overlap = _remove_overlaps(centres, float(size), 2.0 * radius)
    if overlap > OVERLAP:
        raise GeometryError(
            f"{n_spheres} spheres of radius {radius:.4g} do not fit at porosity {porosity}: two still overlap by"
            f" {overlap:.1%} of their diameter; take a higher porosity, a larger size or another seed"
        )
    return _around_spheres(centres - 0.5, float(radius), size, porosity, spacing_m)


def blurred_noise(shape_zyx=(64, 64, 64), grain=4.0, porosity=0.4, seed=0, spacing_m=1.0) -> Voxels:
    """A periodic random medium: white noise, blurred by a Gaussian, with a threshold set by the porosity.

    Args:
        shape_zyx: voxel counts nz, ny, nx.
        grain: standard deviation of the blur; pores and grains are about 4 times as wide.
        porosity: 0 to 1. Below about 0.15 the pores hardly percolate.
        seed: seed of the noise.
        spacing_m: voxel edge [m].
    """
    shape = box_counts(shape_zyx)
    check_positive(grain=grain, spacing_m=spacing_m)
    check_porosity(porosity)
    spectrum = np.fft.rfftn(random_numbers(seed).standard_normal(shape))
    wave_numbers = (*(np.fft.fftfreq(n) for n in shape[:2]), np.fft.rfftfreq(shape[2]))
    for axis, k in enumerate(wave_numbers):
        blur = np.exp(-2.0 * (np.pi * grain * k) ** 2)
        spectrum *= blur.reshape([-1 if a == axis else 1 for a in range(3)])
    fluid = highest(np.fft.irfftn(spectrum, shape, axes=(0, 1, 2)), porosity)[0]
    return Voxels(flags_where(fluid), spacing_m, periodic=(True, True, True))


def highest(levels: np.ndarray, share: float) -> tuple[np.ndarray, float]:
    """(mask of the highest levels, the fraction ``share`` of all, rounded; a level that separates them from the
    rest)."""
    n_low = levels.size - round(share * levels.size)
    if n_low == 0:
        return np.ones(levels.shape, dtype=bool), -np.inf
    order = np.argpartition(levels, n_low - 1, axis=None)
    chosen = np.zeros(levels.size, dtype=bool)
    chosen[order[n_low:]] = True
    below = levels.flat[order[n_low - 1]]
    above = levels.flat[order[n_low:]].min(initial=np.inf)
    return chosen.reshape(levels.shape), float(0.5 * (below + above))


def sphere_levels(centres: np.ndarray, radii: np.ndarray, shape, periodic: tuple[bool, bool, bool]) -> np.ndarray:
    """(nz, ny, nx) distance of each voxel centre from the nearest sphere, negative inside.

    Args:
        centres: (k, 3) in voxel coordinates x, y, z.
        radii: (k,).
        shape: (nz, ny, nx).
        periodic: whether the box repeats along x, y, z.

    Distances above 2 voxels are truncated to 2.
    """
    levels = np.full(shape, BAND)
    _stamp(levels, np.ascontiguousarray(centres), np.ascontiguousarray(radii), BAND, periodic)
    return levels


def _around_spheres(centres: np.ndarray, radius: float, size: int, porosity: float, spacing_m: float) -> Voxels:
    """A periodic cube around equal spheres whose radius is adjusted so that the porosity is exact to one voxel."""
    levels = sphere_levels(centres, np.full(len(centres), radius), (size,) * 3, periodic=(True,) * 3)
    fluid, level = highest(levels, porosity)
    wall = RoundWall(centres, radius + level, periods=(float(size),) * 3)
    return Voxels(flags_where(fluid), spacing_m, periodic=(True, True, True), wall_shape=wall)


def _remove_overlaps(centres: np.ndarray, size: float, diameter: float) -> float:
    """Push spheres apart, in place, until none overlap; returns the largest remaining overlap, in diameters. The pair
    list is rebuilt when a sphere may have approached another one beyond the cut-off."""
    overlap, sweeps = np.inf, 0
    while overlap > OVERLAP and sweeps < MAX_SWEEPS:
        pairs = _near_pairs(centres, size, (1.0 + SKIN) * diameter)
        taken, overlap = _push_apart(centres, pairs, size, diameter, MAX_SWEEPS - sweeps)
        sweeps += taken
    return overlap


@njit(cache=True)
def _near_pairs(centres, size, cutoff):
    """(m, 2) pairs of spheres whose centres are less than ``cutoff`` apart in a periodic cube."""
    pairs = [(0, 0) for _ in range(0)]
    for a in range(len(centres)):
        for b in range(a + 1, len(centres)):
            if _gap_squared(centres[a], centres[b], size) < cutoff * cutoff:
                pairs.append((a, b))
    found = np.empty((len(pairs), 2), dtype=np.int64)
    for k in range(len(pairs)):
        found[k, 0], found[k, 1] = pairs[k]
    return found


@njit(cache=True)
def _gap_squared(a, b, size):
    gap = 0.0
    for i in range(3):
        step = a[i] - b[i]
        gap += (step - size * np.rint(step / size)) ** 2
    return gap


@njit(cache=True)
def _push_apart(centres, pairs, size, diameter, max_sweeps):
    """Sweep over the pairs until none overlap or a sphere has moved half the SKIN; (sweeps, largest overlap)."""
    start, target = centres.copy(), diameter * (1.0 + 0.5 * OVERLAP)
    sweeps, overlap, moved = 0, np.inf, 0.0
    while sweeps < max_sweeps and overlap > OVERLAP and moved < 0.5 * SKIN * diameter:
        nearest, sweeps = diameter, sweeps + 1
        for k in range(len(pairs)):
            a, b = pairs[k]
            distance = np.sqrt(_gap_squared(centres[a], centres[b], size))
            nearest = min(nearest, distance)
            if 0.0 < distance < target:
                _separate(centres, a, b, size, target / distance - 1.0)
        overlap = 1.0 - nearest / diameter
        moved = np.sqrt(np.max(np.sum((centres - start) ** 2, axis=1)))
    return sweeps, overlap


@njit(cache=True)
def _separate(centres, a, b, size, share):
    """Move two spheres away from each other, each by half of ``share`` times their distance."""
    for i in range(3):
        step = centres[a, i] - centres[b, i]
        step = 0.5 * share * (step - size * np.rint(step / size))
        centres[a, i] += step
        centres[b, i] -= step


@njit(cache=True)
def _stamp(levels, centres, radii, band, periodic):
    """Lower the levels around each sphere to the distance from its surface."""
    nz, ny, nx = levels.shape
    for k in range(len(centres)):
        x, y, z = centres[k]
        first, last = _reached(z, radii[k] + band, nz, periodic[2])
        for j in range(first, last):
            _stamp_layer(levels[j % nz], x, y, radii[k], (z - j) ** 2, band, periodic)


@njit(cache=True)
def _stamp_layer(layer, x, y, radius, across, band, periodic):
    """:func:`_stamp` in one layer, at the distance ``sqrt(across)`` from the centre."""
    ny = len(layer)
    first, last = _reached(y, radius + band, ny, periodic[1])
    for j in range(first, last):
        _stamp_row(layer[j % ny], x, radius, across + (y - j) ** 2, band, periodic)


@njit(cache=True)
def _stamp_row(row, x, radius, across, band, periodic):
    """:func:`_stamp_layer` in one row."""
    nx = len(row)
    first, last = _reached(x, radius + band, nx, periodic[0])
    for i in range(first, last):
        row[i % nx] = min(row[i % nx], np.sqrt(across + (x - i) ** 2) - radius)


@njit(cache=True)
def _reached(centre, reach, n, periodic):
    """The first voxel of a row of n within reach of a centre, and the first beyond; those of a box that ends are cut
    off."""
    low, high = np.ceil(centre - reach), np.floor(centre + reach) + 1.0
    if not periodic:
        low, high = min(max(low, 0.0), float(n)), min(max(high, 0.0), float(n))
    return np.int64(low), np.int64(high)


#: Largest number of spheres of a list that a voxel lies in or near to, on average, where that is much work.
MAX_COVER, MOST_DRAWN = 100, 10**9
N_COLUMNS = (3, 4)
MAX_VOXELS = 2**33  # largest box accepted [voxels]; a larger one indicates a wrong length unit
WHOLE = 1e-3  # share of a voxel by which the edge of a periodic box may miss a whole number of them


@dataclass(frozen=True)
class SphereList:
    """Solid spheres listed in a text file, in a box of fluid.

    Lines of the file: ``x y z r`` or ``x y z``, in front of them any number of headings, which are lines of other
    words; empty lines and comments after ``#`` are ignored, and commas are spaces. All lengths except the spacing are
    in ``unit``.

    Raises GeometryError: the file cannot be read; no radius; a box that is empty, holds no fluid, or is periodic and no
    whole number of voxels long.
    """

    path: object  #: the file
    spacing_m: float  #: voxel edge [m]
    unit: str | float = "m"  #: length unit of the file: m, cm, mm, um
    radius: float | None = None  #: radius of all spheres; required if the file has none
    #: lowest corner (x, y, z) of the box; by default that of the bounding box of the centres
    low: tuple[float, float, float] | None = None
    high: tuple[float, float, float] | None = None  #: highest corner, likewise
    numbered: bool | None = None  #: whether the first column numbers the spheres, as in Finney's packing (``n x y z``)
    #: axes along which the arrangement repeats with the box, such as ``"xy"``: spheres that reach over a face come in
    #: on the other side, and the box is periodic. It is then given by ``low`` and ``high``.
    periodic: str | tuple[bool, bool, bool] = (False, False, False)

    def voxels(self) -> Voxels:
        """The box."""
        low, size, per_unit = self._box
        centres, radii = self._spheres
        repeats = np.array(periodic_axes(self.periodic))
        ask_for_voxels(size[::-1], BYTES_PER_NODE, f"the box of {self.path}")
        centres, radii = (centres - low) * per_unit - 0.5, radii * per_unit
        centres = np.where(repeats, (centres + 0.5) % size - 0.5, centres)
        self._check_cover(centres, radii + BAND, size, repeats)
        levels = sphere_levels(centres, radii, tuple(size[::-1].tolist()), tuple(repeats.tolist()))
        if not np.any(levels > 0.0):
            raise GeometryError(f"{self.path}: spheres fill the box {self._corners}; check the radius")
        origin_m = low * metres_per_unit(self.unit) + 0.5 * self.spacing_m
        return Voxels(
            flags_where(levels > 0.0),
            self.spacing_m,
            tuple(origin_m.tolist()),
            periodic=tuple(repeats.tolist()),
            wall_shape=_sphere_walls(centres, radii, np.where(repeats, size, 0)),
        )

    @cached_property
    def _spheres(self) -> tuple[np.ndarray, np.ndarray]:
        return read_spheres(self.path, self.radius, self.numbered)

    @cached_property
    def _box(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Lowest corner in the unit of the file, (3,) size [voxels], and voxels per unit."""
        check_positive(spacing_m=self.spacing_m)
        per_unit = metres_per_unit(self.unit) / self.spacing_m
        repeats = np.array(periodic_axes(self.periodic))
        if repeats.any() and (self.low is None or self.high is None):
            raise GeometryError(
                f"{self.path}: periodic spheres need the box that repeats; give its corners low and high"
            )
        low, high = self._extent
        exact = (high - low) * per_unit
        size = np.round(exact)
        if not np.all(np.isfinite(size)) or size.max() > MAX_VOXELS or size.prod() > MAX_VOXELS:
            raise GeometryError(
                f"{self.path}: the box {self._corners} has more than {MAX_VOXELS:.1e} voxels of {self.spacing_m:g} m;"
                " check the unit, coarsen, or give the corners low and high"
            )
        if size.min() < 1:
            raise GeometryError(f"{self.path}: the box {self._corners} is less than a voxel wide")
        if np.any(repeats & (np.abs(exact - size) > WHOLE)):
            edges = ", ".join(f"{edge:.6g}" for edge in exact)
            raise GeometryError(
                f"{self.path}: the box {self._corners} repeats and is {edges} voxels long; take a spacing_m that"
                " divides it into whole voxels"
            )
        return low, size.astype(np.int64), per_unit

    @cached_property
    def _extent(self) -> tuple[np.ndarray, np.ndarray]:
        centres = self._spheres[0]
        low = centres.min(axis=0) if self.low is None else vector("low", self.low, 3)
        high = centres.max(axis=0) if self.high is None else vector("high", self.high, 3)
        return low, high

    @property
    def _corners(self) -> str:
        low, high = self._extent
        return f"from {low.tolist()} to {high.tolist()} {self.unit}"

    def _check_cover(self, centres: np.ndarray, reach: np.ndarray, size: np.ndarray, repeats: np.ndarray) -> None:
        """Raise GeometryError where spheres that reach so far lie over each other so often that drawing them has no
        end."""
        ends = (centres + sign * reach[:, np.newaxis] for sign in (-1.0, 1.0))
        low, high = (np.where(repeats, end, np.clip(end, 0, size)) for end in ends)
        n_drawn = float(np.prod(high - low, axis=1).sum())
        cover = n_drawn / float(np.prod(size, dtype=float))
        if n_drawn > MOST_DRAWN and cover > MAX_COVER:
            raise GeometryError(
                f"{self.path}: each voxel lies in or near to {cover:.3g} of the {len(centres)} spheres on average, at"
                f" most {MAX_COVER} are taken; check the unit and the radii"
            )


def sphere_list(path, **options) -> Voxels:
    """The voxels of a :class:`SphereList` with these options."""
    return SphereList(path, **options).voxels()


sphere_list.__signature__ = inspect.signature(SphereList)  # type: ignore[attr-defined]  # the options of the reader


def read_spheres(path, radius: float | None = None, numbered: bool | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Centres (k, 3) and radii (k,) of the spheres of a text file; see :class:`SphereList`."""
    ask_for(BYTES_OF_TEXT * file_size(path), f"the text of {path}")
    if numbered is not None:
        check_flag(numbered=numbered)
    numbers = _numbers(path)
    if numbers.ndim != 2 or numbers.shape[1] not in N_COLUMNS or not np.all(np.abs(numbers) <= LARGEST):
        raise GeometryError(
            f"{path} is not a list of spheres; each line must hold the three or four numbers x y z or x y z r"
        )
    if numbered and numbers.shape[1] == 3:
        raise GeometryError(f"{path} has three columns, which are x y z; numbered = true is for lines n x y z")
    _refuse_doubt(path, numbers, radius, numbered)
    centres = numbers[:, 1:] if numbered else numbers[:, :3]
    if radius is None and (numbered or numbers.shape[1] == 3):
        raise GeometryError(f"{path} holds {len(numbers)} centres and no radii; give radius, that of all spheres")
    if radius is not None:
        check_positive(radius=radius)
    radii = numbers[:, 3] if radius is None else np.full(len(centres), float(radius))
    if not radii.min() > 0.0:
        raise GeometryError(f"{path}: a radius is {radii.min():g}; it must be above zero")
    return centres, radii


def _refuse_doubt(path, numbers: np.ndarray, radius: float | None, numbered: bool | None) -> None:
    """A first column 1, 2, 3, ... before three more and a radius for all: places or numbers?"""
    counts = numbers.shape[1] == 4 and np.array_equal(numbers[:, 0], np.arange(1, len(numbers) + 1))
    if counts and radius is not None and numbered is None:
        raise GeometryError(
            f"{path}: the first of four columns counts 1, 2, ..., and radius is given; give numbered = true if it"
            " numbers the spheres, numbered = false if it is x"
        )


def _numbers(path) -> np.ndarray:
    """The numbers of a text file, line by line, behind its headings."""
    try:
        text = read_bytes(path).decode()
    except UnicodeDecodeError as error:
        raise GeometryError(f"cannot read {path}: it is not text in UTF-8") from error
    lines = [line.partition("#")[0].replace(",", " ").split() for line in text.splitlines()]
    lines = [words for words in lines if words]
    first = next((k for k, words in enumerate(lines) if len(words) in N_COLUMNS and all(map(_is_number, words))), None)
    if first is None:
        raise GeometryError(f"{path} is not a list of spheres; no line holds three or four numbers x y z or x y z r")
    try:
        return np.array([[float(word) for word in words] for words in lines[first:]])
    except ValueError as error:
        raise GeometryError(
            f"{path} is not a list of spheres: {shown(str(error))}; its lines must be x y z or x y z r"
        ) from error


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _sphere_walls(centres: np.ndarray, radii: np.ndarray, periods: np.ndarray) -> FirstWall:
    """The surfaces of spheres, those of like size together: the search for a link's end looks as far as the largest."""
    size = np.floor(np.log2(radii))
    repeats = triple(periods.astype(float).tolist())
    return FirstWall(tuple(RoundWall(centres[size == n], radii[size == n], periods=repeats) for n in np.unique(size)))
