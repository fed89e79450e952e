"""Forces on beads from outside: of walls, and a pull.

Walls repel from the nearest point of a solid voxel among the 26 around; a pull acts on some beads, inside a box.
"""

from math import floor

import numpy as np

from muphy_lb.domain.lookup import LAYER, look_up, look_up_node
from muphy_lb.operators.unroll import unroll
from muphy_lb.physics.particles.beads.names import OFFSET, VOXEL
from muphy_lb.physics.particles.beads.potentials import lennard_jones

NEAREST = 0.7
"""Distance to a wall, over sigma, below which its force grows no more: no step could follow it, and thermal beads, for
which the wall is some hundred kT high there, do not come so near."""


def wall_forces(i, parameters) -> np.ndarray:
    """(3, n) forces of walls on beads: the specification."""
    voxel = np.stack([parameters[name][i] for name in VOXEL])
    offset = np.stack([parameters[name][i] for name in OFFSET])
    moved = np.floor(offset + 0.5)
    voxel, offset = voxel + moved.astype(np.int64), offset - moved
    nearest, best = np.zeros_like(offset), np.full(i.size, np.inf)
    for z in (-1, 0, 1):
        for y in (-1, 0, 1):
            for x in (-1, 0, 1):
                side = np.array([x, y, z])[:, None]
                is_solid = look_up(parameters["lookup"], *(voxel + side)) < 0
                gap = np.where(side == 0, 0.0, -side * (0.5 - side * offset))
                r2 = (gap**2).sum(axis=0)
                chosen = is_solid & (r2 < best)
                best, nearest = np.where(chosen, r2, best), np.where(chosen, gap, nearest)
    near = best < parameters["wall_range2"]
    scale = lennard_jones(
        np.where(near, np.maximum(best, (NEAREST * parameters["wall_b"]) ** 2), 1.0),
        parameters["wall_a"],
        parameters["wall_b"],
    )
    return np.where(near, scale, 0.0) * nearest


def walls_node(jit, at):
    """Node function ``(i, parameters)``: the force of walls on one bead."""
    find, lookup, beside = look_up_node(jit), at["lookup"], at["beside_wall"]
    vx, vy, vz, ox, oy, oz = (at[name] for name in (*VOXEL, *OFFSET))
    a, b, range2, real, whole = at["wall_a"], at["wall_b"], at["wall_range2"], np.float64, np.int64
    half, nearest = np.float64(0.5), np.float64(NEAREST)
    gap = jit(lambda side, offset: 0.0 if side == 0 else -side * (half - side * offset))

    def of_walls(i, parameters):
        px, py, pz = parameters[ox][i], parameters[oy][i], parameters[oz][i]
        mx, my, mz = floor(px + half), floor(py + half), floor(pz + half)
        px, py, pz = px - mx, py - my, pz - mz
        x, y, z = parameters[vx][i] + whole(mx), parameters[vy][i] + whole(my), parameters[vz][i] + whole(mz)
        n = find(parameters[lookup], x, y, z)
        if 0 <= n < parameters[lookup].size[LAYER] and parameters[beside][n] == 0:
            return 0.0, 0.0, 0.0
        best, gx, gy, gz = real(parameters[range2]), 0.0, 0.0, 0.0
        for direction in range(27):
            sx, sy, sz = direction % 3 - 1, direction // 3 % 3 - 1, direction // 9 - 1
            tx, ty, tz = gap(sx, px), gap(sy, py), gap(sz, pz)
            r2 = tx * tx + ty * ty + tz * tz
            if r2 < best and find(parameters[lookup], x + whole(sx), y + whole(sy), z + whole(sz)) < 0:
                best, gx, gy, gz = r2, tx, ty, tz
        if best < real(parameters[range2]):
            sigma = real(parameters[b])
            r2 = max(best, (nearest * sigma) * (nearest * sigma))
            s2 = sigma * sigma / r2
            s6 = s2 * s2 * s2
            scale = 24.0 * real(parameters[a]) * (2.0 * s6 * s6 - s6) / r2
            return scale * gx, scale * gy, scale * gz
        return 0.0, 0.0, 0.0

    return jit(of_walls)


def pull_node(jit, at):
    """Node function ``(i, parameters)``: the pull on one bead."""
    pulled, pull, box, own = at["pulled"], at["pull"], at["pull_box"], at["id"]
    voxel, offset = tuple(at[name] for name in VOXEL), tuple(at[name] for name in OFFSET)

    def of_pull(i, parameters):
        inside = parameters[pulled][parameters[own][i]] != 0
        for k in range(3):
            place = parameters[voxel[k]][i] + parameters[offset[k]][i]
            inside = inside and parameters[box][k] <= place and place <= parameters[box][3 + k]
        if inside:
            return parameters[pull][0], parameters[pull][1], parameters[pull][2]
        return 0.0, 0.0, 0.0

    return jit(unroll(of_pull))
