"""The nodes of a rank that a picture needs, and their values on rank 0."""

from collections import OrderedDict
from typing import Any

import numpy as np

from muphy_lb.base.narrow import pair, triple
from muphy_lb.geometry.nodes import voxel_coordinates
from muphy_lb.measure.flow_view import on_root
from muphy_lb.measure.monitor import MonitoredFlow
from muphy_lb.measure.pictures import sight_of
from muphy_lb.output.pictures.projection import CoarseGrid, is_cut_through
from muphy_lb.view.messages import BODY, CUT, CutFrame, Demand, Description, Picture
from muphy_lb.view.shown import WALL_SHEAR, NodeReader, ShownField, drawn_points, has_wall_shear, shown_fields
from muphy_lb.view.wall import WallGathering

MOST_PIXELS = 640  # along the edge of a cut
MOST_CELLS, MOST_CELLS_ALONG_EDGE = 800_000, 256
N_KEPT = 6  # places whose node lists are kept: a viewer who moves a cut may come back to it
CHUNK = 1 << 20


class Gathering:
    """Collects on rank 0 what pictures show; collective.

    Attributes:
        fields: the scalars at nodes that can be shown, by name.
        units: unit of everything that can be shown, by name.
    """

    def __init__(self, simulation: MonitoredFlow):
        self.follow(simulation)
        self._bind()
        self.low = -self._over_ranks([-row.min(initial=1 << 30) for row in self._xyz])
        self.high = self._over_ranks([row.max(initial=-1) for row in self._xyz])
        self.grid = CoarseGrid.over(self.low, self.high, MOST_CELLS, MOST_CELLS_ALONG_EDGE)
        self.frames = triple(self._frame(axis) for axis in range(3))

    def follow(self, simulation: MonitoredFlow) -> None:
        """Collect from another simulation of the same nodes from now on."""
        self._view = simulation
        self.fields: dict[str, ShownField] = shown_fields(simulation)
        self.units = {name: shown.unit for name, shown in self.fields.items()}
        if has_wall_shear(simulation):
            self.units[WALL_SHEAR] = "Pa"
        self._fractions = [physics.volume_fraction for physics in simulation.physics if physics.volume_fraction]
        self.release()

    def release(self) -> None:
        """Keep nothing of the engine."""
        self._engine: Any = None
        self._wall: WallGathering | None = None
        self._xyz = np.empty((3, 0), dtype=np.int32)
        self._places: OrderedDict[tuple, tuple] = OrderedDict()

    def picture(self, demand: Demand) -> Picture | None:
        """The picture that a demand asks for, on rank 0; nothing of a field that there is no more."""
        if self._engine is not self._view.engine:
            self._bind()
        shape = self.frames[demand.axis].shape if demand.place == CUT else self.grid.shape
        points = drawn_points(self._view, demand)
        if demand.field not in self.fields:
            where, values = self._on_wall(demand)
            return None if where is None else Picture(demand, shape, where, values, points=points)
        reader, where = self._place(demand)
        gathered = self._view.communicator.gather(self._values((demand.field, *self._fractions[:1]), reader))
        if gathered is None:
            return None
        values, *fraction = gathered[0] if len(gathered) == 1 else np.concatenate(gathered, axis=1)
        return Picture(demand, shape, on_root(where), values, fraction[0] if fraction else None, points)

    def counts(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Flat index and number of fluid voxels of the occupied cells of the coarse grid, on rank 0."""
        found = np.zeros(np.prod(self.grid.shape), dtype=np.int32)
        for chunk in self._chunks():
            found += np.bincount(self._cells(chunk), minlength=found.size).astype(np.int32)
        used = np.flatnonzero(found).astype(np.int32)
        gathered = self._view.communicator.gather((used, found[used]))
        if gathered is None:
            return None
        total = np.zeros(found.size, dtype=np.int32)
        for cells, numbers in gathered:
            total[cells] += numbers
        used = np.flatnonzero(total).astype(np.int32)
        return used, total[used]

    def is_rock(self) -> bool:
        """Whether the fluid fills the pores of a block, on rank 0."""
        size = self.high - self.low + 1
        layers = [np.zeros(n, dtype=np.int64) for n in size]
        for row, low, counts in zip(self._xyz, self.low, layers, strict=True):
            counts += np.bincount(row - low, minlength=counts.size)
        total = [self._view.communicator.total(counts) for counts in layers]
        return bool(min(size) > 1 and is_cut_through(total, self._view.header.openings))

    def fullest_cut(self) -> tuple[int, int]:
        """Axis and layer with most fluid, of those in the middle of the geometry along each axis."""
        middle = (self.low + self.high) // 2
        counts = [int(np.count_nonzero(row == layer)) for row, layer in zip(self._xyz, middle, strict=True)]
        total = self._view.communicator.total(np.array(counts))
        axis = 2 if self._view.header.shape[0] == 1 else int(np.argmax(total))
        return axis, int(middle[axis])

    def _bind(self) -> None:
        """Take note of the nodes of this rank as they are now."""
        self._engine, domain = self._view.engine, self._view.domain
        self._xyz = np.empty((3, domain.n_nodes), dtype=np.int32)
        for chunk in self._chunks():
            self._xyz[:, chunk] = voxel_coordinates(domain.voxel[chunk], self._view.header.shape).T

    def _chunks(self):
        for first in range(0, self._view.domain.n_nodes, CHUNK):
            yield slice(first, first + CHUNK)

    def _cells(self, chunk) -> np.ndarray:
        return self.grid.index(*self._xyz[:, chunk])

    def _over_ranks(self, numbers: list) -> np.ndarray:
        """The largest of each over the ranks."""
        return np.array([self._view.communicator.maximum(int(number)) for number in numbers])

    def _frame(self, axis: int) -> CutFrame:
        in_plane = [other for other in range(3) if other != axis]
        low, high = self.low[in_plane], self.high[in_plane]
        stride = -(-int((high - low).max() + 1) // MOST_PIXELS)
        return CutFrame(pair(map(int, low)), pair(map(int, high)), stride)

    def _place(self, demand: Demand) -> tuple[NodeReader, np.ndarray | None]:
        """The nodes of a place, and on rank 0 where those of all ranks lie in its image."""
        key = demand.place, demand.axis, demand.index
        if key not in self._places:
            nodes, where = self._cut_of(self._xyz, demand) if demand.place == CUT else self._samples()
            gathered = self._view.communicator.gather(where.astype(np.int32))
            whole = None if gathered is None else np.concatenate(gathered)
            self._places[key] = NodeReader(self._engine, nodes), whole
            if len(self._places) > N_KEPT:
                self._places.popitem(last=False)
        self._places.move_to_end(key)
        return self._places[key]

    def _on_wall(self, demand: Demand) -> tuple[np.ndarray | None, np.ndarray]:
        """Where values at the wall lie in an image, and what they are, on rank 0."""
        if demand.field not in self.units:
            return (np.empty(0, np.int32) if self._view.communicator.rank == 0 else None), np.empty(0, np.float32)
        if self._wall is None:
            self._wall = WallGathering(self._view)
        return self._wall.values(demand, self._cut_of if demand.place == CUT else self._samples_of)

    def _cut_of(self, xyz: np.ndarray, demand: Demand) -> tuple[np.ndarray, np.ndarray]:
        """Which of (3, n) voxels a cut shows, and their flat positions in its image."""
        frame = self.frames[demand.axis]
        column, row = (xyz[axis] for axis in range(3) if axis != demand.axis)
        nodes = np.flatnonzero(xyz[demand.axis] == demand.index)
        column, row = column[nodes] - frame.low[0], row[nodes] - frame.low[1]
        drawn = (column % frame.stride == 0) & (row % frame.stride == 0)
        where = row[drawn] // frame.stride * frame.shape[1] + column[drawn] // frame.stride
        return nodes[drawn], where

    def _samples_of(self, xyz: np.ndarray, _demand: Demand) -> tuple[np.ndarray, np.ndarray]:
        """One (3, n) voxel for every cell of the coarse grid with any, by ascending number, and the cells."""
        cells, first = np.unique(self.grid.index(*xyz), return_index=True)
        order = np.argsort(first)
        return first[order], cells[order]

    def _samples(self) -> tuple[np.ndarray, np.ndarray]:
        """A node of every cell of the coarse grid, if possible the one in its middle, and the cells."""
        sample, factor = np.full(np.prod(self.grid.shape), -1, dtype=np.int64), self.grid.factor
        for chunk in self._chunks():
            cells, numbers = self._cells(chunk), np.arange(chunk.start, min(chunk.stop, self._xyz.shape[1]))
            sample[cells] = numbers
        for chunk in self._chunks() if factor > 1 else ():
            inside = (self._xyz[:, chunk] - self.low[:, None]) % factor == factor // 2
            middle = np.flatnonzero(inside.all(axis=0))
            sample[self._cells(chunk)[middle]] = chunk.start + middle
        cells = np.flatnonzero(sample >= 0)
        order = np.argsort(sample[cells])
        return sample[cells][order], cells[order]

    def _values(self, names: tuple[str, ...], reader: NodeReader) -> np.ndarray:
        """(m, k) values of fields at the nodes of a reader, nan where there is no fluid."""
        reader.forget()
        values = np.stack([np.asarray(self.fields[name].values(reader), dtype=np.float32) for name in names])
        with_fluid = reader.has_fluid()
        if with_fluid is not None:
            np.copyto(values, np.nan, where=~with_fluid)
        return values


def describe(view: MonitoredFlow, gathering: Gathering) -> Description | None:
    """The description that stays the same while a run is watched, on rank 0; collective."""
    counts, is_rock, (axis, index) = gathering.counts(), gathering.is_rock(), gathering.fullest_cut()
    if counts is None:
        return None
    telling = [physics.cut_field for physics in view.physics if physics.cut_field in gathering.fields]
    field = telling[0] if telling else "speed"
    header, n_ranks = view.header, view.communicator.size
    return Description(
        title=view.case.title,
        text=f"{header.n_nodes:,} nodes, {view.device}, {n_ranks} {'rank' if n_ranks == 1 else 'ranks'}",
        header=header,
        low=triple(map(int, gathering.low)),
        high=triple(map(int, gathering.high)),
        frames=gathering.frames,
        units=gathering.units,
        below_wall=frozenset(name for name, shown in gathering.fields.items() if shown.is_below_wall),
        on_wall=frozenset(gathering.units) - frozenset(gathering.fields),
        field=field,
        grid=gathering.grid,
        counts=counts,
        is_rock=is_rock,
        start=Demand(field, CUT, axis, index) if telling or header.shape[0] == 1 else Demand(field, BODY),
        style=view.case.output.picture_style,
        sight=sight_of(view),
        changeable=changeable(view),
    )


IMPOSED = ("velocity_m_s", "flow_rate_m3_s", "mass_flow_kg_s", "pressure_pa")
MOST_CHANGEABLE = 8


def changeable(view: MonitoredFlow) -> dict[str, tuple[float, ...]]:
    """The values of the case that viewers may change, by dotted key: those of openings, the body force, viscosity; and
    what they may do to the flow of a physics, by name."""
    case, found = view.case, dict[str, tuple[float, ...]]()
    for opening in case.openings:
        given = ((key, getattr(opening, key)) for key in IMPOSED)
        found |= {f"openings.{opening.name}.{key}": (float(value),) for key, value in given if value is not None}
    if any(case.flow.acceleration_m_s2):
        found["flow.acceleration_m_s2"] = tuple(case.flow.acceleration_m_s2)
    if case.fluid.kinematic_viscosity_m2_s is not None:
        found["fluid.kinematic_viscosity_m2_s"] = (case.fluid.kinematic_viscosity_m2_s,)
    found |= {name: action.numbers for physics in view.physics for name, action in physics.offered.items()}
    return dict(list(found.items())[-MOST_CHANGEABLE:])
