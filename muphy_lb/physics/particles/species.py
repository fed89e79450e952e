"""Species: the particles of one table of [[particles]], whatever their kind, and where they start.

They are spread over the fluid, or over that in a box, by stratified sampling: of n particles in order of places, one
falls into each n-th part of the whole, so that the number in a voxel differs from its share by less than two, and only
the position within a part is random.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.units import Units
from muphy_lb.case.case import Case
from muphy_lb.geometry.limits import ask_for
from muphy_lb.geometry.nodes import GeometryHeader, NodeList, box_told
from muphy_lb.lattice import Lattice
from muphy_lb.measure.flow_view import DrawnParticles, FlowView
from muphy_lb.measure.observer import Observer
from muphy_lb.model.flow import Flow
from muphy_lb.parallel import from_root
from muphy_lb.physics.particles.base_section import ParticlesSection
from muphy_lb.physics.particles.files.read import read_particles
from muphy_lb.physics.particles.files.table import ParticleTable
from muphy_lb.physics.particles.files.text import check_reach


class FluidPlaces:
    """Positions evenly spread over the fluid, or over that in a box.

    Args:
        box_m: lowest and highest corner of the box [m]; without it all of the fluid.
        name: of the set of particles, for messages.

    Raises InputError: there is no fluid in the box.
    """

    def __init__(self, nodes: NodeList, box_m, name: str):
        self._is_thick = np.array(nodes.shape[::-1]) > 1
        self._centre = nodes.coordinates()
        low, high = np.full((2, nodes.n_nodes, 3), np.array([[[-0.5]], [[0.5]]]))
        if box_m is not None:
            corners = (np.asarray(box_m) - nodes.origin_m) / nodes.spacing_m
            low, high = np.maximum(low, corners[0] - self._centre), np.minimum(high, corners[1] - self._centre)
        self._low, self._size = low, np.where(self._is_thick, np.maximum(high - low, 0.0), 1.0)
        volume = self._size.prod(axis=1)
        if not volume.any():
            box = [list(corner) for corner in box_m]
            raise InputError(f"particles.{name}.box_m is {box}: there is no fluid in it; move or enlarge it")
        self._sample = StratifiedSample(volume)

    def draw(self, count: int, random) -> tuple[np.ndarray, np.ndarray]:
        """Voxels (count, 3) and offsets (count, 3) of positions."""
        chosen = self._sample.draw(count, random)
        offset = self._low[chosen] + self._size[chosen] * random.random((count, 3))
        return self._centre[chosen], np.where(self._is_thick, offset, 0.0)


def places_in_fluid(nodes: NodeList, position_m: np.ndarray, location) -> tuple[np.ndarray, np.ndarray]:
    """Voxels and offsets of given positions (n, 3) [m]; ``location(row)`` says where they are listed, for messages.
    Raises InputError: one is not in the fluid."""
    at = (position_m - nodes.origin_m) / nodes.spacing_m
    size = np.array(nodes.shape[::-1])
    voxel = np.floor(at + 0.5).astype(np.int64)
    offset = np.where(size > 1, at - voxel, 0.0)
    voxel = np.where(nodes.periodic, voxel % size, voxel)
    x, y, z = voxel.T
    inside = ((voxel >= 0) & (voxel < size)).all(axis=1)
    solid = np.flatnonzero(~inside | ~np.isin((z * size[1] + y) * size[0] + x, nodes.voxel))
    if solid.size:
        row = solid[0]
        raise InputError(
            f"{location(row)}: there is no fluid at {position_m[row].tolist()} m, where a particle is to start"
            f" ({solid.size} of {len(at)} lie like that); {box_told(nodes)}: move it, or leave it out"
        )
    return voxel, offset


class StratifiedSample:
    """Draws indices into weights, each in proportion to its weight."""

    def __init__(self, weight: np.ndarray):
        self._share = np.cumsum(weight) / weight.sum()
        self._last = np.flatnonzero(weight)[-1]

    def draw(self, count: int, random) -> np.ndarray:
        """Indices (count,) in random order."""
        chosen = np.searchsorted(self._share, (np.arange(count) + random.random(count)) / count, side="right")
        return random.permutation(np.minimum(chosen, self._last))


BYTES_TO_PLACE = 300  # memory that a particle takes while it is placed, about

OfTable = TypeVar("OfTable", bound=ParticlesSection)


class Species(ABC, Generic[OfTable]):
    """Particles of one kind; several may be in a flow.

    Raises:
        InputError: the table refers to something that is not there, or asks for what cannot be computed.

    Attributes:
        kind: of the tables that it is made of.
        name: of its set of particles (:class:`muphy_lb.model.model.ParticleSet`), and in outputs.
        moves_fluid: whether the flow feels them, so that it does not become steady while they move.
    """

    kind: ClassVar[str]
    moves_fluid: ClassVar[bool] = False

    def __init__(self, section: OfTable, case: Case, header: GeometryHeader, units: Units):
        self.section, self.case, self.header, self.units = section, case, header, units
        self.name = section.name
        if n := section.n_to_place:
            ask_for(BYTES_TO_PLACE * n, f"particles.{self.name}: placing {n} particles", "take fewer of them")

    @property
    def drawn(self) -> DrawnParticles:
        """Which of them pictures draw, coloured by the first field of their table."""
        return DrawnParticles(field=next(iter(self.section.fields), ""))

    @classmethod
    def bytes_per_node(cls, section: OfTable, case: Case, lattice: Lattice) -> float:
        """Memory per node of the fields that it needs [bytes]; fields that species share count for each."""
        return 0.0

    @abstractmethod
    def extend(self, flow: Flow) -> Flow:
        """The flow of a rank, with these particles in it."""

    def initial(self, view: FlowView) -> Mapping[str, np.ndarray]:
        """Columns of all its particles at the start, by name, the same on every rank; collective. Raises InputError: a
        particle would start where there is no fluid."""
        return from_root(view.communicator, lambda: self.start(view))

    @abstractmethod
    def start(self, view: FlowView) -> Mapping[str, np.ndarray]:
        """The columns of :meth:`initial`, on rank 0."""

    @abstractmethod
    def describe(self) -> str:
        """Number and properties in a few words."""

    def warnings(self) -> tuple[str, ...]:
        """Keys of their table, or entries of its file, that have no effect, or make a result wrong; one sentence
        each."""
        return ()

    def listed(self, velocities: bool, time_unit_s: float | None = None) -> ParticleTable | None:
        """The particles that their table lists, or its file; None where it gives a number of them.

        Args:
            time_unit_s: their unit of time, where the file does not state it.

        Raises InputError: it cannot be read, or is not sound.
        """
        section = self.section
        if section.positions_m is not None:
            source, position_m = f"particles.{self.name}.positions_m", np.array(section.positions_m)
            check_reach(position_m, self.header.spacing_m, source)
            return ParticleTable(np.arange(len(position_m)), position_m, source=source)
        if section.file is None:
            return None
        path, units = self.case.folder / section.file, (section.length_unit_m, time_unit_s)
        try:
            return read_particles(path, self.header.spacing_m, *units, section.frame, velocities)
        except InputError as error:
            raise InputError(f"particles.{self.name}.file: {error}") from error

    def box_warnings(self, table: ParticleTable | None) -> Iterator[str]:
        """A warning where the box that a file states is not the geometry's: only the latter counts."""
        if table is None or table.box_m is None:
            return
        own_m = self.header.spacing_m * np.array(self.header.shape[::-1])
        stated_m = table.box_m[1] - table.box_m[0]
        if (np.abs(stated_m - own_m) > 0.5 * self.header.spacing_m).any():
            sizes = (" x ".join(f"{edge:.4g}" for edge in edges) for edges in (stated_m, own_m))
            yield "the box of the file, {} m, is not read: that of the geometry is {} m".format(*sizes)

    def observers(self, view: FlowView, folder: Path, resume_step: int | None) -> tuple[Observer, ...]:
        """Its outputs; see :meth:`muphy_lb.measure.observer.Observer.create`."""
        return ()
