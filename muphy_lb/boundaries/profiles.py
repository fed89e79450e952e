"""Velocity profiles across an opening, relative to the mean velocity; link weights scale them to the exact mean."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from muphy_lb.base.errors import InputError

Profile = Callable[["object", np.ndarray], np.ndarray]


def plug(frame, midpoint: np.ndarray) -> np.ndarray:
    """Uniform velocity."""
    return np.ones(len(midpoint))


def parabolic(frame, midpoint: np.ndarray) -> np.ndarray:
    """Paraboloid of a circular opening, 2 (1 - r^2 / R^2), cut off at zero; a parabola in two dimensions."""
    return np.maximum(0.0, 2.0 * (1.0 - _radius(frame, midpoint) ** 2 / frame.radius**2))


def rectangular(frame, midpoint: np.ndarray) -> np.ndarray:
    """Product of two parabolas over a rectangle along the axes, (1 - a^2 / A^2)(1 - b^2 / B^2).

    Raises:
        InputError: the opening's normal is not along an axis.
    """
    normal = np.abs(frame.normal)
    if normal.max() < 1.0 - 1e-9:
        raise InputError(f"the rectangular profile needs an opening with a normal along x, y or z, not {frame.normal}")
    shape = np.ones(len(midpoint))
    for axis in np.flatnonzero(normal < 0.5):
        shape *= np.maximum(0.0, 1.0 - ((midpoint - frame.middle)[:, axis] / frame.half_widths[axis]) ** 2)
    return shape


def measured(radius: np.ndarray, velocity: np.ndarray) -> Profile:
    """A profile through measured points (distance from the centre [voxel edges], velocity), interpolated linearly."""
    return lambda frame, midpoint: np.interp(_radius(frame, midpoint), radius, velocity)


def _radius(frame, midpoint: np.ndarray) -> np.ndarray:
    offset = midpoint - frame.centroid
    offset -= np.outer(offset @ frame.normal, frame.normal)
    return np.linalg.norm(offset, axis=1)


PROFILES: Mapping[str, Profile] = MappingProxyType({"plug": plug, "parabolic": parabolic, "rectangular": rectangular})
