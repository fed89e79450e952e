"""Bubbles: regions of gas with a pressure of their own, which follows from the volume that is left to them.

Connected components of a rank's nodes, its ghost nodes among them.

The connected regions of gas, on any ranks.

Gas cells are connected by the links of the lattice, also through an interface cell between them; two interface cells do
not connect, so that a film of two of them keeps bubbles apart. An interface cell without gas beside it belongs to the
region of the interface cells around it; if these belong to none, such cells are regions of their own.

A bubble keeps p V^gamma. Its content is the volume V_0 that its gas would fill at the absolute pressure p_0, so that
p = p_0 (V_0 / V)^gamma; bubbles that merge add up their contents, parts of one share it by volume (Koerner, Thies,
Hofmann, Thuerey, Ruede, J. Stat. Phys. 121, 179 (2005), with gamma = 1, where it is the amount of gas). Contents and
volumes are integers: their sums are exact in any order, and no gas is lost but that of regions that liquid has filled.

Between two measurements of the volumes the liquid feels one pressure: that of the volume half an interval ahead, as it
grew before. With the volume as measured, a pressure that comes late drives what oscillates on it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.kept.functions import njit
from muphy_lb.base.units import CS2, Units
from muphy_lb.domain.local import CHUNK_NODES, LocalDomain
from muphy_lb.geometry.clean import root
from muphy_lb.geometry.nodes import GeometryHeader, voxel_coordinates
from muphy_lb.model.action import Action, RankArrays
from muphy_lb.model.model import Table
from muphy_lb.physics.free_surface.cells import BUBBLE, CELL, FILL, GAS, INTERFACE, is_liquid

OUT, JOINED, JOINING = 0, 1, 2
"""A node that belongs to no component; one that is linked to ``JOINING`` nodes; one that is linked to both kinds."""


def components(domain: LocalDomain, kind: np.ndarray) -> np.ndarray:
    """(pitch + ghosts,) the first node of the component of each node, by the links of its lattice.

    Args:
        domain: the nodes of a rank.
        kind: (pitch + ghosts,) uint8, ``OUT``, ``JOINED`` or ``JOINING``.
    """
    first_of = np.arange(kind.size)
    nodes = np.flatnonzero(kind[: domain.n_nodes])
    for first in range(0, nodes.size, CHUNK_NODES):
        some = nodes[first : first + CHUNK_NODES]
        _join(first_of, some, domain.neighbours_with_ghosts(domain.lattice.c[1:], some), kind)
    _settle(first_of)
    return first_of


@njit(cache=True)
def _join(first_of, nodes, beside, kind):
    """Join the components of nodes (m,) with those of their linked neighbours among (Q - 1, m)."""
    for k in range(nodes.size):
        for q in range(beside.shape[0]):
            far = beside[q, k]
            if far >= 0 and kind[far] and (kind[far] == JOINING or kind[nodes[k]] == JOINING):
                one, other = root(first_of, nodes[k]), root(first_of, far)
                first_of[max(one, other)] = min(one, other)


@njit(cache=True)
def _settle(first_of):
    """Set the first node of the component of every node."""
    for node in range(first_of.size):
        first_of[node] = first_of[first_of[node]]


NOWHERE = -1  # label of liquid cells
OF_THEIR_OWN = np.int64(1) << 62  # added to the labels of cells without gas beside them: every other label is smaller


def region_labels(rank: RankArrays, cell: np.ndarray) -> np.ndarray:
    """(n,) smallest voxel id of the region that each cell (n,) belongs to, int64, ``NOWHERE`` in liquid; collective."""
    voxel = np.asarray(rank.domain.voxel, dtype=np.int64)
    kind = np.select([cell == GAS, cell == INTERFACE], [JOINING, JOINED], OUT).astype(np.uint8)
    label, is_alone = _spread(rank, kind, voxel)
    is_alone &= cell == INTERFACE
    if rank.communicator.total(int(is_alone.sum())):
        beside = _smallest_beside(rank, np.where(is_alone | (cell != INTERFACE), OF_THEIR_OWN, label), is_alone)
        start = np.where(beside < OF_THEIR_OWN, beside, OF_THEIR_OWN + voxel)
        found, _ = _spread(rank, np.where(is_alone, JOINING, OUT).astype(np.uint8), start)
        label = np.where(is_alone, np.where(found < OF_THEIR_OWN, found, found - OF_THEIR_OWN), label)
    return np.where(is_liquid(cell), NOWHERE, label)


def _spread(rank: RankArrays, kind: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n,) smallest of the values (n,) in the component of each node, over all ranks, and (n,) whether it is alone."""
    first_of = components(rank.domain, rank.with_ghosts(kind))
    own, is_alone = first_of[: values.size], np.bincount(first_of)[first_of[: values.size]] == 1
    has_changed = True
    while has_changed:
        whole = rank.with_ghosts(values)
        np.minimum.at(whole, first_of, whole.copy())
        has_changed = rank.communicator.total(int((whole[own] != values).sum())) > 0
        values = whole[own]
    return values, is_alone


def _smallest_beside(rank: RankArrays, values: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """(n,) smallest of the values (n,) at the neighbours of chosen nodes, ``OF_THEIR_OWN`` without one."""
    whole, found = rank.with_ghosts(values), np.full(values.size, OF_THEIR_OWN)
    nodes = np.flatnonzero(chosen)
    for codes in rank.domain.neighbours_with_ghosts(rank.domain.lattice.c[1:], nodes):
        found[nodes] = np.where(codes >= 0, np.minimum(found[nodes], whole[codes]), found[nodes])
    return found


VOXEL = 1 << 30  # volume of a voxel in the unit in which volumes are counted
MOST_REGIONS = 1 << 20  # numbers up to which are exact in single precision, in which checkpoints may hold them


@dataclass(frozen=True)
class GasLaw:
    """Pressures as densities of the lattice."""

    absolute: float  #: density of the absolute pressure p_0
    deviation: float  #: density, minus 1, of the same pressure relative to the reference pressure
    gamma: float  #: exponent
    largest: float  #: largest deviation that a pressure may have

    def change(self, content: np.ndarray, volume: np.ndarray) -> np.ndarray:
        """(k,) density of the pressure of gas less that of p_0, within the limits of the lattice."""
        ratio = content / np.maximum(volume, 1)
        change = self.absolute * (ratio**self.gamma - 1.0)
        return np.clip(change, -self.largest - self.deviation, self.largest - self.deviation)

    def content(self, volume: np.ndarray, change: np.ndarray) -> np.ndarray:
        """(k,) volume at p_0 of gas that fills a volume at a pressure; inverse of :meth:`change`."""
        ratio = np.maximum(1.0 + change / self.absolute, 0.0) ** (1.0 / self.gamma)
        return np.rint(volume * ratio).astype(np.int64)


@dataclass(frozen=True, eq=False)
class GasRegions:
    """The regions of gas, by ascending label, on every rank."""

    label: np.ndarray  #: (k,) smallest voxel id
    volume: np.ndarray  #: (k,) volume, as of its last measurement, in units of 1 / ``VOXEL`` voxels
    growth: np.ndarray  #: (k,) how much larger it is than at the measurement before
    content: np.ndarray  #: (k,) volume at the pressure p_0
    is_open: np.ndarray  #: (k,) bool, whether the pressure stays

    @property
    def volume_ahead(self) -> np.ndarray:
        """(k,) volume after half the interval to the next measurement, if it continues as before."""
        return np.maximum(self.volume + 0.5 * self.growth, 0.5 * self.volume)


class OpenGas:
    """Regions in which gas keeps the pressure p_0: beside outlets, and in a box.

    Args:
        section: the table ``[free_surface.bubbles]`` of the case.
        header: of the geometry.
    """

    def __init__(self, section, header: GeometryHeader):
        self._box_m, self._header, self.shape = section.atmosphere_m, header, header.shape
        is_outlet = [section.outlets_are_open and opening.kind == "outlet" for opening in header.openings]
        self._is_outlet = np.array(is_outlet, dtype=bool)

    def check(self, view) -> None:
        """Refuse a box without a voxel; collective. ``view``: the flow, of which ranks and nodes are looked at. Raises
        InputError: there is no voxel in it."""
        if self._box_m is not None and not view.communicator.total(int(self._in_box(view).sum())):
            raise InputError(
                f"free_surface.bubbles.atmosphere_m: no voxel of the geometry lies in the box from {self._box_m[0]} to"
                f" {self._box_m[1]}; move or enlarge it"
            )

    def cells(self, rank: RankArrays) -> np.ndarray:
        """(n,) whether each cell lies there."""
        found, links = np.zeros(rank.domain.n_nodes, dtype=bool), rank.domain.links
        found[links.node[self._is_outlet[links.boundary]]] = True
        return found if self._box_m is None else found | self._in_box(rank)

    def _in_box(self, rank: RankArrays) -> np.ndarray:
        place = voxel_coordinates(rank.domain.voxel, self._header.shape)
        place_m = np.asarray(self._header.origin_m) + self._header.spacing_m * place
        low_m, high_m = self._box_m
        return ((place_m >= low_m) & (place_m <= high_m)).all(axis=1)


@dataclass(frozen=True)
class GasSphere:
    """A sphere of gas in the liquid at the start, in voxels from the centre of the first one."""

    centre: np.ndarray  #: (3,)
    radius: float
    change: float | None  #: density of its pressure less that of p_0; None: that of the liquid and of surface tension
    tension: float  #: density that surface tension adds to that of the liquid

    def holds(self, rank: RankArrays, shape) -> np.ndarray:
        """(n,) whether the centre of each voxel lies in it."""
        place = voxel_coordinates(rank.domain.voxel, shape)
        return ((place - self.centre) ** 2).sum(axis=1) < self.radius**2


class Bubbles(Action):
    """Follows the regions of gas.

    Args:
        law: of the gas.
        section: the table ``[free_surface.bubbles]`` of the case.
        open_gas: where gas keeps the pressure p_0.
        real: number format of the pressures.
        n_nodes: of all ranks.
        is_hydrostatic: whether gas starts with the pressure of the liquid around it; else with p_0.
        spheres: of gas that the case gives.

    Attributes:
        regions: the regions at the last step that measured them.
        dissolved: content of regions that were filled with liquid, since the start.
        table: pressures of the regions, for the device.
    """

    name, single = "bubbles", ("dissolved",)

    def __init__(self, law: GasLaw, section, open_gas: OpenGas, real, n_nodes: int, is_hydrostatic: bool, spheres=()):
        self.law, self._open_gas, self._is_hydrostatic, self._spheres = law, open_gas, is_hydrostatic, spheres
        self.every, self._search_every = section.pressure_every_steps, section.regions_every_steps
        self.table = Table(np.zeros(min(n_nodes, MOST_REGIONS), real))
        none = np.zeros(0, np.int64)
        self.regions, self.dissolved = GasRegions(none, none, none, none, none.astype(bool)), 0

    def pressure_pa(self, units: Units) -> np.ndarray:
        """(k,) pressure of each region [Pa]."""
        deviation = self.law.deviation + self.law.change(self.regions.content, self.regions.volume)
        return units.reference_pressure_pa + units.pascals_per_density(CS2) * deviation

    def is_limited(self) -> np.ndarray:
        """(k,) whether the pressure of each region would be beyond the limits of the lattice."""
        change = self.law.change(self.regions.content, self.regions.volume)
        return np.abs(self.law.deviation + change) >= self.law.largest * (1.0 - 1e-9)

    def check(self, view, cell: np.ndarray) -> None:
        """Refuse a start without bubbles; collective.

        Args:
            view: the flow.
            cell: (n,) what each cell is at the start.

        Raises InputError: there is no gas, or no voxel in a sphere or in the box of the atmosphere.
        """
        self._open_gas.check(view)
        for number, sphere in enumerate(self._spheres):
            if not view.communicator.total(int(sphere.holds(view, view.header.shape).sum())):
                raise InputError(
                    f"free_surface.bubbles.spheres[{number}]: the centre of no voxel of fluid lies in it; move it into"
                    " the liquid, or make it larger"
                )
        if not view.communicator.total(int((cell == GAS).sum())):
            raise InputError(
                "[free_surface.bubbles]: no voxel of the geometry is gas at the start; make room in"
                " [[free_surface.liquid]], or leave out the table"
            )

    def start(self, rank: RankArrays) -> None:
        """Find the regions of gas."""
        cell, gas = rank.get(CELL), self._gas(rank)
        label, number = self._search(rank, cell)
        volume = _sums(rank, number, gas, label.size)
        change = self._start_pressure(rank, cell, number, label.size)
        self._fill_spheres(rank, np.where(cell == GAS, number, -1), change)
        content = self.law.content(volume, change)
        self.dissolved = 0
        is_open = self._open(rank, number, label.size)
        self._set(rank, GasRegions(label, volume, np.zeros_like(volume), content, is_open))

    def act(self, rank: RankArrays, step: int) -> None:
        """Measure the volumes; at some steps, search for the regions."""
        gas, number = self._gas(rank), rank.get(BUBBLE)
        if step % self._search_every:
            volume = _sums(rank, np.where(gas > 0, number, -1), gas, self.regions.label.size)
            self._set(rank, replace(self.regions, volume=volume, growth=volume - self.regions.volume))
            return
        label, found = self._search(rank, rank.get(CELL))
        parts = _overlaps(rank, number, found, gas)
        held = np.where(self.regions.is_open, _per_old(parts, self.regions.label.size), self.regions.content)
        content, lost = shared(held, parts, label.size)
        self.dissolved += int(lost.sum())
        volume, (before, _) = _sums(rank, found, gas, label.size), shared(self.regions.volume, parts, label.size)
        is_open = self._open(rank, found, label.size)
        self._set(rank, GasRegions(label, volume, volume - before, content, is_open))

    def state(self) -> Mapping[str, np.ndarray]:
        """The regions."""
        return {**vars(self.regions), "dissolved": np.array([self.dissolved])}

    def restore(self, rank: RankArrays, state: Mapping[str, np.ndarray]) -> None:
        """Continue from them."""
        found = dict(state)
        self.dissolved = int(found.pop("dissolved")[0])
        self._set(rank, GasRegions(**found))

    def _set(self, rank: RankArrays, regions: GasRegions) -> None:
        """Hand the device the pressures of regions; open ones hold what fits into them."""
        content = np.where(regions.is_open, regions.volume, regions.content)
        self.regions = replace(regions, content=content)
        change = np.where(regions.is_open, 0.0, self.law.change(content, regions.volume_ahead))
        self.table.array[: content.size] = change
        rank.refresh(self.table)

    def _gas(self, rank: RankArrays) -> np.ndarray:
        """(n,) volume of gas in every cell."""
        cell, fill = rank.get(CELL), rank.get(FILL).astype(np.float64)
        held = np.where(cell == INTERFACE, 1.0 - np.clip(fill, 0.0, 1.0), cell == GAS)
        return np.rint(VOXEL * held).astype(np.int64)

    def _search(self, rank: RankArrays, cell: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(k,) labels of the regions, and (n,) number of the one of each cell, -1 in liquid; the field holds 0 there.
        Raises InputError: there are too many regions."""
        label_of = region_labels(rank, cell)
        has_gas = label_of >= 0
        label = np.unique(np.array(rank.communicator.total(np.unique(label_of[has_gas]).tolist()), dtype=np.int64))
        if label.size > self.table.array.size:
            raise InputError(
                f"[free_surface.bubbles]: {label.size:,} separate regions of gas; allowed: {self.table.array.size:,};"
                " leave out the table, so that all gas has one pressure"
            )
        number = np.where(has_gas, np.searchsorted(label, label_of), -1)
        rank.set(BUBBLE, np.maximum(number, 0))
        return label, number

    def _open(self, rank: RankArrays, number: np.ndarray, count: int) -> np.ndarray:
        """(count,) whether each region reaches a place where the pressure stays."""
        return _sums(rank, number, self._open_gas.cells(rank).astype(np.int64), count) > 0

    def _fill_spheres(self, rank: RankArrays, number: np.ndarray, change: np.ndarray) -> None:
        """Set the pressures (k,) of regions, as of :meth:`_start_pressure`, that are the spheres of the case;
        ``number``: (n,) of the one of each gas cell, else -1."""
        for sphere in self._spheres:
            inside = np.where(sphere.holds(rank, self._open_gas.shape), number, -1)
            found = int(rank.communicator.maximum(int(inside.max(initial=-1))))
            if found >= 0 and sphere.change is not None:
                change[found] = sphere.change
            elif found >= 0 and self._is_hydrostatic:
                change[found] += sphere.tension

    def _start_pressure(self, rank: RankArrays, cell: np.ndarray, number: np.ndarray, count: int) -> np.ndarray:
        """(count,) density of the pressure of each region at the start, less that of p_0: the mean of the liquid in its
        interface cells."""
        if not self._is_hydrostatic:
            return np.zeros(count)
        beside = np.where(cell == INTERFACE, number, -1)
        deviation = np.rint(VOXEL * rank.moments()[0].astype(np.float64)).astype(np.int64)
        total = _sums(rank, beside, deviation, count)
        n_cells = _sums(rank, beside, np.ones_like(deviation), count)
        return np.where(n_cells > 0, total / np.maximum(n_cells, 1) / VOXEL - self.law.deviation, 0.0)


def _sums(rank: RankArrays, number: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """(count,) sums over all ranks of integers (n,) by number (n,), which is -1 where they do not count."""
    found, counts = np.zeros(count, np.int64), number >= 0
    np.add.at(found, number[counts], values[counts])
    return rank.communicator.total(found)


def _overlaps(rank: RankArrays, old: np.ndarray, new: np.ndarray, gas: np.ndarray) -> np.ndarray:
    """(3, m) old and new number of every part that cells (n,) with gas have of an old and of a new region, and its
    volume; by ascending numbers."""
    has_gas = new >= 0
    pairs = old[has_gas].astype(np.int64) * MOST_REGIONS + new[has_gas]
    every = rank.communicator.total([np.stack(_grouped(pairs, gas[has_gas]))])
    pairs, volume = _grouped(*np.concatenate(every, axis=1))
    return np.stack((*np.divmod(pairs, MOST_REGIONS), volume))


def _grouped(keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The keys that there are, ascending, and the sum of the values (n,) of each."""
    found, place = np.unique(keys, return_inverse=True)
    sums = np.zeros(found.size, np.int64)
    np.add.at(sums, place, values)
    return found, sums


def _per_old(parts: np.ndarray, count: int) -> np.ndarray:
    """(count,) volume of all parts of each old region."""
    found = np.zeros(count, np.int64)
    np.add.at(found, parts[0], parts[2])
    return found


def shared(content: np.ndarray, parts: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """(count,) contents of new regions, and (k,) the remaining contents of old regions without a part in them.

    Args:
        content: (k,) of the old regions.
        parts: (3, m) old and new number of each part, and its volume, by ascending old number.
        count: number of new regions.
    """
    found, left = np.zeros(count, np.int64), content.copy()
    old, new, volume = parts
    first = np.searchsorted(old, np.arange(content.size + 1))
    for k in np.unique(old):
        of_old = slice(first[k], first[k + 1])
        whole, held = max(int(volume[of_old].sum()), 1), int(content[k])
        given = np.array([held * int(part) // whole for part in volume[of_old]], dtype=np.int64)
        given[np.argmax(volume[of_old])] += held - int(given.sum())
        np.add.at(found, new[of_old], given)
        left[k] = 0
    return found, left
