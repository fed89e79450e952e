"""Spheres listed in a text file."""

import inspect
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from muphy_lb.geometry.axes import periodic_axes
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.stored import BYTES_OF_TEXT, file_size, read_bytes
from muphy_lb.geometry.implicit import FirstWall, RoundWall
from muphy_lb.geometry.limits import BYTES_PER_NODE, ask_for, ask_for_voxels, shown
from muphy_lb.geometry.options import LARGEST, check_flag, check_positive, vector
from muphy_lb.geometry.quantities import metres_per_unit
from muphy_lb.geometry.shapes.packings import BAND, sphere_levels
from muphy_lb.geometry.shapes.shape_parts import flags_where
from muphy_lb.geometry.voxels import Voxels

MAX_COVER, MOST_DRAWN = 100, 10**9
"""Largest number of spheres of a list that a voxel lies in or near to, on average, where that is much work."""
N_COLUMNS = (3, 4)
MAX_VOXELS = 2**33
"""Largest box accepted [voxels]; a larger one indicates a wrong length unit."""
WHOLE = 1e-3
"""Share of a voxel by which the edge of a periodic box may miss a whole number of them."""


@dataclass(frozen=True)
class SphereList:
    """Solid spheres listed in a text file, in a box of fluid.

    Lines of the file: ``x y z r`` or ``x y z``, in front of them any number of headings, which are lines of other
    words; empty lines and comments after ``#`` are ignored, and commas are spaces. All lengths except the spacing are
    in ``unit``.

    Attributes:
        path: the file.
        spacing_m: voxel edge [m].
        unit: length unit of the file: m, cm, mm, um.
        radius: radius of all spheres; required if the file has none.
        low: lowest corner (x, y, z) of the box; by default that of the bounding box of the centres.
        high: highest corner, likewise.
        numbered: whether the first column numbers the spheres, as in Finney's packing (``n x y z``).
        periodic: axes along which the arrangement repeats with the box, such as ``"xy"``: spheres that reach over a
            face come in on the other side, and the box is periodic. It is then given by ``low`` and ``high``.

    Raises:
        GeometryError: the file cannot be read; no radius; a box that is empty, holds no fluid, or is periodic and no
            whole number of voxels long.
    """

    path: object
    spacing_m: float
    unit: str | float = "m"
    radius: float | None = None
    low: tuple[float, float, float] | None = None
    high: tuple[float, float, float] | None = None
    numbered: bool | None = None
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
            f"{path} is no list of spheres; each line must hold the three or four numbers x y z or x y z r"
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
        raise GeometryError(f"cannot read {path}: it is no text in UTF-8") from error
    lines = [line.partition("#")[0].replace(",", " ").split() for line in text.splitlines()]
    lines = [words for words in lines if words]
    first = next((k for k, words in enumerate(lines) if len(words) in N_COLUMNS and all(map(_is_number, words))), None)
    if first is None:
        raise GeometryError(f"{path} is no list of spheres; no line holds three or four numbers x y z or x y z r")
    try:
        return np.array([[float(word) for word in words] for words in lines[first:]])
    except ValueError as error:
        raise GeometryError(
            f"{path} is no list of spheres: {shown(str(error))}; its lines must be x y z or x y z r"
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
    walls = [RoundWall(centres[size == one], radii[size == one], periods=_plain(periods)) for one in np.unique(size)]
    return FirstWall(tuple(walls))


def _plain(periods: np.ndarray) -> tuple[float, float, float]:
    x, y, z = periods.astype(float).tolist()
    return x, y, z
