"""The nodes adjacent to walls: their walls, their areas, and statistics over them.

The nodes adjacent to walls: direction and distance of the wall, from the intersections of their links.

The area of the wall that belongs to each node adjacent to it, and which labelled wall it is.

A plane of unit normal n is crossed by |c_q . n| links of direction q per unit area. As the second moment of the weights
is isotropic, sum_q w_q c_a c_b = cs2 delta_ab, the links that leave the fluid through a plane have

    2 / cs2 sum w_q (c_q . n)^2 = 1  per unit area,   so each of them stands for the area  2 / cs2 w_q (c_q . n),

n the normal where it meets the wall, the mean of those of the nodes whose points of the wall are nearest to there: that
of the link's own node, or of any other one, would be off by the curvature of the wall. The nearest of them gets the
area. Exact in the mean over a plane of any direction; of pipes of 8 to 30 voxels radius the areas add up to within 0.5
to 0.02 % of the surface, of spheres of 5 to 14 within 2 to 0.4 %. The tips of corners hold no nodes: of
equilateral triangles 24 to 40 voxels wide 5 to 3 % of the surface are missing, where the shear is least. Walls of
triangles know the area around each link along an axis, also there (:mod:`muphy_lb.geometry.surfaces.surface_areas`).

The patches of the wall over which the stress is averaged: the points of a node and of its neighbours.

Statistics of the wall shear stress and of its indices over parts of the wall, weighted by area.
"""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import config

from muphy_lb.base.remembered import remembered
from muphy_lb.case.boundaries import WallRegionSection, WallThresholdsSection
from muphy_lb.domain.links import is_wall
from muphy_lb.geometry.neighbours import FIRST_WALL_LINK, WALL_LINK, NeighbourSearch
from muphy_lb.geometry.nodes import NodeList, voxel_coordinates
from muphy_lb.geometry.search import distinct
from muphy_lb.lattice import Lattice

if TYPE_CHECKING:
    from scipy.sparse import csr_array

AROUND = np.array([vector for vector in product((-1, 0, 1), repeat=3) if any(vector)])
HALF = 0.5
CHUNK = 1 << 20
LEAST_SPREAD = 1e-3  # second largest variance of a patch [voxel^2] below which it is a line, not a plane
MOST_DISTANCE = 1.5
MOST_ARCH = 0.25
LAYERS = 7  # nodes in a row along the way inwards, that beside the wall among them
FACING = 0.5  # cosine between normals of one patch
LEAST_AREA = 1e-12
LEAST_ALIGNED = 0.6  # cosine between the way inwards and the link to the next node


@dataclass(frozen=True)
class WallSurface:
    """Nodes with a link into a wall and none into an opening's surroundings, m of them, by ascending voxel id."""

    voxel: np.ndarray  #: (m,) int64 voxel ids
    normal: np.ndarray  #: (m, 3) unit vectors out of the fluid
    distance: np.ndarray  #: (m,) distance of the wall along the normal [voxels]
    #: (m, LAYERS - 1) voxel ids of the next nodes inwards, one behind the other; -1 from where there is none
    inwards: np.ndarray
    depth: np.ndarray  #: (m,) distance between two of them along the normal [voxels]; 1 where there is none

    def chosen(self, numbers: np.ndarray) -> "WallSurface":
        """Some of the nodes, by ascending number."""
        return WallSurface(*(getattr(self, each.name)[numbers] for each in fields(self)))


def wall_surface(nodes: NodeList, vectors: np.ndarray) -> WallSurface:
    """Fit a plane to the points where the links of each node and of its neighbours meet the wall.

    Nodes that touch an opening are left out. Where the distance of the wall along a link is unknown, one half is
    used, and the fitted patch is one voxel wider, since those points form a staircase. The distance is that of the arch
    over a curved patch.

    Args:
        vectors: (Q, 3) lattice vectors (x, y, z) along which nodes have links.
    """
    search = NeighbourSearch(nodes)
    vectors = vectors[vectors.any(axis=1)]
    node = _beside_walls(nodes, vectors, search)
    own = hits = _hits(nodes, vectors, node, search)
    around = _around(nodes)
    near = _neighbours_in(node, nodes.n_nodes, around, search)
    outward = _unit(hits.first)
    for _ in range(1 if nodes.cuts is not None else 2):
        hits = hits.with_neighbours(near, around, outward)
    normal, distance = hits.planes(outward, flat=nodes.shape[0] == 1)
    distance = np.clip(distance + _arch(own, near, around, normal), 0.0, MOST_DISTANCE)
    inwards, depth = _inwards(nodes, node, normal, around, search)
    return WallSurface(nodes.voxel[node], normal, distance, inwards, depth)


@dataclass(frozen=True)
class _Hits:
    """Moments of the points where links meet the wall, seen from each node: (m,), (m, 3), (m, 3, 3)."""

    count: np.ndarray
    first: np.ndarray
    second: np.ndarray

    def with_neighbours(self, near, around, outward) -> "_Hits":
        """The moments with those of the neighbours, nearer ones weighted more; walls that face the other way, across a
        narrow gap, do not count."""
        count, first, second = self.count.copy(), self.first.copy(), self.second.copy()
        for vector, index in zip(around, near, strict=True):
            mine = np.flatnonzero(index >= 0)
            mine = mine[(outward[mine] * outward[index[mine]]).sum(axis=1) > 0.0]
            moved, weight = self._moved(index[mine], vector), 1.0 / (1.0 + vector @ vector)
            count[mine] += weight * moved.count
            first[mine] += weight * moved.first
            second[mine] += weight * moved.second
        return _Hits(count, first, second)

    def _moved(self, index, vector) -> "_Hits":
        """Moments of some nodes, seen from nodes that lie ``vector`` before them."""
        count, first = self.count[index], self.first[index]
        cross = first[:, :, None] * vector
        second = self.second[index] + cross + cross.transpose(0, 2, 1) + count[:, None, None] * np.outer(vector, vector)
        return _Hits(count, first + count[:, None] * vector, second)

    def planes(self, outward: np.ndarray, flat: bool) -> tuple[np.ndarray, np.ndarray]:
        """Normal of the plane through the points, and its distance from the node; the mean direction of the links where
        the points lie on a line."""
        mean = self.first / self.count[:, None]
        spread = self.second / self.count[:, None, None] - mean[:, :, None] * mean[:, None, :]
        if flat:
            spread[:, 2, 2] += 1.0  # a plane flow has no normal along z
        variance, axes = np.linalg.eigh(spread)
        normal = np.where((variance[:, 1] > LEAST_SPREAD)[:, None], axes[:, :, 0], outward)
        normal = normal * np.where((normal * outward).sum(axis=1) < 0.0, -1.0, 1.0)[:, None]
        return normal, np.clip((normal * mean).sum(axis=1), 0.0, MOST_DISTANCE)


def _beside_walls(nodes: NodeList, vectors, search) -> np.ndarray:
    """Ascending numbers of the fluid nodes with a link into a wall that touch no opening."""
    found = [np.empty(0, dtype=np.int64)]
    last = int(nodes.group_start[1])
    for first in range(0, last, CHUNK):
        table = search.table(vectors, slice(first, min(first + CHUNK, last)))
        beside = is_wall(table).any(axis=0)
        if search.solid is not None:
            beside &= search.solid[first : first + beside.size] < 0
        found.append(first + np.flatnonzero(beside))
    return np.concatenate(found)


def _hits(nodes: NodeList, vectors, node, search) -> _Hits:
    count, first, second = np.zeros(node.size), np.zeros((node.size, 3)), np.zeros((node.size, 3, 3))
    for vector, code in zip(vectors, search.table(vectors, node), strict=True):
        mine = np.flatnonzero(is_wall(code))
        distance = np.full(mine.size, HALF)
        if nodes.cuts is not None and mine.size:
            known = nodes.cuts.of(nodes.voxel[node[mine]], vector)
            distance = np.where(np.isnan(known), HALF, known)
        count[mine] += 1.0
        first[mine] += distance[:, None] * vector
        second[mine] += (distance**2)[:, None, None] * np.outer(vector, vector)
    return _Hits(count, first, second)


def _neighbours_in(node, n_nodes: int, around, search) -> np.ndarray:
    """(K, m) index in ``node`` of the neighbour along each vector, -1 where it is not among them."""
    index = np.full(n_nodes + 1, -1, dtype=np.int64)
    index[node] = np.arange(node.size)
    return index[np.maximum(search.table(around, node), -1)]


def _around(nodes: NodeList) -> np.ndarray:
    """(K, 3) vectors to the neighbours of a voxel, without those across a single layer."""
    return AROUND[~(AROUND[:, np.array(nodes.shape[::-1]) == 1]).any(axis=1)]


def _arch(own: _Hits, near: np.ndarray, around: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """(m,) distance between the wall and the plane through the points of its patch: a wall that turns by the normals'
    difference lies below its tangent by half of that times the way along it."""
    mean = own.first / own.count[:, None]
    facing = [np.flatnonzero(index >= 0) for index in near]
    facing = [
        mine[(normal[mine] * normal[index[mine]]).sum(axis=1) > 0.0] for mine, index in zip(facing, near, strict=True)
    ]
    patch = list(zip(around, near, facing, strict=True))
    count, centre = own.count.copy(), own.first.copy()
    for vector, index, mine in patch:
        share = own.count[index[mine]] / (1.0 + vector @ vector)
        count[mine] += share
        centre[mine] += share[:, None] * (mean[index[mine]] + vector)
    centre /= count[:, None]
    found = np.zeros(count.size)
    for vector, index, mine in patch:
        share = own.count[index[mine]] / (1.0 + vector @ vector)
        way = mean[index[mine]] + vector - centre[mine]
        found[mine] += share * 0.5 * ((normal[index[mine]] - normal[mine]) * way).sum(axis=1)
    return np.clip(found / count, -MOST_ARCH, MOST_ARCH)


def _inwards(nodes: NodeList, node, normal, around, search) -> tuple[np.ndarray, np.ndarray]:
    """Voxels and depth of the neighbours, one behind the other, along the vector that leads inwards best; none touches
    an opening."""
    last = nodes.group_start[1]
    best, chosen, depth = np.full(node.size, LEAST_ALIGNED), np.full(node.size, -1), np.ones(node.size)
    for number, (vector, far) in enumerate(zip(around, search.table(around, node), strict=True)):
        along = -(normal @ vector)
        better = (far >= 0) & (far < last) & (along / np.linalg.norm(vector) > best)
        best[better] = along[better] / np.linalg.norm(vector)
        chosen[better], depth[better] = number, along[better]
    inwards = np.full((node.size, LAYERS - 1), -1, dtype=np.int64)
    for number, vector in enumerate(around):
        mine = np.flatnonzero(chosen == number)
        far = node[mine]
        for layer in range(LAYERS - 1):
            far = search.table([vector], far)[0].astype(np.int64)
            there = (far >= 0) & (far < last)
            mine, far = mine[there], far[there]
            inwards[mine, layer] = nodes.voxel[far]
    return inwards, depth


def _unit(vectors: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 0.0, length, 1.0)


UNLABELLED = -1
NEAREST = 4
"""Wall points among which that of a link is looked for: the nearest may lie on the other side of a thin wall."""


@dataclass(frozen=True)
class WallAreas:
    """Areas of the m nodes of a wall surface."""

    area: np.ndarray  #: (m,) area of the wall [voxel faces]; 0 where no link meets the wall nearest to its point
    #: (m,) number of the labelled wall that most of the node's links lead to, ``UNLABELLED`` for none
    label: np.ndarray


def wall_areas(nodes: NodeList, surface: WallSurface, lattice: Lattice) -> WallAreas:
    """Area and label of each node. ``surface``: its nodes adjacent to walls; ``lattice``: that of their links."""
    node = nodes.numbers_of(surface.voxel)
    search, n_links, area = NeighbourSearch(nodes), np.zeros((1 + len(nodes.walls), node.size)), np.zeros(node.size)
    crossed = _Crossings(nodes, surface, lattice)
    for q, code in enumerate(search.table(lattice.c, node)):
        into = np.flatnonzero(is_wall(code))
        label = np.where(code[into] == WALL_LINK, UNLABELLED, FIRST_WALL_LINK - code[into].astype(np.int64))
        np.add.at(n_links, (label + 1, into), 1.0)
        area += crossed(into, q)
    return WallAreas(area, n_links.argmax(axis=0) - 1)


class _Crossings:
    """Areas of the wall by the links that cross it; see :func:`wall_areas`."""

    def __init__(self, nodes: NodeList, surface: WallSurface, lattice: Lattice):
        from scipy.spatial import cKDTree

        self._nodes, self._surface, self._lattice = nodes, surface, lattice
        self._position = voxel_coordinates(surface.voxel, nodes.shape).astype(np.float64)
        self._points = cKDTree(self._position + surface.distance[:, None] * surface.normal)

    def __call__(self, into: np.ndarray, q: int) -> np.ndarray:
        """(m,) area for each node of those wall links of nodes ``into`` in a direction that meet the wall nearest to
        its own point of the wall."""
        nodes, surface, lattice = self._nodes, self._surface, self._lattice
        if not into.size:
            return np.zeros(surface.voxel.size)
        vector = lattice.c[q]
        meets = self._position[into] + _distances(nodes, surface.voxel[into], vector)[:, None] * vector
        _, found = self._points.query(meets, min(NEAREST, self._points.n), workers=config.NUMBA_NUM_THREADS)
        found = np.column_stack((np.reshape(found, (into.size, -1)), into))
        normals = surface.normal[found]
        faces = normals @ vector > 0.0
        faces[:, -1] = True
        row, best = np.arange(into.size), faces.argmax(axis=1)
        own = normals[row, best]
        turned = (normals * own[:, None, :]).sum(axis=2) > FACING
        turned[:, -1] = best == found.shape[1] - 1
        normal = _unit((normals * turned[:, :, None]).sum(axis=1))
        by_normal = 2.0 * lattice.w[q] / float(lattice.cs2) * np.maximum(normal @ vector, 0.0)
        known = by_normal if nodes.cuts is None else nodes.cuts.area_of(surface.voxel[into], vector)
        area = np.where(np.isnan(known), by_normal, known)
        return np.bincount(found[row, best], area, surface.voxel.size)


@dataclass(frozen=True)
class WallPatches:
    """Patches of the wall, around k of its nodes, of m nodes in all."""

    surface: WallSurface  #: the m nodes
    areas: WallAreas  #: of these
    centre: np.ndarray  #: (k,) ascending numbers among them of those that the patches lie around
    shares: "csr_array"  #: (k, m) share of each node in the area of each patch; they add up to 1

    def chosen(self, numbers: np.ndarray) -> "WallPatches":
        """Some of the patches, by ascending number, with their nodes alone."""
        rows = self.shares[numbers]
        used = distinct(rows.indices)
        areas = WallAreas(self.areas.area[used], self.areas.label[used])
        centre = np.searchsorted(used, self.centre[numbers])
        return WallPatches(self.surface.chosen(used), areas, centre, rows[:, used])


@remembered
def wall_patches(nodes: NodeList, lattice: Lattice) -> WallPatches:
    """The patch around each node beside a wall: itself and its neighbours beside the same labelled wall that face the
    same way, by their areas, nearer ones weighted more. ``nodes``: the whole geometry; ``lattice``: whose links cross
    the wall."""
    from scipy.sparse import csr_array  # a sixth of a second that other runs need not wait

    surface = wall_surface(nodes, lattice.c)
    areas, around, search = wall_areas(nodes, surface, lattice), _around(nodes), NeighbourSearch(nodes)
    own = np.arange(surface.voxel.size)
    rows, columns, shares = [own], [own], [np.maximum(areas.area, LEAST_AREA)]
    near = _neighbours_in(nodes.numbers_of(surface.voxel), nodes.n_nodes, around, search)
    for vector, index in zip(around, near, strict=True):
        mine = np.flatnonzero(index >= 0)
        other = index[mine]
        is_one = (surface.normal[mine] * surface.normal[other]).sum(axis=1) > FACING
        is_one &= areas.label[mine] == areas.label[other]
        rows.append(mine[is_one])
        columns.append(other[is_one])
        shares.append(areas.area[other[is_one]] / (1.0 + vector @ vector))
    row, share = np.concatenate(rows), np.concatenate(shares)
    share = share / np.bincount(row, share, own.size)[row]
    table = csr_array((share, (row, np.concatenate(columns))), shape=(own.size, own.size))
    return WallPatches(surface, areas, own, table)


def wall_volumes(nodes: NodeList, surface: WallSurface, lattice: Lattice) -> np.ndarray:
    """(m,) volume of the fluid between the voxel faces of each node that lie in the wall and the wall [voxels]; it is
    negative where the wall cuts into the voxels.

    A link along axis i meets the wall at the distance d: the column around it has the volume d - 1/2 beyond the face.
    All columns of one axis make up the whole volume; the axes count by n_i^2, which add up to 1.
    """
    search, node = NeighbourSearch(nodes), nodes.numbers_of(surface.voxel)
    volume = np.zeros(node.size)
    for vector in lattice.c[np.abs(lattice.c).sum(axis=1) == 1]:
        into = np.flatnonzero(is_wall(search.table([vector], node)[0]))
        share = (surface.normal[into] @ vector) ** 2
        volume[into] += share * (_distances(nodes, surface.voxel[into], vector) - HALF)
    return volume


def _distances(nodes: NodeList, voxel: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """(k,) distance of the wall along a vector [its lengths], one half where it is not known."""
    if nodes.cuts is None:
        return np.full(voxel.size, HALF)
    known = nodes.cuts.of(voxel, vector)
    return np.where(np.isnan(known), HALF, known)


PERCENTILES = (5, 50, 95, 99)
WHOLE = "all walls"  # name of the part that is everything; no name of a case has a space in it

COLUMNS = ("wall", "quantity", "area_m2", "mean", "min", *(f"p{number}" for number in PERCENTILES), "max")
BEYOND = ("threshold", "area_beyond_m2", "share_beyond")


class Quantity(NamedTuple):
    """A quantity on the wall."""

    name: str  #: in the summary; the unit is in it
    field: str  #: its name in files of fields
    unit: str  #: its unit
    title: str  #: in tables
    #: its threshold, None for none
    threshold: Callable[[WallThresholdsSection], float | None] = lambda thresholds: None
    is_low: bool = False  #: whether what lies below the threshold is of interest, rather than what lies above


STRESS = Quantity("magnitude_pa", "wall_shear_stress", "Pa", "wall shear stress [Pa]")
INDICES = {
    "tawss": Quantity(
        "time_averaged_pa",
        "time_averaged_wall_shear_stress",
        "Pa",
        "time-averaged, TAWSS [Pa]",
        lambda thresholds: thresholds.low_tawss_pa,
        is_low=True,
    ),
    "osi": Quantity(
        "oscillatory_index",
        "oscillatory_shear_index",
        "1",
        "oscillatory index, OSI",
        lambda thresholds: thresholds.high_osi,
    ),
    "rrt": Quantity(
        "relative_residence_time_1_pa",
        "relative_residence_time",
        "1/Pa",
        "relative residence time, RRT [1/Pa]",
        lambda thresholds: thresholds.rrt_1_pa,
    ),
    "ecap": Quantity(
        "activation_potential_1_pa",
        "endothelial_cell_activation_potential",
        "1/Pa",
        "activation potential, ECAP [1/Pa]",
        lambda thresholds: thresholds.high_ecap_1_pa,
    ),
    "transwss": Quantity(
        "transverse_pa",
        "transverse_wall_shear_stress",
        "Pa",
        "transverse, transWSS [Pa]",
        lambda thresholds: thresholds.high_transwss_pa,
    ),
}
"""The quantities of the attributes of :class:`muphy_lb.measure.shear.wall_shear.WallIndices`."""


def weighted_statistics(values: np.ndarray, area: np.ndarray) -> dict[str, float]:
    """Mean, smallest and largest value and percentiles of (m,) values, each standing for an area; at least one area is
    not 0."""
    values, area = values[area > 0.0], area[area > 0.0]
    marks = np.quantile(values, np.array(PERCENTILES) / 100.0, weights=area, method="inverted_cdf")
    record = {"mean": float((values * area).sum() / area.sum()), "min": float(values.min()), "max": float(values.max())}
    return record | {f"p{number}": float(mark) for number, mark in zip(PERCENTILES, marks, strict=True)}


def part_record(
    quantities: Mapping[Quantity, np.ndarray], area_m2: np.ndarray, mask: np.ndarray, thresholds: WallThresholdsSection
) -> dict:
    """Area, number of nodes and statistics of each quantity (m,) over the part of the wall that ``mask`` marks."""
    total_m2 = float(area_m2[mask].sum())
    record: dict = {"area_m2": total_m2, "n_nodes": int(mask.sum())}
    if not total_m2 > 0.0:
        return record
    for quantity, values in quantities.items():
        record[quantity.name] = found = weighted_statistics(values[mask], area_m2[mask])
        threshold = quantity.threshold(thresholds)
        if threshold is not None:
            is_beyond = values < threshold if quantity.is_low else values > threshold
            beyond_m2 = float(area_m2[mask & is_beyond].sum())
            found |= dict(zip(BEYOND, (threshold, beyond_m2, beyond_m2 / total_m2), strict=True))
    return record


def in_region(section: WallRegionSection, points_m: np.ndarray) -> np.ndarray:
    """(m,) mask of the points (m, 3) [m] that lie in a region of the case."""
    if section.axis_m is None:
        low, high = (np.array(corner) for corner in section.box_m or ())
        return np.all((points_m >= low) & (points_m <= high), axis=1)
    first, last = (np.array(end) for end in section.axis_m)
    arm, length = points_m - first, float(np.linalg.norm(last - first))
    along = arm @ (last - first) / length
    mask = (along >= 0.0) & (along <= length)
    if section.radius_m is not None:
        mask &= np.linalg.norm(arm - np.outer(along, (last - first) / length), axis=1) <= section.radius_m
    return mask


def node_positions_m(nodes: NodeList, voxel: np.ndarray) -> np.ndarray:
    """(m, 3) centres [m] of voxels of a geometry."""
    return np.asarray(nodes.origin_m) + nodes.spacing_m * voxel_coordinates(voxel, nodes.shape)


def parts_of_wall(
    areas: WallAreas, counted: np.ndarray, names: Sequence[str], regions: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Masks (m,) of the parts of the wall by name: all that is counted, each labelled wall of it, each region whole.

    Args:
        areas: of the wall's nodes.
        counted: (m,) mask of the nodes that the statistics count.
        names: of the labelled walls.
        regions: mask of each region of the case.
    """
    labelled = {name: counted & (areas.label == number) for number, name in enumerate(names)}
    if labelled and (counted & (areas.label == UNLABELLED)).any():
        labelled["unlabelled walls"] = counted & (areas.label == UNLABELLED)
    return {WHOLE: counted, **labelled, **regions}


def statistics_table(parts: Mapping[str, Mapping]) -> str:
    """The records of the parts of a wall as CSV: a line for each part and quantity."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*COLUMNS, *BEYOND))
    for name, record in parts.items():
        for quantity in (STRESS, *INDICES.values()):
            found = record.get(quantity.name)
            if found is not None:
                numbers = (found[key] for key in COLUMNS[3:])
                beyond = (found.get(key, "") for key in BEYOND)
                writer.writerow((name, quantity.name, record["area_m2"], *numbers, *beyond))
    return text.getvalue()
