"""Fields of another grid at the nodes of this one."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.domain import LocalDomain
from muphy_lb.geometry.nodes import GeometryHeader, voxel_coordinates
from muphy_lb.setup.samples import CORNERS, Samples

SAME = 1e-6
"""Relative difference of two lengths that is rounding."""
MOST_OUTSIDE = 0.02
"""Share of the nodes that may have no value of the other grid near them: corners that only the finer one resolves."""


class OtherGrid(NamedTuple):
    """Values (m, k) at points ``place`` (m, 3) of a grid of ``counts`` points along x, y, z with the given spacings [m]
    and the centre [m] of its first point; ``path`` is for messages."""

    path: Path
    values: np.ndarray
    place: np.ndarray
    counts: np.ndarray
    spacing_m: np.ndarray
    origin_m: np.ndarray


def interpolated(
    grid: OtherGrid, key: str, is_velocity: bool, header: GeometryHeader, domain: LocalDomain
) -> np.ndarray:
    """(n, k) values at the local nodes, linear in metres between the points around each.

    Where both boxes are equally long and begin within a voxel of each other, they are taken to be the same box. Points
    in walls have no values: a velocity falls to 0 half-way to them, other fields go on as they are, as all do beyond
    openings. Across periodic faces the other grid repeats if its box is as long as this one.

    Raises:
        InputError: the grid does not cover the nodes.
    """
    size = np.array(header.shape[::-1])
    length_m, other_m = size * header.spacing_m, grid.counts * grid.spacing_m
    is_same = np.abs(length_m - other_m) < SAME * length_m
    low_m = np.asarray(header.origin_m) - 0.5 * header.spacing_m
    shift_m = low_m - (grid.origin_m - 0.5 * grid.spacing_m)
    shift_m = np.where(is_same & (np.abs(shift_m) < np.maximum(grid.spacing_m, header.spacing_m)), shift_m, 0.0)
    origin_m = grid.origin_m + shift_m
    place_m = np.asarray(header.origin_m) + header.spacing_m * voxel_coordinates(domain.voxel, header.shape)
    samples = Samples(grid.place, grid.values, grid.counts, is_same & np.array(header.periodic))
    position = (place_m - origin_m) / grid.spacing_m
    found, weights, missing = samples.at(position)
    share = np.where(missing, 0.0, weights).sum(axis=1)
    _check_cover(grid.path, key, share)
    values = np.where(share[:, None] > 0.0, found / np.maximum(share, 1e-300)[:, None], 0.0)
    if not is_velocity:
        lost = share == 0.0
        values[lost] = samples.near(position[lost])
        return values
    open_share = share.copy()
    partly = np.flatnonzero((share < 1.0 - SAME) & (share > 0.0))
    corner_m = origin_m + grid.spacing_m * (np.floor(position[partly])[:, None] + CORNERS)
    beyond = missing[partly] & _beyond_openings(header, corner_m, float(grid.spacing_m.max()))
    open_share[partly] += np.where(beyond, weights[partly], 0.0).sum(axis=1)
    return values * np.clip(2.0 * open_share - 1.0, 0.0, 1.0)[:, None]


def _check_cover(path: Path, key: str, share: np.ndarray) -> None:
    outside = float(np.mean(share == 0.0))
    if outside > MOST_OUTSIDE:
        raise InputError(
            f"{key}: {path} has no values at {100.0 * outside:.3g} % of the nodes; give a field of the same geometry,"
            " in the same place [m]"
        )


def _beyond_openings(header: GeometryHeader, place_m: np.ndarray, spacing_m: float) -> np.ndarray:
    """Mask of points (..., 3) [m] that lie in or behind an opening."""
    found = np.zeros(place_m.shape[:-1], dtype=bool)
    for opening in header.openings:
        away, normal = place_m - opening.centre_m, np.asarray(opening.normal)
        along = (away * normal).sum(axis=-1)
        across = np.sqrt(np.maximum((away * away).sum(axis=-1) - along**2, 0.0))
        found |= (along < 0.5 * spacing_m) & (across <= opening.radius_m + spacing_m)
    return found
