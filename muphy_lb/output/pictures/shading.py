"""Light, shade and outlines on what rays have hit."""

import numpy as np
from numba import float32, float64, int64, prange

from muphy_lb.base.kept.functions import njit

RAYS = "rays"  # subject of the kernels that are compiled ahead where there will be a picture
DEPTH, NORMAL_X, NORMAL_Y, NORMAL_Z, SHADE, PEAK, SOLID = range(7)  # results of a ray
N_RESULTS = 7
OUTLINE_WIDTH, FULL_JUMP = 3, 12.0  # rays to either side, and the difference of their depths, of a full outline


def _unit(vector) -> np.ndarray:
    return np.asarray(vector) / np.linalg.norm(vector)


TO_LIGHT = _unit((-0.45, 0.65, -0.75))  # direction of the light (right, up, forward): from the upper left, in front
TO_FILL = _unit((0.8, 0.1, -0.4))
TO_GLOSS = _unit(TO_LIGHT + np.array([0.0, 0.0, -1.0]))  # of normals that mirror the light to the viewer
AMBIENT, DIFFUSE, FILL, SPECULAR, SHININESS = 0.52, 0.50, 0.16, 0.22, 40.0
NO_GLOSS = 0.5  # the highlight is less than 1e-12 there
RIM, RIM_COLOUR = 0.16, (0.55, 0.70, 1.0)  # rim light, visible at grazing angles
SHADE_STRENGTH = 1.1
OUTLINE_STRENGTH = 0.5
GRAIN_COLOUR = (0.42, 0.44, 0.48)


def shaded(hits: np.ndarray, camera: np.ndarray, colours, oversampling: int) -> np.ndarray:
    """(n_rows, n_columns, 4) float32 RGBA of ray results: colours of the values, lights, shade, outlines."""
    seen = np.isfinite(hits[..., DEPTH])
    first = np.append(0, np.cumsum(seen.sum(axis=1)))
    tints = np.ascontiguousarray(colours(hits[..., PEAK][seen])[:, :3], dtype=np.float32)
    return _lit(hits, first, tints, camera, oversampling)


@njit(
    parallel=True,
    cache=True,
    nogil=True,
    usually=(float32[:, :, ::1], int64[::1], float32[:, ::1], float64[:, ::1], int64),
    subject=RAYS,
)
def _lit(hits, first, tints, camera, oversampling):
    """Pixels of ray results.

    Args:
        hits: from :func:`muphy_lb.output.pictures.projection.trace`.
        first: the number of rays that hit something before each row of them.
        tints: (n, 3) colours of the values of all rays that do.
    """
    n_rows, n_columns = hits.shape[0] // oversampling, hits.shape[1] // oversampling
    image = np.zeros((n_rows, n_columns, 4), dtype=np.float32)
    for row in prange(n_rows):
        for ray in range(oversampling * row, oversampling * (row + 1)):
            _add_rays(hits, ray, tints[first[ray] : first[ray + 1]], camera, oversampling, image[row])
        for column in range(n_columns):
            number = image[row, column, 3]
            image[row, column, :3] /= max(number, np.float32(1.0))
            image[row, column, 3] = number / (oversampling * oversampling)
    return image


@njit(cache=True, nogil=True)
def _add_rays(hits, row, tints, camera, oversampling, pixels):
    """Add the colours of a row of rays to those of their pixels, and to the alpha of these how many hit something."""
    number = 0
    for column in range(len(pixels) * oversampling):
        hit, pixel = hits[row, column], pixels[column // oversampling]
        if not np.isnan(hit[DEPTH]):
            _add_light(hit, _outline(hits, row, column), tints[number], camera, pixel)
            pixel[3] += 1.0
            number += 1


@njit(cache=True, nogil=True)
def _add_light(hit, outline, tint, camera, pixel):
    """Add the colour of a surface point, lit and shaded."""
    light, fill, half = 0.0, 0.0, 0.0
    for i in range(3):
        along = hit[NORMAL_X] * camera[i, 0] + hit[NORMAL_Y] * camera[i, 1] + hit[NORMAL_Z] * camera[i, 2]
        light, fill, half = light + along * TO_LIGHT[i], fill + along * TO_FILL[i], half + along * TO_GLOSS[i]
    bright = AMBIENT + DIFFUSE * max(light, 0.0) + FILL * max(fill, 0.0)
    bright *= 1.0 - SHADE_STRENGTH * min(max(hit[SHADE] - 0.15, 0.0), 0.7)
    bright *= 1.0 - OUTLINE_STRENGTH * outline
    highlight = SPECULAR * half**SHININESS if half > NO_GLOSS else 0.0
    rim = RIM * min(max(1.0 + along, 0.0), 1.0) ** 3
    for i in range(3):
        colour = GRAIN_COLOUR[i] if hit[SOLID] > 0.5 else tint[i]
        pixel[i] += min(max(colour * bright + highlight + rim * RIM_COLOUR[i], 0.0), 1.0)


@njit(cache=True, nogil=True)
def _outline(hits, row, column):
    """0..1, high just behind a jump of the depth: separates a branch from one in front of it."""
    behind = 0.0
    for down, right in ((-OUTLINE_WIDTH, 0), (OUTLINE_WIDTH, 0), (0, -OUTLINE_WIDTH), (0, OUTLINE_WIDTH)):
        i, j = row + down, column + right
        if 0 <= i < hits.shape[0] and 0 <= j < hits.shape[1] and not np.isnan(hits[i, j, DEPTH]):
            behind = max(behind, min((hits[row, column, DEPTH] - hits[i, j, DEPTH]) / FULL_JUMP, 1.0))
    return behind
