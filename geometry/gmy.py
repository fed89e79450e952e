"""HemeLB geometry files, ``.gmy`` version 4, to Voxels.

The file is big-endian (XDR). Words of four bytes: two magic numbers, the version, blocks along x, y, z, sites along the
edge of a block, a zero; then for each block the number of its fluid sites, its compressed and its plain size in bytes;
then the zlib-compressed blocks that have fluid. Among blocks, the sites of a block and the 26 links of a
site z is fastest and x slowest. A site is a word, 0 for solid, 1 for fluid. A fluid site goes on with its links: 0 (to
fluid), 1 and the distance of the wall, or 2 (inlet), 3 (outlet), the number of that opening and the distance of its
plane; distances are fractions of the link (float). At its end stands 0, or 1 and a wall normal of three floats.
Source: "Geometry File Format" in the developer documentation of HemeLB (github.com/hemelb-codes/hemelb).
"""

import zlib
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numba import njit

from muphy_lb.geometry.cuts import DIRECTIONS
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.flags import FLAG_DTYPE, FLUID, MAX_OPENINGS, SOLID, opening_flag
from muphy_lb.geometry.images.stored import check_inflation, count, read_bytes
from muphy_lb.geometry.link_cuts import Cuts, direction_code, link_keys
from muphy_lb.geometry.options import check_positive
from muphy_lb.geometry.voxels import KINDS, Opening, Voxels

MAGIC = (0x686C6221, 0x676D7904)
VERSION = 4
PREAMBLE_WORDS = 8
WORDS_OF_A_SITE = 1 + 26 * 3 + 4
WALL_LINK_TYPE, INLET_LINK_TYPE, OUTLET_LINK_TYPE = 1, 2, 3
FILE_DIRECTIONS = DIRECTIONS[np.lexsort(DIRECTIONS.T[::-1])]
"""(26, 3) vectors (x, y, z) in the order of the file: z fastest."""

MAX_VOXELS = 2**33
"""Largest box [sites = bytes] that is not taken for a broken header."""

MAX_EDGE = 64
"""Largest edge of a block [sites] that is not taken for a broken header; HemeLB makes blocks of 8."""

FLAT = 0.1
"""Points spread less than this across a line [voxels] do not define a plane."""

BORDER = 1
"""Layers of solid around the sites: room for the voxels of openings."""


class Links(NamedTuple):
    """The links of fluid sites that leave the fluid.

    Attributes:
        site: (m, 3) site coordinates (x, y, z).
        direction: (m,) row of FILE_DIRECTIONS.
        kind: (m,) 1 wall, 2 inlet, 3 outlet.
        number: (m,) of the inlet or outlet; 0 for a wall.
        distance: (m,) fraction of the link at which the wall or the plane of the opening lies.
    """

    site: np.ndarray
    direction: np.ndarray
    kind: np.ndarray
    number: np.ndarray
    distance: np.ndarray

    @property
    def target(self) -> np.ndarray:
        """(m, 3) sites that the links lead to."""
        return self.site + FILE_DIRECTIONS[self.direction]

    def where(self, chosen: np.ndarray) -> "Links":
        """The links of a mask."""
        return Links(*(column[chosen] for column in self))


@dataclass(frozen=True)
class TableWall:
    """A wall shape that looks distances up in a table for a box of ``shape`` (nz, ny, nx) voxels."""

    cuts: Cuts
    shape: tuple[int, int, int]

    def distances(self, start: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Those of the table; see :class:`muphy_lb.geometry.link_cuts.WallShape`."""
        return self.cuts.of(_voxel_ids(np.rint(start).astype(np.int64), self.shape), vector)


def read_gmy(path, spacing_m: float, origin_m=(0.0, 0.0, 0.0)) -> Voxels:
    """Voxels of a HemeLB geometry file, with openings ``inlet_0``, ..., ``outlet_0``, ... as they appear in it.

    The voxels that inlet and outlet links lead to become opening voxels, if at least half of the links into them are
    such links. The centre of an opening is the mean point at which links along the axes cross its plane, its normal
    that of the plane through those points, its radius that of a circle of the same area. ``wall_shape`` is the table of
    the distances in the file.

    Args:
        path: the file.
        spacing_m: edge length of a voxel [m]; version 4 of the format does not hold it.
        origin_m: (x, y, z) of the first site [m].

    Raises:
        GeometryError: the file is missing, truncated, of another kind or version, or has no fluid.
    """
    check_positive(spacing_m=spacing_m)
    fluid, links = read_sites(path)
    fluid = np.pad(fluid, BORDER)
    links = links._replace(site=links.site + BORDER)
    flags = np.where(fluid, FLUID, SOLID).astype(FLAG_DTYPE)
    origin = np.array(origin_m, dtype=np.float64) - BORDER * spacing_m
    voxels = Voxels(flags, float(spacing_m), tuple(origin.tolist()), wall_shape=_table(links, flags.shape))
    return _with_openings(path, voxels, links)


def read_sites(path) -> tuple[np.ndarray, Links]:
    """(nz, ny, nx) truth of the fluid sites of a ``.gmy`` file, and the links that leave the fluid.

    Raises GeometryError as :func:`read_gmy`.
    """
    content = read_bytes(path)
    n_blocks, edge, table, position = _header(path, content)
    fluid = np.zeros(n_blocks * edge, dtype=bool)
    parts = []
    for block, (n_fluid, n_packed, n_plain) in enumerate(table.tolist()):
        if not n_fluid:
            continue
        words = _unpack(path, content[position : position + n_packed], n_plain, edge)
        position += n_packed
        corner = np.array(np.unravel_index(block, n_blocks)) * edge
        inside, links = _read_block(path, words, edge)
        if np.count_nonzero(inside) != n_fluid:
            raise GeometryError(f"cannot read {path}: block {block} holds other than its {n_fluid} fluid sites")
        fluid[tuple(slice(low, low + edge) for low in corner)] = inside
        parts.append(links._replace(site=links.site + corner))
    if not parts:
        raise GeometryError(f"{path} holds no fluid site")
    return np.ascontiguousarray(fluid.T), Links(*(np.concatenate(column) for column in zip(*parts, strict=True)))


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


def _unpack(path, packed: bytes, n_plain: int, edge: int) -> np.ndarray:
    """The words of one block, of which each site has at least one."""
    if n_plain % 4 or not edge**3 <= n_plain // 4 <= edge**3 * WORDS_OF_A_SITE:
        raise GeometryError(f"cannot read {path}: {n_plain} bytes of a block do not describe {edge}^3 sites")
    check_inflation(path, len(packed), n_plain)
    try:
        plain = zlib.decompressobj().decompress(packed, n_plain + 1)
    except zlib.error as error:
        raise GeometryError(f"cannot read {path}: a block is broken ({error})") from error
    if len(plain) != n_plain:
        raise GeometryError(f"cannot read {path}: a block holds {len(plain)} bytes, its header says {n_plain}")
    return np.frombuffer(plain, ">u4").astype(np.uint32)


def _read_block(path, words: np.ndarray, edge: int) -> tuple[np.ndarray, Links]:
    """(edge, edge, edge) truth [x, y, z] of fluid, and the links with sites counted inside the block."""
    n_sites = edge**3
    inside = np.zeros(n_sites, dtype=bool)
    columns = np.empty((4, n_sites * len(FILE_DIRECTIONS)), dtype=np.int64)
    distance = np.empty(columns.shape[1])
    padded = np.concatenate((words, np.zeros(n_sites * WORDS_OF_A_SITE, dtype=np.uint32)))
    n_links, n_read = _scan(padded, padded.view(np.float32), inside, columns, distance)
    if n_read != len(words):
        raise GeometryError(f"cannot read {path}: a block breaks the format at word {min(n_read, len(words))}")
    site, direction, kind, number = columns[:, :n_links]
    place = np.stack(np.unravel_index(site, (edge,) * 3), axis=1)
    return inside.reshape((edge,) * 3), Links(place, direction.copy(), kind.copy(), number.copy(), distance[:n_links])


@njit(cache=True)
def _scan(words, floats, inside, columns, distance):
    """Read the sites of a block; returns the number of links found and of words read, -1 for an unknown link type."""
    n, place = 0, 0
    for site in range(inside.size):
        inside[site] = words[place] == 1
        place += 1
        if not inside[site]:
            continue
        for direction in range(26):
            kind = words[place]
            if kind > OUTLET_LINK_TYPE:
                return n, -1
            if kind > 0:
                columns[0, n], columns[1, n], columns[2, n] = site, direction, kind
                columns[3, n] = 0 if kind == WALL_LINK_TYPE else words[place + 1]
                place += 1 if kind == WALL_LINK_TYPE else 2
                distance[n] = floats[place]
                n += 1
            place += 1
        place += 4 if words[place] == 1 else 1
    return n, place


def _voxel_ids(xyz: np.ndarray, shape) -> np.ndarray:
    return (xyz[:, 2] * shape[1] + xyz[:, 1]) * shape[2] + xyz[:, 0]


def _table(links: Links, shape) -> TableWall:
    voxel, direction = _voxel_ids(links.site, shape), direction_code(FILE_DIRECTIONS)[links.direction]
    order = np.argsort(link_keys(voxel, direction))
    return TableWall(Cuts(voxel[order], direction[order].astype(np.uint8), links.distance[order]), shape)


def _with_openings(path, voxels: Voxels, links: Links) -> Voxels:
    """Flag the opening voxels, inlets first, and describe the openings."""
    tags = sorted({(int(kind), int(number)) for kind, number in zip(links.kind, links.number, strict=True) if kind > 1})
    if len(tags) > MAX_OPENINGS:
        raise GeometryError(f"{path} has {len(tags)} openings; at most {MAX_OPENINGS} are supported")
    flags, target = voxels.flags.copy(), _voxel_ids(links.target, voxels.shape)
    _, place, n_into = np.unique(target, return_inverse=True, return_counts=True)
    openings = []
    for kind, number in tags:
        mine = (links.kind == kind) & (links.number == number)
        n_mine = np.bincount(place, weights=mine)
        opened = target[mine & (2 * n_mine >= n_into)[place]]
        flags.ravel()[opened] = opening_flag(len(openings))
        openings.append(_opening(voxels, f"{KINDS[kind - INLET_LINK_TYPE]}_{number}", links.where(mine)))
    return replace(voxels, flags=flags, openings=tuple(openings))


def _opening(voxels: Voxels, name: str, links: Links) -> Opening:
    """Centre, normal and radius of the plane disc that these links cross."""
    vectors = FILE_DIRECTIONS[links.direction]
    points = links.site + links.distance[:, np.newaxis] * vectors
    outward = vectors.sum(axis=0)
    spread, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[1:]
    normal = axes[-1] if len(spread) == 3 and spread[1] > FLAT else outward / max(np.linalg.norm(outward), 1.0)
    normal = -np.sign(outward @ normal) * normal
    area = np.where(np.abs(vectors).sum(axis=1) == 1, np.clip(-vectors @ normal, 0.0, None), 0.0)
    if not area.sum() > 0.0:
        raise GeometryError(f"{name} has no link along an axis that leads into it; it is no opening of a vessel")
    centre = np.array(voxels.origin_m) + voxels.spacing_m * np.average(points, axis=0, weights=area)
    radius_m = float(np.sqrt(area.sum() / np.pi)) * voxels.spacing_m
    return Opening(name, name.partition("_")[0], tuple(centre.tolist()), tuple(normal.tolist()), radius_m)
