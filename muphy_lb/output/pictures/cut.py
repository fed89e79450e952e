"""The flat image that shows most: a plane, or the maximum along an axis; upright, where a flow has a vertical."""

from dataclasses import dataclass, fields, replace

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.narrow import pair
from muphy_lb.geometry.nodes import NodeList

AXES = "xyz"
CENTRE_PREFERENCE = 0.1  # fraction of its score that a plane at the edge loses relative to one in the middle
SLENDER = 0.6  # largest fraction of its frame that a slender geometry fills
REPRESENTATIVE = 0.8  # smallest fraction of a slender geometry, or of the nodes of the fullest plane, in a plane
MAX_PIXELS = 1500  # along an edge; finer than any image drawn


@dataclass(frozen=True, kw_only=True)
class Plane:
    """A plane of nodes across an axis, or all planes along it."""

    axis: int  #: 0, 1, 2 for a plane normal to x, y, z
    position_m: float | None  #: position of the plane on that axis [m]; None for the maximum over all planes
    shadow: np.ndarray  #: (n_rows, n_columns) bool, whether any fluid lies in, in front of or behind the plane
    extent_m: tuple[float, float, float, float]  #: left, right, bottom, top of the arrays [m]
    vertical: int | None = None  #: the axis that is drawn upwards, or downwards; None: the second of the others
    is_downwards: bool = False  #: whether it is drawn downwards
    #: (n_rows, n_columns) bool, whether a node lies in the plane, with fluid or without; None: nothing is known of
    #: nodes without fluid
    room: np.ndarray | None = None

    @property
    def in_plane(self) -> tuple[int, int]:
        """Axes to the right and upwards."""
        return _in_plane(self.axis, self.vertical)


@dataclass(frozen=True, kw_only=True)
class PlaneCut(Plane):
    """Values on a plane, or a maximum-intensity projection: (n_rows, n_columns), row 0 at the bottom, nan outside the
    fluid."""

    values: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Raster(Plane):
    """Where nodes lie on a plane, or on the projection along an axis: what the images of one film have in common."""

    chosen: np.ndarray  #: (m,) numbers of the nodes that are shown
    #: row, column: (m,) their pixels
    row: np.ndarray
    column: np.ndarray

    @property
    def shown_share(self) -> float:
        """The part of the pixels in which a node is shown."""
        return np.unique(self.row * self.shadow.shape[1] + self.column).size / self.shadow.size

    def image(self, values: np.ndarray) -> PlaneCut:
        """The image of (n,) values of all nodes; of nodes in one pixel the largest value."""
        highest = np.full(self.shadow.shape, np.nan)
        np.fmax.at(highest, (self.row, self.column), values[self.chosen])
        return self.of_pixels(highest)

    def of_pixels(self, values: np.ndarray) -> PlaneCut:
        """The image with (n_rows, n_columns) values of its pixels."""
        return PlaneCut(values=values, **{each.name: getattr(self, each.name) for each in fields(Plane)})


def best_cut(nodes: NodeList, values: np.ndarray, telling: np.ndarray | None = None) -> PlaneCut:
    """The image of values on the plane of :func:`best_raster`. ``nodes``, ``telling``: as of :func:`best_raster`;
    ``values``: (n,) values to show."""
    return best_raster(nodes, telling).image(values)


def best_raster(nodes: NodeList, telling: np.ndarray | None = None) -> Raster:
    """The plane with most fluid, preferably near the middle; z = 0 in two dimensions.

    If even that plane misses much of a slender geometry, such as a branching vessel, the maximum-intensity projection
    along the axis with the largest projected area.

    Args:
        telling: (n,) values whose variance decides between planes with nearly as much fluid.
    """
    coordinates = nodes.coordinates()
    axis, index = (2, 0) if nodes.shape[0] == 1 else _best_plane(coordinates, telling)
    plane = _raster(nodes, axis, np.flatnonzero(coordinates[:, axis] == index))
    fullness = plane.shadow.mean()
    if fullness > SLENDER or plane.shown_share >= REPRESENTATIVE * fullness:
        return replace(plane, position_m=nodes.origin_m[axis] + nodes.spacing_m * index)
    size = coordinates.max(axis=0) + 1
    areas = [np.unique(coordinates[:, i] * size[j] + coordinates[:, j]).size for i, j in map(_others, range(3))]
    return _raster(nodes, int(np.argmax(areas)), np.arange(nodes.n_nodes))


def cut_at(nodes: NodeList, values: np.ndarray, axis: int, position_m: float | None = None) -> PlaneCut:
    """The plane of nodes across an axis that is nearest to a position [m]; without one the fullest across that axis.

    Args:
        axis: 0, 1, 2 for x, y, z.
        position_m: position on that axis [m].

    Raises InputError: no node lies there.
    """
    place = nodes.coordinates()[:, axis]
    if position_m is None:
        index = _fullest_plane(nodes.coordinates(), axis)[2]
    else:
        index = round((position_m - nodes.origin_m[axis]) / nodes.spacing_m)
    chosen = np.flatnonzero(place == index)
    if not chosen.size:
        low_m, high_m = (nodes.origin_m[axis] + nodes.spacing_m * end for end in (place.min(), place.max()))
        raise InputError(
            f"no node lies at {AXES[axis]} = {position_m:.6g} m; fluid reaches from {low_m:.6g} to {high_m:.6g} m"
        )
    plane = _raster(nodes, axis, chosen).image(values)
    return replace(plane, position_m=nodes.origin_m[axis] + nodes.spacing_m * index)


def _others(axis: int) -> tuple[int, int]:
    return pair(i for i in range(3) if i != axis)


def _in_plane(axis: int, vertical: int | None) -> tuple[int, int]:
    """Axes to the right and along the vertical of an image across an axis."""
    first, second = _others(axis)
    return (second, first) if vertical == first else (first, second)


def _stride(low: np.ndarray, high: np.ndarray) -> int:
    return -(-int((high - low).max() + 1) // MAX_PIXELS)


def _raster(nodes: NodeList, axis: int, chosen: np.ndarray, vertical: int | None = None) -> Raster:
    coordinates = nodes.coordinates()
    in_plane = list(_in_plane(axis, vertical))
    low, high = coordinates.min(axis=0)[in_plane], coordinates.max(axis=0)[in_plane]
    stride = _stride(low, high)
    column, row = ((coordinates[:, in_plane] - low) // stride).T
    shape = (row.max() + 1, column.max() + 1)
    shadow = np.zeros(shape, dtype=bool)
    shadow[row, column] = True
    left, bottom = np.asarray(nodes.origin_m)[in_plane] + nodes.spacing_m * (low - 0.5)
    width, height = stride * nodes.spacing_m * np.array(shape[::-1])
    extent_m = (left, left + width, bottom, bottom + height)
    pixels = {"row": row[chosen], "column": column[chosen]}
    return Raster(axis=axis, position_m=None, shadow=shadow, extent_m=extent_m, chosen=chosen, **pixels)


def _best_plane(coordinates: np.ndarray, telling: np.ndarray | None) -> tuple[int, int]:
    """(axis, index) of the fullest plane, or of a nearly as full one in which ``telling`` has the largest variance."""
    planes = [_fullest_plane(coordinates, axis) for axis in range(3)]
    fullest = max(planes)
    if telling is not None:
        nearly = [plane for plane in planes if plane[0] >= REPRESENTATIVE * fullest[0]]
        fullest = max(nearly, key=lambda plane: telling[coordinates[:, plane[1]] == plane[2]].var(dtype=np.float64))
    return fullest[1:]


def _fullest_plane(coordinates: np.ndarray, axis: int) -> tuple[float, int, int]:
    """(score, axis, index) of the plane normal to an axis with most nodes, planes in the middle preferred."""
    counts = np.bincount(coordinates[:, axis])
    position = np.arange(counts.size)
    middle = 0.5 * (np.flatnonzero(counts)[0] + position[-1])
    eccentricity = np.abs(position - middle) / max(position[-1] - middle, 1.0)
    score = counts * (1.0 - CENTRE_PREFERENCE * eccentricity)
    return float(score.max()), axis, int(score.argmax())


@dataclass(frozen=True, eq=False)
class Sight:
    """Orientation and centre of the pictures of a flow."""

    up: np.ndarray  #: (3,) unit vector upwards
    #: (3,) point (x, y, z) [m] through which the most informative cut passes; None: where most fluid is
    through_m: np.ndarray | None = None

    @property
    def vertical(self) -> int:
        """The axis nearest to the vertical: 0, 1, 2 for x, y, z."""
        return int(np.abs(self.up).argmax())

    @property
    def is_downwards(self) -> bool:
        """Whether that axis points downwards."""
        return bool(self.up[self.vertical] < 0.0)

    def turned(self) -> np.ndarray:
        """(3, 3) a turn of the axes, unit vectors in rows, of which the third is upwards along the vertical axis."""
        right = np.eye(3)[int(self.vertical == 0)]
        upwards = np.eye(3)[self.vertical] * (-1.0 if self.is_downwards else 1.0)
        return np.stack((right, np.cross(upwards, right), upwards))


def upright_raster(nodes: NodeList, room: NodeList, sight: Sight) -> Raster:
    """The plane along the vertical and the longer side of the room; z = 0 in two dimensions.

    Args:
        nodes: those with fluid.
        room: all nodes.
        sight: what is up, and through which point the plane passes.
    """
    place, whole = nodes.coordinates(), room.coordinates()
    lowest, highest = whole.min(axis=0), whole.max(axis=0)
    axis = 2
    if room.shape[0] > 1:
        axis = min((k for k in (2, 1, 0) if k != sight.vertical), key=lambda k: highest[k] - lowest[k])
    layer = _fullest_plane(place, axis)[2]
    if sight.through_m is not None:
        wanted = round((sight.through_m[axis] - room.origin_m[axis]) / room.spacing_m)
        layer = wanted if np.any(place[:, axis] == wanted) else layer
    image = _raster(room, axis, np.flatnonzero(whole[:, axis] == layer), sight.vertical)
    there = np.zeros(image.shadow.shape, dtype=bool)
    there[image.row, image.column] = True
    chosen, in_plane = np.flatnonzero(place[:, axis] == layer), list(_in_plane(axis, sight.vertical))
    low, high = lowest[in_plane], highest[in_plane]
    column, row = ((place[chosen][:, in_plane] - low) // _stride(low, high)).T
    shown = replace(
        image, position_m=room.origin_m[axis] + room.spacing_m * layer, chosen=chosen, row=row, column=column
    )
    return replace(shown, vertical=sight.vertical, is_downwards=sight.is_downwards, room=there)
