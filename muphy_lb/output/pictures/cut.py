"""The flat image that shows most of the flow: a plane cut, or a maximum-intensity projection along an axis."""

from dataclasses import dataclass, replace

import numpy as np

from muphy_lb.errors import InputError
from muphy_lb.geometry.nodes import NodeList

AXES = "xyz"
CENTRE_PREFERENCE = 0.1  # fraction of its score that a plane at the edge loses relative to one in the middle
SLENDER = 0.6  # largest fraction of its frame that a slender geometry fills
REPRESENTATIVE = 0.8  # smallest fraction of a slender geometry, or of the nodes of the fullest plane, in a plane
MAX_PIXELS = 1500  # along an edge; finer than any image drawn


@dataclass(frozen=True)
class PlaneCut:
    """Values on an axis-aligned plane of nodes, or a maximum-intensity projection along an axis.

    Attributes:
        axis: 0, 1, 2 for a plane normal to x, y, z.
        position_m: position of the plane on that axis [m]; None for the maximum over all planes.
        values: (n_rows, n_columns), row 0 at the bottom; nan outside the fluid.
        shadow: (n_rows, n_columns) bool, whether any fluid lies in, in front of or behind the plane.
        extent_m: left, right, bottom, top of the arrays [m].
    """

    axis: int
    position_m: float | None
    values: np.ndarray
    shadow: np.ndarray
    extent_m: tuple[float, float, float, float]

    @property
    def in_plane(self) -> tuple[int, int]:
        """Axes to the right and upwards."""
        return _others(self.axis)


def best_cut(nodes: NodeList, values: np.ndarray, telling: np.ndarray | None = None) -> PlaneCut:
    """The plane with most fluid, preferably near the middle; z = 0 in two dimensions.

    If even that plane misses much of a slender geometry, such as a branching vessel, the maximum-intensity projection
    along the axis with the largest projected area.

    Args:
        nodes: the geometry.
        values: (n,) values to show.
        telling: (n,) values whose variance decides between planes with nearly as much fluid.
    """
    coordinates = nodes.coordinates()
    axis, index = (2, 0) if nodes.shape[0] == 1 else _best_plane(coordinates, telling)
    plane = _image(nodes, values, axis, coordinates[:, axis] == index)
    fullness = plane.shadow.mean()
    if fullness > SLENDER or np.isfinite(plane.values).mean() >= REPRESENTATIVE * fullness:
        return replace(plane, position_m=nodes.origin_m[axis] + nodes.spacing_m * index)
    return _image(nodes, values, _widest_axis(coordinates), slice(None))


def cut_at(nodes: NodeList, values: np.ndarray, axis: int, position_m: float | None = None) -> PlaneCut:
    """The plane of nodes across an axis that is nearest to a position [m]; without one the fullest across that axis.

    Args:
        nodes, values: as of :func:`best_cut`.
        axis: 0, 1, 2 for x, y, z.
        position_m: position on that axis [m].

    Raises:
        InputError: no node lies there.
    """
    place = nodes.coordinates()[:, axis]
    if position_m is None:
        index = _fullest_plane(nodes.coordinates(), axis)[2]
    else:
        index = round((position_m - nodes.origin_m[axis]) / nodes.spacing_m)
    chosen = place == index
    if not chosen.any():
        low_m, high_m = (nodes.origin_m[axis] + nodes.spacing_m * end for end in (place.min(), place.max()))
        raise InputError(
            f"no node lies at {AXES[axis]} = {position_m:.6g} m; fluid reaches from {low_m:.6g} to {high_m:.6g} m"
        )
    plane = _image(nodes, values, axis, chosen)
    return replace(plane, position_m=nodes.origin_m[axis] + nodes.spacing_m * index)


def _others(axis: int) -> tuple[int, int]:
    return tuple(i for i in range(3) if i != axis)


def _image(nodes: NodeList, values: np.ndarray, axis: int, chosen) -> PlaneCut:
    """Maximum of the values of the ``chosen`` nodes along an axis."""
    coordinates = nodes.coordinates()
    in_plane = list(_others(axis))
    low, high = coordinates.min(axis=0)[in_plane], coordinates.max(axis=0)[in_plane]
    stride = -(-int((high - low).max() + 1) // MAX_PIXELS)
    column, row = ((coordinates[:, in_plane] - low) // stride).T
    shape = (row.max() + 1, column.max() + 1)
    shadow = np.zeros(shape, dtype=bool)
    shadow[row, column] = True
    highest = np.full(shape, np.nan)
    np.fmax.at(highest, (row[chosen], column[chosen]), values[chosen])
    left, bottom = np.asarray(nodes.origin_m)[in_plane] + nodes.spacing_m * (low - 0.5)
    width, height = stride * nodes.spacing_m * np.array(shape[::-1])
    return PlaneCut(axis, None, highest, shadow, (left, left + width, bottom, bottom + height))


def _widest_axis(coordinates: np.ndarray) -> int:
    """Axis along which the projected area of the geometry is largest."""
    size = coordinates.max(axis=0) + 1
    areas = [np.unique(coordinates[:, i] * size[j] + coordinates[:, j]).size for i, j in map(_others, range(3))]
    return int(np.argmax(areas))


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
