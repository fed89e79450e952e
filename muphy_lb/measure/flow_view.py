"""FlowView: the read-only interface of a flow for outputs, measurements and observers; a physics as these see it."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np

from muphy_lb.base.units import Units
from muphy_lb.boundaries.opening_geometry import Condition, OpeningFrame
from muphy_lb.boundaries.wall_motion import WallMotion
from muphy_lb.case.case import Case
from muphy_lb.domain import LocalDomain
from muphy_lb.geometry.nodes import GeometryHeader, NodeList, chosen_nodes
from muphy_lb.lattice import Lattice
from muphy_lb.measure.node_probe import NodeProbe
from muphy_lb.measure.node_sums import Measure, NodeSums
from muphy_lb.measure.records import Health, OpeningState, StressAtWalls, WallForce
from muphy_lb.model.beat import Beat
from muphy_lb.model.isothermal import Fluid
from muphy_lb.parallel.communicator import MpiCommunicator, SerialCommunicator
from muphy_lb.setup.numerics import Numerics

if TYPE_CHECKING:
    from muphy_lb.engine.engine import Engine
    from muphy_lb.output.pictures.cut import Sight

Value = TypeVar("Value")


class PreparedView(Protocol):
    """The interface of a case that is set up and need not flow yet; :class:`muphy_lb.run.preparation.Preparation` is
    one. Nodes of this rank and the collision are there once all requests of the case have been checked."""

    @property
    def case(self) -> Case:
        """The checked case."""

    @property
    def communicator(self) -> SerialCommunicator | MpiCommunicator:
        """The ranks."""

    @property
    def lattice(self) -> Lattice:
        """Velocity set of the populations."""

    @property
    def fluid(self) -> Fluid:
        """The collision of the flow."""

    @property
    def numerics(self) -> Numerics:
        """The numerical parameters of the run."""

    @property
    def domain(self) -> LocalDomain:
        """The nodes of this rank."""

    @property
    def frames(self) -> Sequence[OpeningFrame]:
        """Cross-section of each opening."""

    @property
    def conditions(self) -> Sequence[Condition]:
        """Condition of each opening."""

    @property
    def motions(self) -> Sequence[WallMotion]:
        """Motion of each labelled wall."""

    @property
    def physics(self) -> "Sequence[MeasuredPhysics]":
        """Physics computed beside the flow."""

    @property
    def header(self) -> GeometryHeader:
        """The geometry without its node arrays, on every rank."""

    @property
    def nodes(self) -> NodeList | GeometryHeader:
        """The whole node list on rank 0, the header elsewhere."""

    @property
    def rises_until(self) -> int:
        """Step up to which what openings and walls impose rises from rest; 0 where they impose nothing."""

    @property
    def units(self) -> Units:
        """SI sizes of the lattice units."""


class FlowView(PreparedView, Protocol):
    """The interface of a flow for observers; :class:`muphy_lb.run.solver.Solver` is one. Methods are collective: every
    rank calls them, in the same order; rank 0 gets the result, the others None, unless noted otherwise. They do not
    change the flow."""

    @property
    def step_number(self) -> int:
        """Steps since the start."""

    @property
    def frozen_from(self) -> float:
        """Number of the step behind which the flow stays as it is; infinite if it goes on."""

    @property
    def beat(self) -> Beat | None:
        """The beat that a frozen flow repeats, if it does."""

    @property
    def stride(self) -> int:
        """Steps of the flow that a step of what it carries takes: more than 1 where it is frozen."""

    def is_due(self, every: int) -> bool:
        """Whether what happens every so many steps does behind the present one: if its turn came in it."""

    @property
    def time_s(self) -> float:
        """Physical time [s]."""

    @property
    def backend_name(self) -> str:
        """Name of the backend."""

    @property
    def device(self) -> str:
        """Name of the device."""

    @property
    def collision_name(self) -> str:
        """Name of the composed collision operator."""

    @property
    def present_force(self) -> np.ndarray:
        """(3,) uniform body force per volume of this step, lattice units, on every rank."""

    def density(self) -> np.ndarray | None:
        """(n,) lattice density in node-list order."""

    def pressure_pa(self) -> np.ndarray | None:
        """(n,) pressure [Pa], with the reference pressure."""

    def velocity_m_s(self) -> np.ndarray | None:
        """(n, 3) velocity (x, y, z) [m/s]."""

    def mean_velocity_m_s(self) -> np.ndarray:
        """(3,) mean velocity (x, y, z) of all nodes [m/s], on every rank; no field is collected for it."""

    def field(self, name: str) -> np.ndarray | None:
        """(n, ...) values [SI] of an output field of the flow or of a physics."""

    def model_field(self, name: str) -> np.ndarray | None:
        """(n,) values of a field of the model as it is stored, lattice units."""

    def local_field(self, name: str) -> np.ndarray:
        """(m,) values of a field of the model on the nodes of this rank as it is stored; every rank gets its own."""

    def particles(self) -> dict[str, dict[str, np.ndarray]] | None:
        """Columns of all particles by set and name, by ascending id, lattice units. Raises BackendError: a particle
        found no room; DivergedError: one was lost."""

    def health(self) -> Health:
        """Mass change, largest and mean speed, on every rank. Raises DivergedError: the flow is unstable."""

    def largest_density_change(self) -> float:
        """Largest difference of the lattice density from 1, on every rank."""

    def openings(self) -> dict[str, OpeningState] | None:
        """State of every opening by name."""

    def wall_forces(self, averaged: bool = True) -> dict[str, WallForce] | None:
        """Force and torque on every labelled wall by name."""

    def recorded_stress(self) -> StressAtWalls | None:
        """The stress beside walls that the run records, on every rank; None if ``output.wall_shear`` is not set."""

    def node_probe(self, voxel: np.ndarray | None, fields: Sequence[str] = ()) -> NodeProbe:
        """A reader of the fluid nodes with (m,) ascending voxel ids, given on rank 0, with these fields of the model,
        or those that probes record."""

    def node_sums(self, measure: Measure) -> NodeSums:
        """Sums of numbers of all nodes, computed where the flow is."""


class EngineView(FlowView, Protocol):
    """A flow with the engine that steps it."""

    @property
    def engine(self) -> "Engine":
        """The engine of this rank."""

    @property
    def part_nodes(self) -> NodeList:
        """This rank's part of the geometry."""


class SettableFlow(FlowView, Protocol):
    """A flow whose state can be overwritten."""

    def scattered(self, what: str, values, n_components: int) -> np.ndarray:
        """(k, n) float64 values of the local nodes of those handed in on rank 0; collective."""

    def set_fields(self, fields: Mapping[str, np.ndarray]) -> None:
        """Overwrite fields of the model by values on the local nodes, (n,) in run order or (1,), by name."""


def on_root(value: Value | None) -> Value:
    """The result of a collective call, on rank 0. Raises TypeError: another rank asks, which has no result."""
    if value is None:
        raise TypeError("the result of a collective call is on rank 0 only, and this rank is another")
    return value


def whole_nodes(view: PreparedView) -> NodeList:
    """The whole node list of a flow, on rank 0. Raises TypeError: another rank asks, which has the header only."""
    nodes = view.nodes
    if isinstance(nodes, GeometryHeader):
        raise TypeError("the whole node list is on rank 0 only, and this rank is another")
    return nodes


class FromStored(NamedTuple):
    """How a scalar follows at every node from fields of the model there: their names, and its SI values from theirs."""

    fields: tuple[str, ...]
    in_si: Callable[..., np.ndarray]


class OutputField(NamedTuple):
    """A field of the field files: its unit, and its (n, ...) values in node-list order on rank 0 (None elsewhere),
    collective; ``at_nodes`` where it can also be had at some nodes alone, as pictures of a run in progress need it."""

    unit: str
    values: Callable[[FlowView], np.ndarray | None]
    at_nodes: FromStored | None = None


class DrawnParticles(NamedTuple):
    """Particles of a set that pictures draw: those for which ``are_drawn(*columns)`` holds, of their columns with these
    names, all of them if it is not given; (k, 2) ids that bonds join, and the output field that colours them."""

    columns: tuple[str, ...] = ()
    are_drawn: Callable[..., np.ndarray] | None = None
    bonds: np.ndarray | None = None
    field: str = ""


class ViewerAction(NamedTuple):
    """An action on a flow that viewers of a run may ask for: ``act(simulation, numbers)``, collective, which raises
    InputError where it cannot be; and the numbers that a page begins with."""

    act: Callable[..., object]
    numbers: tuple[float, ...]


class ProbedScalar(NamedTuple):
    """A field that probes record: its name in the model, the name of its column, and its SI value from the stored
    one."""

    field: str
    column: str
    in_si: Callable[[np.ndarray], np.ndarray]


class MeasuredPhysics:
    """A physics as measurements and the judgement of a run see it; everything has a default."""

    name: ClassVar[str]  #: name of its folder and of its section in the case file
    output_fields: Mapping[str, OutputField] = MappingProxyType({})  #: fields that every field file holds, by name
    probed: Sequence[ProbedScalar] = ()  #: scalars that probes record in addition to velocity and pressure
    #: whether as much leaves through openings as enters once the flow is steady; else the balance is reported at the
    #: end of a run, but not judged
    keeps_balance: ClassVar[bool] = True
    #: whether the flow can become steady, or repeat the period of a waveform; else the end of a run is judged without
    #: that
    becomes_steady: bool = True
    #: relative change of the density at the end of a run up to which its result is not doubtful; None for that of any
    #: flow
    allowed_density_change: ClassVar[float | None] = None
    #: whether an observer of its own draws the pictures of ``output.frames_every_steps``, unless the case names a field
    #: for them
    draws_frames: ClassVar[bool] = False
    #: output field that determines which cut through the geometry is drawn; None: the speed
    cut_field: ClassVar[str | None] = None
    #: output field with ``at_nodes``, the share of every voxel that is filled; pictures of a run in progress draw the
    #: body of what fills it, whose surface is where the share is 1/2. None: all voxels are full.
    volume_fraction: ClassVar[str | None] = None
    is_full: ClassVar[bool] = False  #: whether another fluid fills the rest of every voxel, so that none is empty
    lacks_at_walls: str = ""  #: what of the forces on walls is not told, as the end of a sentence
    #: which particles they draw, by the name of the set
    drawn_particles: Mapping[str, DrawnParticles] = MappingProxyType({})
    #: actions on its flow that viewers of a run may ask for, by name
    offered: Mapping[str, ViewerAction] = MappingProxyType({})

    def warnings(self) -> tuple[str, ...]:
        """Reasons to expect that the run may diverge, or that its result may be wrong, one sentence each."""
        return ()

    def causes(self) -> tuple[str, ...]:
        """Likely causes of a divergence, from its warnings and from conditions that these leave out."""
        return self.warnings()

    def monitored(self, view: FlowView) -> dict[str, Callable[[], dict[str, float]]]:
        """Functions that measure its ``MONITORED`` quantities, as numbers by name; the calls are collective, their
        results are used on rank 0."""
        return {}

    def sight(self) -> "Sight | None":
        """The direction that is up in pictures of its flow, and where a cut shows most; None if it makes no
        difference."""
        return None


def filled_shares(view: FlowView) -> np.ndarray | None:
    """(n,) share of every node that is fluid, in node-list order on rank 0; None elsewhere, and where all are full by
    themselves. Collective."""
    fractions = [each.volume_fraction for each in view.physics if each.volume_fraction and not each.is_full]
    return view.field(fractions[0]) if fractions else None


def nodes_with_fluid(view: FlowView, *values: np.ndarray | None) -> tuple[NodeList, list] | None:
    """The nodes with fluid, and what of (n,) ``values`` at all nodes is theirs, on rank 0 (None elsewhere); all nodes
    where none has any. Collective. ``values``: on rank 0, (n,) in node-list order, or None for nothing."""
    fraction = filled_shares(view)
    if view.communicator.rank:
        return None
    nodes, with_fluid = whole_nodes(view), np.empty(0, np.int64) if fraction is None else np.flatnonzero(fraction > 0.0)
    if not with_fluid.size:
        return nodes, list(values)
    return chosen_nodes(nodes, nodes.voxel[with_fluid]), [None if each is None else each[with_fluid] for each in values]
