"""Drawing of pictures: a cut as an image of numbers, the body of the fluid from outside, and their colours."""

import time
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_hex
from skimage.measure import find_contours

from muphy_lb.base.narrow import pair
from muphy_lb.output.drawing import shown_unit
from muphy_lb.output.pictures.projection import (
    AT_SURFACE,
    UPRIGHT,
    Window,
    above,
    best_camera,
    fill_volume,
    oblique_camera,
    render,
    volume_on,
)
from muphy_lb.output.pictures.projection import MARGIN as GRID_MARGIN
from muphy_lb.view.messages import CutFrame, Demand, Description, Picture
from muphy_lb.view.style import FRAME

SPEED_COLOURS, OTHER_COLOURS, N_COLOURS = ("plasma", 0.12, 0.96), ("viridis", 0.0, 1.0), 256
PERCENTILES = (0.3, 99.7)
FROM_ZERO = 0.25  # A scale begins at 0 if its low end is below this share of the high one
SHRINKS = 0.6  # A scale is kept until values fill less than this share of it
LEAST_RANGE = 1e-30
GREY = (0.35, 0.38, 0.44, 1.0)  # where a field on walls is not known: at openings
HALF_FULL = 0.5
MOST_ELEVATION_DEG = 89.0
ZOOM = (0.5, 12.0)


@dataclass(frozen=True)
class Angle:
    """From where the body is seen: direction of the viewer, magnification, and shift of the centre in parts of the
    image's width."""

    azimuth_deg: float
    elevation_deg: float
    zoom: float = 1.0
    shift: tuple[float, float] = (0.0, 0.0)

    def turned(self, right_deg: float, up_deg: float) -> "Angle":
        """The body follows the mouse."""
        elevation = np.clip(self.elevation_deg - up_deg, -MOST_ELEVATION_DEG, MOST_ELEVATION_DEG)
        return replace(self, azimuth_deg=(self.azimuth_deg - right_deg) % 360.0, elevation_deg=float(elevation))

    def magnified(self, factor: float) -> "Angle":
        """Nearer, or farther away."""
        return replace(self, zoom=float(np.clip(self.zoom * factor, *ZOOM)))

    def moved(self, right: float, up: float) -> "Angle":
        """Shifted by parts of the image's width."""
        shift = (self.shift[0] - right / self.zoom, self.shift[1] - up / self.zoom)
        return replace(self, shift=pair(float(np.clip(s, -1.0, 1.0)) for s in shift))


@dataclass(frozen=True)
class Scale:
    """Colours of values: low and high end [SI], name of the displayed unit and its size."""

    low: float
    high: float
    unit: str
    size: float

    @classmethod
    def of(cls, values: np.ndarray, unit: str, before: "Scale | None" = None) -> "Scale":
        """A scale for values; the one before, if it still suits them."""
        finite = values[np.isfinite(values)]
        low, high = np.percentile(finite, PERCENTILES) if finite.size else (0.0, 1.0)
        if finite.size and finite.min() >= 0.0 and low < FROM_ZERO * high:
            low = 0.0
        if before and before.low <= low and high <= before.high and high - low >= SHRINKS * (before.high - before.low):
            return before
        least = max(LEAST_RANGE, 1e-6 * max(abs(low), abs(high)))
        low, high = float(low), float(max(high, low + least))
        top = max(abs(low), abs(high))
        name, size = shown_unit(unit, top)
        return cls(low, high, name, size)

    def fractions(self, values: np.ndarray) -> np.ndarray:
        """Positions of values between the low end, 0, and the high one, 1, of a scale."""
        return np.clip((values - self.low) / (self.high - self.low), 0.0, 1.0)


def palette(field: str) -> list[str]:
    """Colours for the values of a field, as hexadecimal text."""
    return [to_hex(colour) for colour in _table(field)]


def _table(field: str) -> np.ndarray:
    """(N_COLOURS, 4) RGBA for the values of a field."""
    name, low, high = SPEED_COLOURS if field == "speed" else OTHER_COLOURS
    return colormaps[name](np.linspace(low, high, N_COLOURS))


@dataclass(frozen=True)
class Drawn:
    """The drawing of a picture that a page shows."""

    demand: Demand  #: of the picture
    image: np.ndarray  #: (rows, columns) values of a cut [SI], nan where there is no fluid; or RGBA of the body, uint32
    points: np.ndarray  #: (2, m) particles: from the first voxel of a cut [voxels], or in parts of the body's image
    #: (2, k) points of each line of the surface in a cut, from its first voxel [voxels]
    lines: tuple[np.ndarray, ...] = ()
    has_values: bool = True  #: whether there is a value anywhere


def drawn_cut(picture: Picture, frame: CutFrame) -> Drawn:
    """A cut as it is drawn."""
    in_plane = [axis for axis in range(3) if axis != picture.demand.axis]
    points = np.empty((2, 0)) if picture.points is None else picture.points[in_plane] - np.array(frame.low)[:, None]
    lines = surface_lines(picture, frame.stride)
    return Drawn(picture.demand, cut_image(picture), points, lines, picture.values.size > 0)


def cut_image(picture: Picture) -> np.ndarray:
    """(rows, columns) float32 values [SI] of a cut; nan where there is no fluid."""
    image = np.full(picture.shape, np.nan, dtype=np.float32)
    image.flat[picture.where] = picture.values
    return image


def surface_lines(picture: Picture, stride: int = 1) -> tuple[np.ndarray, ...]:
    """(2, k) points, from the first voxel of a cut, of the lines where half of a voxel is filled; they end at walls."""
    if picture.fraction is None:
        return ()
    share = np.full(picture.shape, np.nan)
    share.flat[picture.where] = np.nan_to_num(picture.fraction)
    pixel_centre = 0.5 * (stride - 1)
    return tuple(stride * line[:, ::-1].T + pixel_centre for line in find_contours(share, HALF_FULL))


class BodyScene:
    """The body of the fluid in three dimensions, coloured by values.

    Attributes:
        start: from where it is seen at first.
        seconds: how long an image of the largest size with one ray a pixel takes, once the values are there.
        taking_s: how long a picture's values take to be there.
    """

    def __init__(self, description: Description):
        self._description, self.seconds, self.taking_s = description, inf, 0.0
        cells, numbers = description.counts
        count = np.zeros(np.prod(description.grid.shape), dtype=np.int32)
        count[cells] = numbers
        self._full = self._volume(count)
        self._outer = replace(self._full, voxels=_ends(self._full.voxels))
        self._present = self._full
        self._picture: Picture | None = None
        self._turned = UPRIGHT if description.sight is None else description.sight.turned()
        forward = self._turned @ best_camera(self._full.voxels, self._turned)[2]
        azimuth, elevation = np.arctan2(-forward[1], -forward[0]), -np.arcsin(forward[2])
        self.start = Angle(float(np.rad2deg(azimuth)), float(np.rad2deg(elevation)))
        # Compile the ray caster. The window is square: a long body alone would be no pixel high.
        render(self._full, self._window(self.start, (1, 1)), lambda values: np.zeros((*values.shape, 4)), 1)

    def drawn(self, picture: Picture, angle: Angle, scale: Scale, size, rays: int = 1, level=None) -> Drawn:
        """The body as it is drawn; arguments as of :meth:`image`."""
        points = np.empty((2, 0)) if picture.points is None else self.places(picture.points, angle, size)
        image = self.image(picture, angle, scale, size, rays, level)
        return Drawn(picture.demand, image, points, has_values=picture.values.size > 0)

    def image(
        self,
        picture: Picture,
        angle: Angle,
        scale: Scale,
        size: tuple[int, int],
        rays: int = 1,
        level: float | None = None,
    ) -> np.ndarray:
        """(rows, columns) uint32 RGBA of the body with the values of a picture.

        Args:
            picture: of the place ``BODY``.
            angle: from where.
            size: columns and rows.
            rays: along the edge of a pixel.
            level: of the isosurface that is seen instead of the body [SI]; None for none.
        """
        self._take(picture)
        began_s = time.perf_counter()
        colours = self._colours(picture.demand.field, scale)
        deepest = inf if picture.demand.field in self._description.below_wall else AT_SURFACE
        body = self._present if level is None else above(self._present, level)
        deepest = deepest if level is None else AT_SURFACE
        seen = render(body, self._window(angle, size), colours, max(size), rays, deepest)
        packed = _packed(seen.image, size)
        self.seconds = (time.perf_counter() - began_s) / rays**2 * (FRAME[0] / size[0]) ** 2
        return packed

    def camera(self, angle: Angle) -> np.ndarray:
        """(3, 3) right, up, forward of a viewer."""
        return oblique_camera(angle.azimuth_deg, angle.elevation_deg) @ self._turned

    def places(self, points: np.ndarray, angle: Angle, size: tuple[int, int]) -> np.ndarray:
        """(2, m) columns and rows, in parts of an image's width and height, of (3, m) voxel coordinates (x, y, z)."""
        grid, window = self._description.grid, self._window(angle, size)
        cells = (points.T - grid.first - 0.5 * (grid.factor - 1)) / grid.factor + GRID_MARGIN
        return ((cells @ window.camera[:2].T - window.low[:2]) / window.size).T

    def _volume(self, count: np.ndarray, share: np.ndarray | None = None):
        description, shape = self._description, self._description.grid.shape
        is_block = description.is_rock and share is None
        shares = None if share is None else share.reshape(shape)
        return volume_on(description.grid, description.header, count.reshape(shape), is_block, shares)

    def _take(self, picture: Picture) -> None:
        """Set the values; the body is what is filled."""
        if picture is self._picture:
            return
        began_s = time.perf_counter()
        with_fluid = np.isfinite(picture.values)
        where, values, size = picture.where[with_fluid], picture.values[with_fluid], np.prod(picture.shape)
        count = np.bincount(where, minlength=size)
        self._present = self._full
        if picture.fraction is not None and where.size:
            share = np.bincount(where, weights=picture.fraction[with_fluid], minlength=size)
            self._present = self._volume(count, share / np.maximum(count, 1))
        total = np.bincount(where, weights=values, minlength=size)
        fill_volume(self._present, count.reshape(picture.shape), total.reshape(picture.shape))
        self._picture, self.taking_s = picture, time.perf_counter() - began_s

    def _window(self, angle: Angle, size: tuple[int, int]) -> Window:
        """A window of the shape of the image around the whole body, or magnified."""
        camera = self.camera(angle)
        whole = Window.around(self._outer, camera)
        aspect = size[1] / size[0]
        width = max(whole.size[0], whole.size[1] / aspect) / angle.zoom
        window = np.array([width, width * aspect])
        centre = whole.low[:2] + 0.5 * whole.size + whole.size.max() * np.array(angle.shift)
        return Window(camera, np.append(centre - 0.5 * window, whole.low[2]), window)

    def _colours(self, field: str, scale: Scale):
        is_partial, table = field in self._description.on_wall, _table(field)

        def colours(values: np.ndarray) -> np.ndarray:
            found = table[(scale.fractions(values) * (N_COLOURS - 0.5)).astype(np.intp)]
            return np.where((values == 0.0)[..., None], GREY, found) if is_partial else found

        return colours


def _ends(voxels: np.ndarray) -> np.ndarray:
    """The first and the last of the voxels (n, 3) of each line along x: no other is farther out in any direction.
    Voxels of a line follow each other."""
    is_new = np.any(voxels[1:, 1:] != voxels[:-1, 1:], axis=1)
    return voxels[np.append(True, is_new) | np.append(is_new, True)]


def _packed(image: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    whole = np.zeros((size[1], size[0], 4), dtype=np.uint8)
    rows, columns = (min(n, m) for n, m in zip(image.shape[:2], whole.shape[:2], strict=True))
    whole[:rows, :columns] = 255.0 * image[:rows, :columns] + 0.5
    return whole.view(np.uint32)[..., 0]
