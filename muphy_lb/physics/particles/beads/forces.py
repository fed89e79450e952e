"""Forces on beads: of bonds, bending, other beads, walls, and a pull.

Potentials are radial forces divided by the distance, F(r) / r, functions of the squared distance and two constants,
numbers or arrays; positive ones push apart. Only arithmetic and square roots are used, which round alike on every
backend. Weeks, Chandler, Andersen, J. Chem. Phys. 54, 5237 (1971); Kremer, Grest, J. Chem. Phys. 92, 5057 (1990).

Each bead sums the forces on itself. The force of a bond or of another bead is minus that on the other to the last bit,
since it follows from the exact difference of two positions. Forces of other beads are summed as integers: the order in
which a bead finds them means nothing. Walls repel from the nearest point of a solid voxel among the 26 around; a pull
acts on some beads, inside a box.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from math import floor
from types import MappingProxyType

import numpy as np

from muphy_lb.domain.lookup import LAYER, look_up, look_up_node
from muphy_lb.domain.lookup import WALL as WALL_ENTRY
from muphy_lb.operators import Operator, named
from muphy_lb.operators.unroll import unroll
from muphy_lb.physics.particles.beads.motion import (
    CELL,
    FORCE,
    FORCE_UNIT,
    HEAD,
    NEXT,
    OFFSET,
    OPEN,
    PLACE,
    PLACE_UNIT,
    SHIFT,
    VELOCITY,
    VOXEL,
    cell_node,
    moves_node,
    moving,
)

WCA_RANGE = 2.0 ** (1.0 / 6.0)  # distance, over sigma, at which the Lennard-Jones force changes sign


def lennard_jones(r2, epsilon, sigma):
    """24 epsilon [2 (sigma/r)^12 - (sigma/r)^6] / r^2."""
    ratio = sigma * sigma / r2
    s6 = ratio * ratio * ratio
    return 24.0 * epsilon * (2.0 * s6 * s6 - s6) / r2


def soft(r2, epsilon, sigma):
    """Soft repulsion epsilon (1 - (r/sigma)^2)^2, finite at r = 0, so that beads may pass through each other."""
    return 4.0 * epsilon * (1.0 - r2 / (sigma * sigma)) / (sigma * sigma)


def harmonic(r2, stiffness, length):
    """Harmonic bond stiffness/2 (r - length)^2."""
    return stiffness * (length / r2**0.5 - 1.0)


def fene(r2, stiffness, longest):
    """Of -stiffness longest^2 / 2 ln(1 - (r / longest)^2). Beyond the longest extension it would push: such a bond is
    broken, and the run is stopped."""
    return -stiffness / (1.0 - r2 / (longest * longest))


BONDS: Mapping[str, Callable] = MappingProxyType({"harmonic": harmonic, "fene": fene})
PAIRS: Mapping[str, Callable] = MappingProxyType({"wca": lennard_jones, "lennard-jones": lennard_jones, "soft": soft})


#: Distance to a wall, over sigma, below which its force grows no more: no step could follow it, and thermal beads, for
#: which the wall is some hundred kT high there, do not come so near.
NEAREST = 0.7


def wall_forces(i, parameters, passes: bool = False) -> np.ndarray:
    """(3, n) forces of walls on beads, and of openings unless beads pass them: the specification."""
    voxel = np.stack([parameters[name][i] for name in VOXEL])
    offset = np.stack([parameters[name][i] for name in OFFSET])
    moved = np.floor(offset + 0.5)
    voxel, offset = voxel + moved.astype(np.int64), offset - moved
    nearest, best = np.zeros_like(offset), np.full(i.size, np.inf)
    for z in (-1, 0, 1):
        for y in (-1, 0, 1):
            for x in (-1, 0, 1):
                side = np.array([x, y, z])[:, None]
                found = look_up(parameters["lookup"], *(voxel + side))
                is_solid = found == WALL_ENTRY if passes else found < 0
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


def walls_node(jit, at, passes: bool = False):
    """Node function ``(i, parameters)``: the force of walls on one bead."""
    wall, nowhere = np.int32(WALL_ENTRY), np.int32(0)
    is_solid = jit((lambda found: found == wall) if passes else (lambda found: found < nowhere))
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
            if r2 < best and is_solid(find(parameters[lookup], x + whole(sx), y + whole(sy), z + whole(sz))):
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


BOND = ("bond_start", "bond_partner", "bond_a", "bond_b")
PAIR = ("pair_a", "pair_b", "pair_range2", CELL, HEAD, NEXT)
BEND = ("bend_start", "bend_ids", "bend_a")
WALL = ("wall_a", "wall_b", "wall_range2", "beside_wall")
PULL = ("pulled", "pull", "pull_box")


@dataclass(frozen=True)
class Interactions:
    """Which forces act on beads; their constants are parameters."""

    bonds: str = ""  #: a name of ``BONDS``, or empty: constants a, b of all bonds, which a list by id names
    pairs: str = ""  #: a name of ``PAIRS``, or empty
    bends: bool = False  #: whether angles between bonds cost energy: a (1 - cos theta), theta 0 for a straight chain
    walls: bool = False  #: whether walls repel
    #: whether some beads are pulled, everywhere or in a box: its lowest corner, then its highest, in voxels
    pulls: bool = False
    passes: bool = False  #: whether beads pass openings, else these are walls to them

    @property
    def needs_others(self) -> bool:
        """Whether a bead must know where others are."""
        return bool(self.bonds or self.pairs or self.bends)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        groups = ((self.bonds, BOND), (self.pairs, PAIR), (self.bends, BEND), (self.walls, WALL), (self.pulls, PULL))
        own = tuple(name for given, names in groups if given for name in names)
        columns = ("lookup", "id", *VOXEL, *OFFSET, *VELOCITY, *FORCE, "mass", "duration")
        return (*columns, *(PLACE if self.needs_others else ()), *(OPEN if self.passes else ()), *own)


@cache
def forces(kinds: Interactions) -> Operator:
    """The forces at the present positions, and the half kick that they give."""

    def reference(i, lattice, parameters):
        i = moving(i, parameters, kinds.passes)
        total = np.zeros((3, np.size(i)))
        for given, part in ((kinds.bonds, _bonds), (kinds.pairs, _pairs), (kinds.bends, _bends)):
            if given:
                total += part(i, parameters, kinds)
        if kinds.walls:
            total += wall_forces(i, parameters, kinds.passes)
        if kinds.pulls:
            total += _pull(i, parameters)
        for k in range(3):
            parameters[FORCE[k]][i] = total[k]
            mass = parameters["mass"][parameters["id"][i]]
            parameters[VELOCITY[k]][i] += 0.5 * parameters["duration"] / mass * total[k]

    def node(lattice, precision, jit, at):
        return _forces_node(jit, at, kinds)

    return Operator(f"forces-{kinds}", reference, node, named(*kinds.names))


def _differences(parameters, first, second) -> np.ndarray:
    """(3, ...) positions of beads ``second`` minus those of ``first``, in voxels, by the nearest image."""
    size = np.asarray(parameters["lookup"].size)
    found = []
    for k, name in enumerate(PLACE):
        d, box = parameters[name][second] - parameters[name][first], size[k] << SHIFT
        if size[6 + k] == 1:
            d = np.where(d > box // 2, d - box, np.where(d < -(box // 2), d + box, d))
        found.append(PLACE_UNIT * d)
    return np.array(found)


def _bonds(i, parameters, kinds: Interactions) -> np.ndarray:
    total = np.zeros((3, i.size))
    start, partner = parameters["bond_start"], parameters["bond_partner"]
    for row, number in enumerate(parameters["id"][i]):
        for other in partner[start[number] : start[number + 1]]:
            d = _differences(parameters, number, other)
            total[:, row] -= BONDS[kinds.bonds]((d**2).sum(), parameters["bond_a"], parameters["bond_b"]) * d
    return total


def _pairs(i, parameters, kinds: Interactions) -> np.ndarray:
    own, everyone = parameters["id"][i], np.arange(parameters[PLACE[0]].size)
    d = _differences(parameters, own[:, None], everyone[None, :])
    r2 = (d**2).sum(axis=0)
    near = (r2 < parameters["pair_range2"]) & (own[:, None] != everyone)
    scale = PAIRS[kinds.pairs](np.where(near, r2, 1.0), parameters["pair_a"], parameters["pair_b"])
    parts = np.where(near, np.rint(scale * d / FORCE_UNIT), 0.0).astype(np.int64)
    return -FORCE_UNIT * parts.sum(axis=2)


def _bends(i, parameters, kinds: Interactions) -> np.ndarray:
    total = np.zeros((3, i.size))
    start, ids = parameters["bend_start"], parameters["bend_ids"].reshape(-1, 3)
    for row, number in enumerate(parameters["id"][i]):
        for first, middle, last in ids[start[number] : start[number + 1]]:
            a = _differences(parameters, first, middle)
            b = _differences(parameters, middle, last)
            on_first, on_last = bending_forces(a, b, parameters["bend_a"])
            force = {first: on_first, last: on_last, middle: -(on_first + on_last)}[number]
            total[:, row] += force
    return total


def bending_forces(a: np.ndarray, b: np.ndarray, stiffness: float) -> tuple[np.ndarray, np.ndarray]:
    """Forces on the first and on the last of three beads with bonds a and b, of stiffness (1 - cos theta)."""
    aa, bb, ab = (a**2).sum(), (b**2).sum(), (a * b).sum()
    norm = (aa * bb) ** 0.5
    return stiffness / norm * (ab / aa * a - b), stiffness / norm * (a - ab / bb * b)


def _pull(i, parameters) -> np.ndarray:
    place = np.stack([parameters[v][i] + parameters[o][i] for v, o in zip(VOXEL, OFFSET, strict=True)])
    low, high = parameters["pull_box"].reshape(2, 3, 1)
    is_pulled = (parameters["pulled"][parameters["id"][i]] != 0) & ((place >= low) & (place <= high)).all(axis=0)
    return np.where(is_pulled, parameters["pull"][:, None], 0.0)


def _forces_node(jit, at, kinds: Interactions):
    nothing = jit(lambda i, parameters: (0.0, 0.0, 0.0))
    of_bonds = _bonds_node(jit, at, kinds) if kinds.bonds else nothing
    of_pairs = _pairs_node(jit, at, kinds) if kinds.pairs else nothing
    of_bends = _bends_node(jit, at) if kinds.bends else nothing
    of_walls = walls_node(jit, at, kinds.passes) if kinds.walls else nothing
    of_pull = pull_node(jit, at) if kinds.pulls else nothing
    force_x, force_y, force_z = (at[name] for name in FORCE)
    speed_x, speed_y, speed_z = (at[name] for name in VELOCITY)
    mass, own, duration, half, real = at["mass"], at["id"], at["duration"], np.float64(0.5), np.float64
    moves = moves_node(jit, at, kinds.passes)

    def act(i, parameters):
        if not moves(i, parameters):
            return
        ax, ay, az = of_bonds(i, parameters)
        bx, by, bz = of_pairs(i, parameters)
        cx, cy, cz = of_bends(i, parameters)
        dx, dy, dz = of_walls(i, parameters)
        ex, ey, ez = of_pull(i, parameters)
        fx, fy, fz = ax + bx + cx + dx + ex, ay + by + cy + dy + ey, az + bz + cz + dz + ez
        kick = half * real(parameters[duration]) / parameters[mass][parameters[own][i]]
        parameters[force_x][i] = fx
        parameters[force_y][i] = fy
        parameters[force_z][i] = fz
        parameters[speed_x][i] += kick * fx
        parameters[speed_y][i] += kick * fy
        parameters[speed_z][i] += kick * fz

    return jit(act)


def _difference_node(jit, at):
    """Node function ``(parameters, first, second)``: positions of bead ``second`` minus that of ``first``."""
    lookup, (x_at, y_at, z_at) = at["lookup"], (at[name] for name in PLACE)
    unit, shift, one = np.float64(PLACE_UNIT), np.int64(SHIFT), np.int64(1)

    def nearest_image(d, size, wraps):
        box = size << shift
        if wraps == 1:
            if d > box >> one:
                return unit * (d - box)
            if d < -(box >> one):
                return unit * (d + box)
        return unit * d

    nearest = jit(nearest_image)

    def difference(parameters, first, second):
        size, x, y, z = parameters[lookup].size, parameters[x_at], parameters[y_at], parameters[z_at]
        return (
            nearest(x[second] - x[first], size[0], size[6]),
            nearest(y[second] - y[first], size[1], size[7]),
            nearest(z[second] - z[first], size[2], size[8]),
        )

    return jit(difference)


def _bonds_node(jit, at, kinds: Interactions):
    difference, law, real = _difference_node(jit, at), jit(BONDS[kinds.bonds]), np.float64
    start, partner, a, b, own = at["bond_start"], at["bond_partner"], at["bond_a"], at["bond_b"], at["id"]

    def of_bonds(i, parameters):
        fx, fy, fz = 0.0, 0.0, 0.0
        number = parameters[own][i]
        for k in range(parameters[start][number], parameters[start][number + 1]):
            dx, dy, dz = difference(parameters, number, parameters[partner][k])
            scale = law(dx * dx + dy * dy + dz * dz, real(parameters[a]), real(parameters[b]))
            fx -= scale * dx
            fy -= scale * dy
            fz -= scale * dz
        return fx, fy, fz

    return jit(of_bonds)


def _cell_of_bead_node(jit, at):
    """Node function ``(j, parameters)``: the cell (x, y, z) in which bead ``j`` lies."""
    along_axis, lookup, cell_at = cell_node(jit), at["lookup"], at[CELL]
    x_at, y_at, z_at = (at[name] for name in PLACE)

    def cell_of(j, parameters):
        size, cell = parameters[lookup].size, parameters[cell_at]
        return (
            along_axis(parameters[x_at][j], size[0], size[6], cell),
            along_axis(parameters[y_at][j], size[1], size[7], cell),
            along_axis(parameters[z_at][j], size[2], size[8], cell),
        )

    return jit(cell_of)


def _next_cell_node(jit):
    """Node function ``(c, step, n, wraps)``: the next of n cells along an axis, -1 where there is none or where it
    would be met twice."""
    whole = np.int64

    def beside(c, step, n, wraps):
        there = c + step
        if wraps == 1:
            if step != 0 and (n == 1 or (n == 2 and step == 1)):
                return whole(-1)
            return (there + n) % n
        return there if 0 <= there < n else whole(-1)

    return jit(beside)


def _lies_in_node(jit, at):
    """Node function ``(j, x, y, z, parameters)``: whether bead ``j`` lies in a cell."""
    find_cell = _cell_of_bead_node(jit, at)

    def lies_in(j, x, y, z, parameters):
        ox, oy, oz = find_cell(j, parameters)
        return ox == x and oy == y and oz == z

    return jit(lies_in)


def _pairs_node(jit, at, kinds: Interactions):
    difference, law, neighbour = _difference_node(jit, at), jit(PAIRS[kinds.pairs]), _next_cell_node(jit)
    find_cell, lies_in = _cell_of_bead_node(jit, at), _lies_in_node(jit, at)
    lookup, own, cell_at, head, following = at["lookup"], at["id"], at[CELL], at[HEAD], at[NEXT]
    a, b, range2 = at["pair_a"], at["pair_b"], at["pair_range2"]
    real, whole, unit = np.float64, np.int64, np.float64(FORCE_UNIT)

    def of_pairs(i, parameters):
        size, cell, number = parameters[lookup].size, parameters[cell_at], parameters[own][i]
        nx, ny, nz = max(size[0] // cell, 1), max(size[1] // cell, 1), max(size[2] // cell, 1)
        cx, cy, cz = find_cell(number, parameters)
        fx, fy, fz = whole(0), whole(0), whole(0)
        for direction in range(27):
            x = neighbour(cx, whole(direction % 3 - 1), nx, size[6])
            y = neighbour(cy, whole(direction // 3 % 3 - 1), ny, size[7])
            z = neighbour(cz, whole(direction // 9 - 1), nz, size[8])
            if x < 0 or y < 0 or z < 0:
                continue
            j = parameters[head][((z * size[1] + y) * size[0] + x) % whole(parameters[head].size)]
            # not in a function of its own: called for each pair, that made steps of dense beads 18 times slower
            while j >= 0:
                dx, dy, dz = difference(parameters, number, j)
                r2 = dx * dx + dy * dy + dz * dz
                is_near = j != number and r2 < real(parameters[range2])
                if is_near and lies_in(j, x, y, z, parameters):  # a bucket may hold several cells
                    scale = law(r2, real(parameters[a]), real(parameters[b])) / unit
                    fx -= whole(round(scale * dx))
                    fy -= whole(round(scale * dy))
                    fz -= whole(round(scale * dz))
                j = parameters[following][j]
        return unit * fx, unit * fy, unit * fz

    return jit(of_pairs)


def _bends_node(jit, at):
    difference, start, ids, a, own = _difference_node(jit, at), at["bend_start"], at["bend_ids"], at["bend_a"], at["id"]
    real = np.float64

    def of_bends(i, parameters):
        fx, fy, fz = 0.0, 0.0, 0.0
        number = parameters[own][i]
        for k in range(parameters[start][number], parameters[start][number + 1]):
            first, middle, last = parameters[ids][3 * k], parameters[ids][3 * k + 1], parameters[ids][3 * k + 2]
            ax, ay, az = difference(parameters, first, middle)
            bx, by, bz = difference(parameters, middle, last)
            aa, bb, ab = ax * ax + ay * ay + az * az, bx * bx + by * by + bz * bz, ax * bx + ay * by + az * bz
            scale = real(parameters[a]) / (aa * bb) ** 0.5
            p, q = ab / aa, ab / bb
            if number != last:
                sign = 1.0 if number == first else -1.0
                fx += sign * scale * (p * ax - bx)
                fy += sign * scale * (p * ay - by)
                fz += sign * scale * (p * az - bz)
            if number != first:
                sign = 1.0 if number == last else -1.0
                fx += sign * scale * (ax - q * bx)
                fy += sign * scale * (ay - q * by)
                fz += sign * scale * (az - q * bz)
        return fx, fy, fz

    return jit(of_bends)
