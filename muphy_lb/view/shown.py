"""Fields and particles of a live view: scalars of the flow, and of the physics that follow at every node alone; as many
particles as can be distinguished, the same ones from one picture to the next."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from muphy_lb.engine.engine import Engine
from muphy_lb.engine.transfers import NodeMoments, NodeValues, Probe
from muphy_lb.measure.flow_view import EngineView
from muphy_lb.measure.monitor import MonitoredFlow
from muphy_lb.measure.node_probe import Compute
from muphy_lb.measure.shear.fields import STRESS_FIELDS, StressField
from muphy_lb.measure.shear.stress import NodeStress
from muphy_lb.model.model import POSITION
from muphy_lb.view.messages import CUT, Demand

WALL_SHEAR = "wall shear stress"


class NodeReader:
    """Moments and fields of selected nodes of a rank, at the present step. ``nodes``: (k,) ascending local nodes."""

    def __init__(self, engine: Engine, nodes: np.ndarray):
        self.size = nodes.size
        self._engine, self._moments, self._values = engine, NodeMoments(engine, nodes), NodeValues(engine, nodes)
        self._nodes, self._read = nodes, dict[str, np.ndarray]()
        self._arriving: Probe | None = None

    def forget(self) -> None:
        """Read fields again from now on: there may be another step."""
        self._read.clear()

    def moments(self) -> np.ndarray:
        """(4, k) rows rho - 1, ux, uy, uz, lattice units."""
        return self._moments.read()

    def stored(self, name: str) -> np.ndarray:
        """(k,) values of a field of the model, read once before :meth:`forget`."""
        if name not in self._read:
            self._engine.backend.synchronise()
            self._read[name] = self._values.stored(name, self._engine.parity)
        return self._read[name]

    def of_arriving(self, compute: Compute) -> np.ndarray:
        """(r, k) numbers of the populations that arrive in the step ahead; collective."""
        engine = self._engine
        if self._arriving is None:
            self._arriving = engine.probe_of_arriving(self._nodes)
        with engine.looking_ahead() as buffer:
            populations = [self._arriving.stored(buffer)]
        own = self._values.force(engine.parity), self._values.stress_share(engine.parity)
        return compute(populations, self._arriving.unit, *own)

    def has_fluid(self) -> np.ndarray | None:
        """(k,) mask of the nodes with fluid; None if all have."""
        name = self._engine.model.occupied
        return self.stored(name) != 0.0 if name else None


class ShownField(NamedTuple):
    """A scalar at nodes."""

    unit: str  #: its SI unit
    values: Callable[[NodeReader], np.ndarray]  #: its (k,) SI values at the nodes of a reader
    #: whether the body shows the largest value below its surface, instead of the value at the surface
    is_below_wall: bool = False


def shown_fields(view: EngineView) -> dict[str, ShownField]:
    """The scalars of a flow by name."""
    units = view.units
    at_rest_pa, scale_pa = units.reference_pressure_pa, units.pascals_per_density(float(view.lattice.cs2))

    def speed(nodes: NodeReader) -> np.ndarray:
        return units.velocity_to_si(np.sqrt((nodes.moments()[1:] ** 2).sum(axis=0)))

    def pressure(nodes: NodeReader) -> np.ndarray:
        return at_rest_pa + scale_pa * nodes.moments()[0]

    below = not view.engine.model.occupied  # a surface shows what is at it
    fields = {"speed": ShownField("m/s", speed, is_below_wall=below), "pressure": ShownField("Pa", pressure)}
    for axis, name in enumerate("xyz"[: 2 if view.header.shape[0] == 1 else 3]):
        fields[f"velocity along {name}"] = ShownField("m/s", _component(units, 1 + axis), is_below_wall=below)
    for name in () if view.fluid.closure.reads else ("shear_stress", "shear_rate"):
        field, compute = STRESS_FIELDS[name], NodeStress(view.fluid, view.lattice).with_viscosity
        fields[name.replace("_", " ")] = ShownField(field.unit, _of_stress(field, units, compute))
    for physics in view.physics:
        for name, output in physics.output_fields.items():
            if output.at_nodes:
                fields[name] = ShownField(output.unit, _from_stored(output.at_nodes))
    return fields


def has_wall_shear(view: EngineView) -> bool:
    """Whether the wall shear stress can be measured: not where nodes may be without fluid."""
    return not view.engine.model.occupied


def _component(units, row: int) -> Callable[[NodeReader], np.ndarray]:
    return lambda nodes: units.velocity_to_si(nodes.moments()[row])


def _of_stress(field: StressField, units, compute: Compute) -> Callable[[NodeReader], np.ndarray]:
    return lambda nodes: field.in_si(nodes.of_arriving(compute), units)


def _from_stored(source) -> Callable[[NodeReader], np.ndarray]:
    return lambda nodes: source.in_si(*(nodes.stored(name) for name in source.fields))


MOST_POINTS = 8000
REACH = 1.0  # distance from a cut up to which particles are drawn with it [voxels]


def drawn_points(simulation: MonitoredFlow, demand: Demand) -> np.ndarray | None:
    """(3, m) voxel coordinates (x, y, z) of the particles of a picture, on rank 0; None without any sets. Collective.
    Of more than ``MOST_POINTS`` those whose id is a multiple of some number are drawn, so it is always the same
    ones."""
    sets = [(name, drawn) for physics in simulation.physics for name, drawn in physics.drawn_particles.items()]
    if not sets:
        return None
    found = [_of_set(simulation, name, drawn, demand) for name, drawn in sets]
    identity, place = (np.concatenate(parts, axis=-1) for parts in zip(*found, strict=True))
    spacing = -(-simulation.communicator.total(identity.size) // MOST_POINTS)
    chosen = identity % max(spacing, 1) == 0
    gathered = simulation.communicator.gather(place[:, chosen].astype(np.float32))
    return None if gathered is None else np.concatenate(gathered, axis=1)[:, : 2 * MOST_POINTS]


def _of_set(simulation: MonitoredFlow, name: str, drawn, demand: Demand) -> tuple[np.ndarray, np.ndarray]:
    """Ids and (3, n) voxel coordinates of this rank's particles of a set that a demand shows."""
    columns = simulation.engine.particle_sets.columns(name, ("id", *POSITION[0], *POSITION[1], *drawn.columns))
    identity = columns["id"]
    place = np.stack([columns[voxel] + columns[offset] for voxel, offset in zip(*POSITION, strict=True)])
    is_shown = np.ones(identity.size, dtype=bool)
    if drawn.are_drawn is not None:
        is_shown &= drawn.are_drawn(*(columns[column] for column in drawn.columns))
    if demand.place == CUT:
        is_shown &= np.abs(place[demand.axis] - demand.index) <= REACH
    return identity[is_shown], place[:, is_shown]
