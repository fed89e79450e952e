"""The area of a triangulated wall around the points at which links meet it.

Triangles are cut up into pieces of about half a voxel, and each piece counts for the point nearest to it: also where
the fluid between two walls that meet is so narrow that it holds no nodes, and no link meets the wall.
"""

import numpy as np

from muphy_lb.base.kept.functions import njit

PIECE = 0.5  # largest edge of a piece [voxels]
PIECES_ACROSS = 16  # fewest of them across a box, whose faces cut them
NEAR = 2.0  # distance of a piece from its point [voxels]; what lies further off bounds no fluid
TRIANGLES_PER_CHUNK = 1 << 14
MOST_PIECES = 1 << 22  # of a chunk, of more than one triangle, in memory


def areas_around(points: np.ndarray, corners: np.ndarray, size: np.ndarray) -> np.ndarray:
    """(m,) area of the triangles around each of some points [voxel faces].

    Args:
        points: (m, 3) points of the surface (x, y, z) in voxel coordinates.
        corners: (n, 3, 3) vertices of the triangles in voxel coordinates.
        size: (3,) voxels of the box along x, y, z; what lies outside it does not count.
    """
    from scipy.spatial import cKDTree  # a sixth of a second that other runs need not wait

    area, tree = np.zeros(len(points)), cKDTree(points)
    step = min(PIECE, float(size.min()) / PIECES_ACROSS)
    chunks = [corners[first : first + TRIANGLES_PER_CHUNK] for first in range(0, len(corners), TRIANGLES_PER_CHUNK)]
    chunks.reverse()
    while chunks:
        chunk = chunks.pop()
        n_pieces, half = _cut_up(chunk, step, size, np.empty((0, 4))), len(chunk) // 2
        if n_pieces > MOST_PIECES and half:
            chunks += [chunk[half:], chunk[:half]]
            continue
        pieces = np.empty((n_pieces, 4))
        _cut_up(chunk, step, size, pieces)
        distance, nearest = tree.query(pieces[:, :3], distance_upper_bound=NEAR, workers=1)
        near = np.isfinite(distance)
        area += np.bincount(nearest[near], pieces[near, 3], len(points))
    return area


@njit(cache=True)
def _cut_up(corners, step, size, pieces):
    """Centre and area (k, 4) of the pieces inside the box, and their number; with empty ``pieces`` the latter alone."""
    count = 0
    for triangle in corners:
        tip, base, height, area = _upright(triangle)
        n_rows = max(1, int(np.ceil(height / step)))
        for row in range(n_rows):
            share = (row + 0.5) / n_rows
            n_columns = max(1, int(np.ceil(share * np.sqrt((base[1] ** 2).sum()) / step)))
            of_row = area * (2.0 * row + 1.0) / n_rows**2 / n_columns
            for column in range(n_columns):
                centre = tip + share * (base[0] + (column + 0.5) / n_columns * base[1])
                count += _kept(centre, of_row * _share_inside(centre, step, size), pieces, count)
    return count


@njit(cache=True)
def _kept(centre, area, pieces, place):
    """1 for a piece with an area, which is stored unless ``pieces`` is empty, else 0."""
    if area > 0.0 and len(pieces):
        pieces[place, :3] = centre
        pieces[place, 3] = area
    return 1 if area > 0.0 else 0


@njit(cache=True)
def _share_inside(centre, step, size):
    """Share of a cube around a point that lies in the box."""
    share = 1.0
    for i in range(3):
        beyond = min(centre[i] + 0.5, size[i] - 0.5 - centre[i])
        share *= min(max(beyond / step + 0.5, 0.0), 1.0)
    return share


@njit(cache=True)
def _upright(triangle):
    """The corner opposite the longest edge; the way from it to one end of that edge, and the edge; height, area."""
    longest, length = 0, 0.0
    for i in range(3):
        edge = triangle[(i + 2) % 3] - triangle[(i + 1) % 3]
        if (edge**2).sum() > length:
            longest, length = i, (edge**2).sum()
    tip, base = triangle[longest], np.empty((2, 3))
    base[0] = triangle[(longest + 1) % 3] - tip
    base[1] = triangle[(longest + 2) % 3] - triangle[(longest + 1) % 3]
    area = 0.5 * np.sqrt((np.cross(base[0], base[1]) ** 2).sum())
    return tip, base, 2.0 * area / np.sqrt(length) if length > 0.0 else 0.0, area
