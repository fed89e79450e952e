"""The plane cut that shows most of the flow."""

from dataclasses import dataclass

import numpy as np

from geometry.nodes import NodeList

AXES = "xyz"
CENTRE_PREFERENCE = 0.1  # part of its score that a plane at the rim loses against one in the middle
MAX_PIXELS = 1500  # along an edge; finer than any picture


@dataclass(frozen=True)
class Cut:
    """An axis-aligned plane of nodes.

    Attributes:
        axis: 0, 1, 2 for a plane normal to x, y, z.
        position_m: place of the plane on that axis [m].
        speed_m_s: (n_rows, n_columns) speed [m/s], row 0 at the bottom; nan outside the fluid.
        shadow: (n_rows, n_columns) bool, whether any fluid lies before or behind.
        extent_m: left, right, bottom, top of the arrays [m].
    """

    axis: int
    position_m: float
    speed_m_s: np.ndarray
    shadow: np.ndarray
    extent_m: tuple[float, float, float, float]

    @property
    def in_plane(self) -> tuple[int, int]:
        """Axes to the right and upwards."""
        return tuple(i for i in range(3) if i != self.axis)


def best_cut(nodes: NodeList, speed_m_s: np.ndarray) -> Cut:
    """The plane with most fluid, near the middle where planes are alike; z = 0 in two dimensions.

    Args:
        nodes: the geometry.
        speed_m_s: (n,) speed [m/s].
    """
    coordinates = nodes.coordinates()
    axis, index = (2, 0) if nodes.shape[0] == 1 else _fullest_plane(coordinates)
    right, up = (i for i in range(3) if i != axis)
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    stride = -(-int((high - low)[[right, up]].max() + 1) // MAX_PIXELS)
    shape = tuple((high - low)[[up, right]] // stride + 1)
    row, column = ((coordinates[:, i] - low[i]) // stride for i in (up, right))
    shadow = np.zeros(shape, dtype=bool)
    shadow[row, column] = True
    plane = np.full(shape, np.nan)
    chosen = coordinates[:, axis] == index
    plane[row[chosen], column[chosen]] = speed_m_s[chosen]
    first_m = np.asarray(nodes.origin_m) + nodes.spacing_m * (low - 0.5)
    size_m = stride * nodes.spacing_m * np.array(shape[::-1])
    left, bottom = first_m[[right, up]]
    position_m = nodes.origin_m[axis] + nodes.spacing_m * index
    return Cut(axis, position_m, plane, shadow, (left, left + size_m[0], bottom, bottom + size_m[1]))


def _fullest_plane(coordinates: np.ndarray) -> tuple[int, int]:
    """Axis and index of the plane that holds most nodes, planes in the middle preferred."""
    best = (-1.0, 0, 0)
    for axis in range(3):
        counts = np.bincount(coordinates[:, axis])
        place = np.arange(counts.size)
        middle = 0.5 * (np.flatnonzero(counts)[0] + place[-1])
        rim = np.abs(place - middle) / max(place[-1] - middle, 1.0)
        score = counts * (1.0 - CENTRE_PREFERENCE * rim)
        best = max(best, (score.max(), axis, int(score.argmax())))
    return best[1:]
