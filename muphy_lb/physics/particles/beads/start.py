"""Where beads start, alone, in chains, or as a file says; and what is bonded to what."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.geometry.nodes import GeometryHeader, NodeList, voxel_coordinates
from muphy_lb.geometry.voxels import FIRST_WALL_NUMBER
from muphy_lb.model.model import POSITION
from muphy_lb.physics.particles.beads.section import BeadsSection, InflowSection
from muphy_lb.physics.particles.files.table import ParticleTable
from muphy_lb.physics.particles.measures import chain_positions

#: Distance along every axis, in voxels, within which there must be fluid around a bead: nearer, walls push it away with
#: a force that grows like the inverse of the distance to the 13th power.
CLEARANCE = 0.45
#: Chains on random walks and in lines that are tried before they are given up, and directions for the next bead of a
#: chain before it starts again.
TRIALS, TRIALS_OF_LINE, TRIALS_OF_STEP = 2000, 20, 100
#: Times that the position of a single bead in its voxel is drawn again before it starts in the middle.
TRIALS_OF_BEAD = 48


class AccessibleVolume:
    """The positions where beads may start: in the fluid, and not nearer to a wall than ``CLEARANCE``.

    Args:
        openings: whether beads may start beside openings, which are no walls to them.

    Attributes:
        axes: (3,) along which of them beads move.
        size: (3,) voxels of the box along x, y and z.
    """

    def __init__(self, nodes: NodeList, dimension: int, openings: bool = False):
        self.axes, self.size = np.arange(3) < dimension, np.array(nodes.shape[::-1])
        self._periodic, self._fluid = np.array(nodes.periodic), np.zeros(tuple(self.size), dtype=bool)
        self._fluid[tuple(nodes.coordinates().T)] = True
        if openings:
            is_opening = nodes.label_number < FIRST_WALL_NUMBER
            self._fluid[tuple(voxel_coordinates(nodes.label_voxel[is_opening], nodes.shape).T)] = True
        around = np.array(np.meshgrid(*[(-CLEARANCE, 0.0, CLEARANCE)] * 3)).reshape(3, -1).T
        self._around = np.unique(around * self.axes, axis=0)

    def nearest_image(self, apart: np.ndarray) -> np.ndarray:
        """Differences (n, 3) of places, to the nearest image of one of them where the box repeats."""
        return apart - np.where(self._periodic, self.size * np.rint(apart / self.size), 0.0)

    def contains(self, voxel, offset: np.ndarray) -> np.ndarray:
        """(...) whether the positions voxel + offset (..., 3) are in it."""
        there = np.asarray(voxel)[..., None, :] + np.floor(offset[..., None, :] + self._around + 0.5).astype(int)
        there = np.where(self._periodic, there % self.size, there)
        inside = ((there >= 0) & (there < self.size)).all(axis=-1)
        x, y, z = np.moveaxis(np.clip(there, 0, self.size - 1), -1, 0)
        return (inside & self._fluid[x, y, z]).all(axis=-1)


class ChainBuilder:
    """Builds chains.

    Args:
        volume: where their beads may be.
        bond: length of the bonds, voxels.
        apart: smallest distance of beads that are not neighbours, voxels.
    """

    def __init__(self, volume: AccessibleVolume, bond: float, apart: float, random: np.random.Generator):
        self._volume, self._bond, self._apart, self._random = volume, bond, apart, random

    def walk(self, first: Callable[[], np.ndarray], length: int) -> np.ndarray:
        """(length, 3) positions [voxels] of a chain on a random walk; ``first`` proposes where it begins. Raises
        InputError: there is not enough room for it."""
        places = np.empty((length, 3))
        for _ in range(TRIALS):
            places[0], n = first(), 1
            while n < length and self._is_free(places[n - 1]):
                step = self._step(places[:n])
                if step is None:
                    break
                places[n], n = places[n - 1] + step, n + 1
            if n == length:
                return places
        raise InputError(
            f"no room was found for a chain of {length} beads; give more room, or fewer and shorter chains"
        )

    def line(self, first: Callable[[], np.ndarray], length: int) -> np.ndarray:
        """(length, 3) positions of a chain along x, folded back where no fluid is ahead; ``first`` proposes where it
        begins. Raises InputError: there is not enough room for it."""
        for _ in range(TRIALS_OF_LINE):
            places = self._line_from(first(), length)
            if places is not None:
                return places
        raise InputError(f"no room was found for a chain of {length} beads in a line; start it elsewhere")

    def _line_from(self, first: np.ndarray, length: int) -> np.ndarray | None:
        places, ahead = np.empty((length, 3)), np.array([self._bond, 0.0, 0.0])
        places[0] = first
        sideways = np.array([[0.0, self._bond, 0.0], [0.0, 0.0, self._bond]])[: 1 + bool(self._volume.axes[2])]
        for n in range(1, length):
            options = [ahead, *sideways, *-sideways]
            step = next((step for step in options if self._fits(places[:n], places[n - 1] + step)), None)
            if step is None:
                return None
            if step is not ahead:
                ahead = -ahead
            places[n] = places[n - 1] + step
        return places

    def _step(self, places: np.ndarray) -> np.ndarray | None:
        for _ in range(TRIALS_OF_STEP):
            direction = self._random.standard_normal(3) * self._volume.axes
            step = self._bond * direction / np.linalg.norm(direction)
            if self._fits(places, places[-1] + step):
                return step
        return None

    def _fits(self, places: np.ndarray, there: np.ndarray) -> bool:
        apart = self._volume.nearest_image(places[:-1] - there)
        is_apart = not len(apart) or (apart**2).sum(axis=1).min() > self._apart**2
        return is_apart and self._is_free(there)

    def _is_free(self, place: np.ndarray) -> bool:
        return bool(self._volume.contains(np.zeros(3, int), place))


def keep_clear(volume: AccessibleVolume, voxel: np.ndarray, offset: np.ndarray, random) -> np.ndarray:
    """Offsets (n, 3) of beads in their voxels, those outside the volume drawn again; in passages of one voxel they
    start in the middle."""
    offset, near = offset.copy(), np.arange(len(voxel))
    for _ in range(TRIALS_OF_BEAD):
        near = near[~volume.contains(voxel[near], offset[near])]
        offset[near] = random.uniform(-0.5, 0.5, (near.size, 3)) * (volume.size > 1)
    offset[near[~volume.contains(voxel[near], offset[near])]] = 0.0
    return offset


def bond_tables(count: int, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Partners of every id: ``partner[start[i]:start[i + 1]]``, in the order of the bonds (m, 2)."""
    ends = np.concatenate((pairs, pairs[:, ::-1]))
    order = np.lexsort((np.tile(np.arange(len(pairs)), 2), ends[:, 0]))
    start = np.concatenate(([0], np.cumsum(np.bincount(ends[:, 0], minlength=count))))
    return start.astype(np.int64), ends[order, 1].astype(np.int64)


def angle_tables(count: int, triples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Angles (k, 3) in which every id takes part, flattened: those of id i are number ``start[i]`` to
    ``start[i + 1]``."""
    ids, number = triples.reshape(-1), np.repeat(np.arange(len(triples)), 3)
    order = np.lexsort((number, ids))
    start = np.concatenate(([0], np.cumsum(np.bincount(ids, minlength=count))))
    return start.astype(np.int64), triples[number[order]].reshape(-1).astype(np.int64)


def chain_bonds(n_chains: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Bonds (m, 2) and angles (k, 3) of chains whose ids follow each other."""
    ids = np.arange(n_chains * length).reshape(n_chains, length)
    pairs = np.stack((ids[:, :-1], ids[:, 1:]), axis=-1).reshape(-1, 2)
    return pairs, angles_along(ids)


def angles_along(ids: np.ndarray) -> np.ndarray:
    """(k, 3) ids of the angles between bonds that follow each other, of chains with the ids (n_chains, length)."""
    return np.stack((ids[:, :-2], ids[:, 1:-1], ids[:, 2:]), axis=-1).reshape(-1, 3)


NOBODY = -1


def linear_chains(count: int, bonds: np.ndarray) -> tuple[np.ndarray, ...]:
    """The chains of ``count`` beads by their bonds (m, 2): for each length an array (k, length) of ids in their order
    along the chain, from the end with the lower id; none if some bonds make branches or rings."""
    start, partner = bond_tables(count, bonds)
    n_partners = np.diff(start)
    if n_partners.max(initial=0) > 2:
        return ()
    here = np.flatnonzero(n_partners == 1)  # all ends at first, then what lies behind them
    before, so_far, found = np.full(here.size, NOBODY), [here], []
    while here.size:
        first, last = partner[start[here]], partner[start[here + 1] - 1]
        here, before = np.where(first != before, first, last), here
        so_far.append(here)
        is_end = n_partners[here] == 1
        if is_end.any():
            found.append(np.stack(so_far, axis=1)[is_end])
            so_far = [ids[~is_end] for ids in so_far]
            here, before = here[~is_end], before[~is_end]
    chains = [each[each[:, 0] < each[:, -1]] for each in found]
    in_chains = sum(each.size for each in chains)
    return tuple(each for each in chains if each.size) if in_chains == (n_partners > 0).sum() else ()


def angles_of(chains: Sequence[np.ndarray]) -> np.ndarray:
    """(k, 3) ids of all angles between bonds that follow each other along chains of any lengths."""
    return np.concatenate([np.empty((0, 3), np.int64), *map(angles_along, chains)])


def unfolded(columns: Mapping[str, np.ndarray], chains: np.ndarray, header: GeometryHeader) -> np.ndarray:
    """(k, length, 3) positions of the beads of chains (k, length), voxels, each beside the one before; ``columns``
    are those of all beads."""
    place = np.stack([columns[v] + columns[o] for v, o in zip(*POSITION, strict=True)], axis=1)
    place = chain_positions(place, columns["id"], chains)
    size = np.where(header.periodic, np.array(header.shape[::-1], float), np.inf)
    bonds = np.diff(place, axis=1)
    with np.errstate(invalid="ignore"):  # infinity times 0, where an axis does not wrap
        bonds = np.where(np.isfinite(size), bonds - size * np.rint(bonds / size), bonds)
    return np.concatenate((place[:, :1], place[:, :1] + np.cumsum(bonds, axis=1)), axis=1)


NO_BONDS, NO_ANGLES = np.empty((0, 2), np.int64), np.empty((0, 3), np.int64)


class Topology(NamedTuple):
    """Beads by their own ids, from 0 on."""

    n_beads: int  #: their number
    bonds: np.ndarray = NO_BONDS  #: (m, 2) ids
    angles: np.ndarray = NO_ANGLES  #: (k, 3) ids, of angles that resist bending
    #: (k, length) ids of the chains of each length, in their order; none if there are branches or rings
    chains: tuple[np.ndarray, ...] = ()
    ids: np.ndarray | None = None  #: (n,) ids of their file; None if these are the own ones
    kinds: tuple[str, ...] = ()  #: names of the kinds that their file has; empty without any
    kind_of_bead: np.ndarray | None = None  #: (n,) numbers of these; None without any

    def joined_by(self, inflow: Sequence[InflowSection]) -> "Topology":
        """With beads that enter, behind the others: their ids follow the largest."""
        entering = [each.count for each in inflow]
        n_beads, ids, names, kind_of_bead = self.n_beads + sum(entering), self.ids, list(self.kinds), self.kind_of_bead
        if ids is not None:
            ids = np.append(ids, ids.max(initial=-1) + 1 + np.arange(sum(entering)))
        if kind_of_bead is not None or any(each.kind for each in inflow):
            own = np.zeros(self.n_beads, np.int64) if kind_of_bead is None else kind_of_bead
            names += [] if kind_of_bead is not None or not self.n_beads else [OTHERS]
            names += sorted({each.kind or OTHERS for each in inflow} - set(names))
            entered = [names.index(each.kind or OTHERS) for each in inflow]
            kind_of_bead = np.append(own, np.repeat(entered, entering))
        return self._replace(n_beads=n_beads, ids=ids, kinds=tuple(names), kind_of_bead=kind_of_bead)


OTHERS = "beads"  # name of the kind of beads that have none beside some that have


def topology_of(section: BeadsSection, found: ParticleTable | None) -> Topology:
    """The beads of a table of the case, or of its file, and those that enter. Raises InputError: the file has bonds, or
    angles, and the table does not say their force, or the other way round."""
    topology = _at_start(section, found)
    return topology.joined_by(section.inflow) if section.inflow else topology


def _at_start(section: BeadsSection, found: ParticleTable | None) -> Topology:
    if found is not None:
        return _of_file(section, found)
    if section.chains is None:
        return Topology(section.count or 0)
    length = section.beads_per_chain or 0
    count = section.chains * length
    return Topology(count, *chain_bonds(section.chains, length), (np.arange(count).reshape(-1, length),))


def _of_file(section: BeadsSection, found: ParticleTable) -> Topology:
    order = np.argsort(found.id)
    ids = found.id[order]
    kinds, kind_of_bead = np.empty(0, str), None
    if found.kind is not None:
        kinds, kind_of_bead = np.unique(found.kind[order], return_inverse=True)
    bonds = np.searchsorted(ids, found.bonds)
    if len(bonds) and section.bonds is None:
        raise InputError(f"particles.{section.name} has bonds in its file but no table bonds that defines their force")
    if section.bonds is not None and not len(bonds):
        raise InputError(
            f"particles.{section.name}.bonds is given, and no bonds are listed; list them in the file or in bonds_file,"
            " or remove bonds"
        )
    chains = linear_chains(ids.size, bonds)
    angles = np.searchsorted(ids, found.angles) if len(found.angles) else angles_of(chains)
    if section.bending_j is not None and not len(angles):
        raise InputError(
            f"particles.{section.name}.bending_j is given, and no angles are listed, nor are there chains of three"
            " beads or more without branches, whose angles are known; list them, or remove bending_j"
        )
    return Topology(ids.size, bonds, angles, chains, ids, tuple(map(str, kinds)), kind_of_bead)


def without_effect(section: BeadsSection, found: ParticleTable) -> Iterator[str]:
    """Distinctions of a file that the table does not keep; one sentence each."""
    kinds = {
        "beads": (None if section.kinds else found.kind, "mass, friction and forces"),
        "bonds": (found.bond_kind, "force"),
        "angles": (found.angle_kind if section.bending_j is not None else None, "resistance to bending"),
    }
    for what, (names, shared) in kinds.items():
        n_kinds = 0 if names is None else len(np.unique(names))
        if n_kinds > 1:
            yield f"the file has {what} of {n_kinds} kinds, which all have the same {shared}"
    if len(found.angles) and section.bending_j is None:
        yield f"the file lists angles ({len(found.angles):,}), and nothing resists bending without bending_j"
