"""Reader of HemeLB geometry files (``.gmy``, version 4).

The file is big-endian (XDR). Words of four bytes: two magic numbers, the version, blocks along x, y, z, sites along the
edge of a block, a zero; then for each block the number of its fluid sites, its compressed and uncompressed size
[bytes]; then the zlib-compressed blocks that contain fluid. In the order of blocks, of the sites of a block and of the
26 links of a site, z is fastest and x slowest. A site is a word, 0 for solid, 1 for fluid. A fluid site is followed by
its links: 0 (to fluid); 1 (wall) and the distance of the wall; or 2 (inlet), 3 (outlet), the number of that opening and
the distance of its plane. Distances are fractions of the link (float). A site ends with 0, or with 1 and a wall normal
of three floats.
Source: "Geometry File Format" in the developer documentation of HemeLB (github.com/hemelb-codes/hemelb).
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from muphy_lb.base.kept.functions import njit
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.stored import check_inflation, count, read_bytes
from muphy_lb.geometry.limits import ask_for_voxels, inflate
from muphy_lb.geometry.link_cuts import Cuts, direction_code, link_keys
from muphy_lb.geometry.neighbours import DIRECTIONS
from muphy_lb.geometry.options import check_positive, vector
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, KINDS, MAX_OPENINGS, SOLID, Opening, Voxels, opening_flag

MAGIC = (0x686C6221, 0x676D7904)
VERSION = 4
PREAMBLE_WORDS = 8
MAX_WORDS_PER_SITE = 1 + 26 * 3 + 4
WALL_LINK_TYPE, INLET_LINK_TYPE, OUTLET_LINK_TYPE = 1, 2, 3
#: (26, 3) vectors (x, y, z) in the order of the file: z fastest.
FILE_DIRECTIONS = DIRECTIONS[np.lexsort(DIRECTIONS.T[::-1])]
MAX_VOXELS = 2**33  # largest box [sites = bytes] accepted; a larger one indicates a corrupt header
SLACK = 1e-3  # fraction of a link by which a wall or an opening may lie beyond its end (rounding)

#: Largest edge of a block [sites] accepted; a larger one indicates a corrupt header (HemeLB writes blocks of 8).
MAX_EDGE = 64
BYTES_PER_SITE = 6  # the mask of the fluid, its copies with another order and a border, and the flags
COLLINEAR = 0.1  # points whose second singular value is below this [voxels] are collinear: they do not define a plane
BORDER = 1  # layers of solid added around the sites, to accommodate the voxels of openings


class Links(NamedTuple):
    """Links from fluid sites that lead out of the fluid."""

    site: np.ndarray  #: (m, 3) site coordinates (x, y, z)
    direction: np.ndarray  #: (m,) row of FILE_DIRECTIONS
    kind: np.ndarray  #: (m,) 1 wall, 2 inlet, 3 outlet
    number: np.ndarray  #: (m,) of the inlet or outlet; 0 for a wall
    distance: np.ndarray  #: (m,) fraction of the link at which the wall or the plane of the opening lies

    @property
    def target(self) -> np.ndarray:
        """(m, 3) sites that the links lead to."""
        return self.site + FILE_DIRECTIONS[self.direction]

    def where(self, chosen: np.ndarray) -> "Links":
        """The links selected by a mask (m,)."""
        return Links(*(column[chosen] for column in self))


@dataclass(frozen=True)
class TabulatedWall:
    """A wall shape given by tabulated cut distances, for a box of ``shape`` (nz, ny, nx) voxels."""

    cuts: Cuts
    shape: tuple[int, int, int]

    def distances(self, start: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Tabulated distances, NaN where there is none; see :class:`muphy_lb.geometry.link_cuts.WallShape`."""
        return self.cuts.of(_voxel_ids(np.rint(start).astype(np.int64), self.shape), vector)


def read_gmy(path, spacing_m: float, origin_m=(0.0, 0.0, 0.0)) -> Voxels:
    """Voxels of a HemeLB geometry file, with openings ``inlet_0``, ..., ``outlet_0``, ... as numbered in the file.

    The voxels that inlet and outlet links lead to become opening voxels, if at least half of the links into them are
    such links. The centre of an opening is the mean point at which links along the axes cross its plane, its normal
    that of the plane through those points, its radius that of a circle of the same area. ``wall_shape`` is the table of
    the distances in the file.

    Args:
        spacing_m: edge length of a voxel [m]; version 4 of the format does not store it.
        origin_m: (x, y, z) of the first site [m].

    Raises GeometryError: the file is missing, truncated, of another kind or version, or has no fluid.
    """
    check_positive(spacing_m=spacing_m)
    origin = vector("origin_m", origin_m, 3) - BORDER * spacing_m
    fluid, links = read_sites(path)
    fluid = np.pad(fluid, BORDER)
    links = links._replace(site=links.site + BORDER)
    flags = np.where(fluid, FLAG_DTYPE(FLUID), FLAG_DTYPE(SOLID))
    voxel, direction = _voxel_ids(links.site, flags.shape), direction_code(FILE_DIRECTIONS)[links.direction]
    order = np.argsort(link_keys(voxel, direction))
    cuts = Cuts(voxel[order], direction[order].astype(np.uint8), links.distance[order])
    voxels = Voxels(flags, float(spacing_m), tuple(origin.tolist()), wall_shape=TabulatedWall(cuts, flags.shape))
    return _with_openings(path, voxels, links)


def read_sites(path) -> tuple[np.ndarray, Links]:
    """(nz, ny, nx) bool mask of the fluid sites of a ``.gmy`` file, and the links that leave the fluid. Raises
    GeometryError as :func:`read_gmy`."""
    content = read_bytes(path)
    n_blocks, edge, table, position = _header(path, content)
    ask_for_voxels(n_blocks[::-1] * edge, BYTES_PER_SITE, f"the box of {path}")
    fluid = np.zeros(n_blocks * edge, dtype=bool)
    block_links = []
    for block, (n_fluid, n_packed, n_plain) in enumerate(table.tolist()):
        if not n_fluid:
            continue
        packed = content[position : position + n_packed]
        if n_plain % 4 or not edge**3 <= n_plain // 4 <= edge**3 * MAX_WORDS_PER_SITE:
            raise GeometryError(f"cannot read {path}: {n_plain} bytes of a block do not describe {edge}^3 sites")
        check_inflation(path, len(packed), n_plain)
        words = np.frombuffer(inflate(path, packed, n_plain), ">u4").astype(np.uint32)
        position += n_packed
        corner = np.array(np.unravel_index(block, n_blocks)) * edge
        inside, links = _read_block(path, words, edge)
        if np.count_nonzero(inside) != n_fluid:
            raise GeometryError(f"cannot read {path}: block {block} does not hold its {n_fluid} fluid sites")
        fluid[tuple(slice(low, low + edge) for low in corner)] = inside
        block_links.append(links._replace(site=links.site + corner))
    if not block_links:
        raise GeometryError(f"{path} holds no fluid site")
    return np.ascontiguousarray(fluid.T), Links(*(np.concatenate(column) for column in zip(*block_links, strict=True)))


def _header(path, content: bytes) -> tuple[np.ndarray, int, np.ndarray, int]:
    """(blocks along x, y, z; sites along a block; (blocks, 3) table; position of the first block)."""
    words = np.frombuffer(content[: 4 * (len(content) // 4)], ">u4").astype(np.int64)
    if len(words) < PREAMBLE_WORDS or tuple(words[:2]) != MAGIC:
        raise GeometryError(f"cannot read {path}: it is not a HemeLB geometry file")
    if words[2] != VERSION:
        raise GeometryError(f"{path} is a HemeLB geometry of version {words[2]}; only version {VERSION} is supported")
    n_blocks, edge = words[3:6], int(words[6])
    end = PREAMBLE_WORDS + 3 * count(n_blocks)
    table = words[PREAMBLE_WORDS:end].reshape(-1, 3) if len(words) >= end else np.empty((0, 3), np.int64)
    if not len(table) or len(content) != 4 * end + table[:, 1].sum():
        raise GeometryError(f"cannot read {path}: it holds {len(content)} bytes, which is not what its header says")
    if edge > MAX_EDGE or count(n_blocks) * edge**3 > MAX_VOXELS:
        raise GeometryError(
            f"cannot read {path}: its header says {' x '.join(map(str, n_blocks))} blocks of {edge}^3 sites; at most"
            f" {MAX_EDGE}^3 sites a block and {MAX_VOXELS:.1e} in all are allowed"
        )
    return n_blocks, edge, table, 4 * end


def _read_block(path, words: np.ndarray, edge: int) -> tuple[np.ndarray, Links]:
    """(edge, edge, edge) bool mask [x, y, z] of fluid, and the links, with site coordinates relative to the block."""
    n_sites = edge**3
    inside = np.zeros(n_sites, dtype=bool)
    columns = np.empty((4, n_sites * len(FILE_DIRECTIONS)), dtype=np.int64)
    distance = np.empty(columns.shape[1])
    padded = np.concatenate((words, np.zeros(n_sites * MAX_WORDS_PER_SITE, dtype=np.uint32)))
    n_links, n_read = _scan(padded, padded.view(np.float32), inside, columns, distance)
    if n_read != len(words):
        raise GeometryError(f"cannot read {path}: a block breaks the format at word {min(n_read, len(words))}")
    outside = distance[:n_links][~((distance[:n_links] >= 0.0) & (distance[:n_links] <= 1.0 + SLACK))]
    if outside.size:
        raise GeometryError(f"cannot read {path}: a link is cut at {outside[0]:g} of its length; it must be 0 to 1")
    site, direction, kind, number = columns[:, :n_links]
    coordinates = np.stack(np.unravel_index(site, (edge,) * 3), axis=1)
    links = Links(coordinates, direction.copy(), kind.copy(), number.copy(), distance[:n_links])
    return inside.reshape((edge,) * 3), links


@njit(cache=True)
def _scan(words, floats, inside, columns, distance):
    """Read the sites of a block; returns the number of links found and of words read, -1 for an unknown link type."""
    n, position = 0, 0
    for site in range(inside.size):
        inside[site] = words[position] == 1
        position += 1
        if not inside[site]:
            continue
        for direction in range(26):
            kind = words[position]
            if kind > OUTLET_LINK_TYPE:
                return n, -1
            if kind > 0:
                columns[0, n], columns[1, n], columns[2, n] = site, direction, kind
                columns[3, n] = 0 if kind == WALL_LINK_TYPE else words[position + 1]
                position += 1 if kind == WALL_LINK_TYPE else 2
                distance[n] = floats[position]
                n += 1
            position += 1
        position += 4 if words[position] == 1 else 1
    return n, position


def _voxel_ids(xyz: np.ndarray, shape) -> np.ndarray:
    return (xyz[:, 2] * shape[1] + xyz[:, 1]) * shape[2] + xyz[:, 0]


def _with_openings(path, voxels: Voxels, links: Links) -> Voxels:
    """Flag the opening voxels and add the records of the openings, inlets first."""
    tags = sorted({(int(kind), int(number)) for kind, number in zip(links.kind, links.number, strict=True) if kind > 1})
    if len(tags) > MAX_OPENINGS:
        raise GeometryError(f"{path} has {len(tags)} openings; at most {MAX_OPENINGS} are supported")
    flags = voxels.flags.copy()
    target = _voxel_ids(links.target, voxels.shape)
    _, target_index, n_into = np.unique(target, return_inverse=True, return_counts=True)
    openings: list[Opening] = []
    for kind, number in tags:
        mine = (links.kind == kind) & (links.number == number)
        n_mine = np.bincount(target_index, weights=mine)
        is_opening = (2 * n_mine >= n_into)[target_index]  # at least half of the links into the voxel
        flags.ravel()[target[mine & is_opening]] = opening_flag(len(openings))
        openings.append(_opening(voxels, f"{KINDS[kind - INLET_LINK_TYPE]}_{number}", links.where(mine)))
    return replace(voxels, flags=flags, openings=tuple(openings))


def _opening(voxels: Voxels, name: str, links: Links) -> Opening:
    """The plane disc that these links cross: the plane is fitted to the crossing points."""
    vectors = FILE_DIRECTIONS[links.direction]
    points = links.site + links.distance[:, np.newaxis] * vectors
    outward = vectors.sum(axis=0)
    spread, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[1:]
    normal = axes[-1] if len(spread) == 3 and spread[1] > COLLINEAR else outward / max(np.linalg.norm(outward), 1.0)
    normal = -np.sign(outward @ normal) * normal
    area = np.where(np.abs(vectors).sum(axis=1) == 1, np.clip(-vectors @ normal, 0.0, None), 0.0)
    if not area.sum() > 0.0:
        raise GeometryError(f"{name} has no link along an axis that leads into it; it cannot be an opening of a vessel")
    centre = np.array(voxels.origin_m) + voxels.spacing_m * np.average(points, axis=0, weights=area)
    radius_m = float(np.sqrt(area.sum() / np.pi)) * voxels.spacing_m
    return Opening(name, name.partition("_")[0], tuple(centre.tolist()), tuple(normal.tolist()), radius_m)
