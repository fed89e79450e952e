"""FlowView: the read-only interface of a flow for outputs, measurements and observers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from muphy_lb.base.units import Units
from muphy_lb.boundaries.opening_geometry import Condition, OpeningFrame
from muphy_lb.boundaries.wall_motion import WallMotion
from muphy_lb.case.case import Case
from muphy_lb.domain import LocalDomain
from muphy_lb.geometry.nodes import GeometryHeader, NodeList
from muphy_lb.lattice import Lattice
from muphy_lb.measure.physics_output import MeasuredPhysics
from muphy_lb.model.isothermal import Fluid
from muphy_lb.parallel.communicator import MpiCommunicator, SerialCommunicator
from muphy_lb.setup.numerics import Numerics

if TYPE_CHECKING:
    from muphy_lb.engine.engine import Engine
    from muphy_lb.measure.node_probe import NodeProbe
    from muphy_lb.measure.recorded_stress import RecordedStress
    from muphy_lb.measure.wall_forces import WallForce

Value = TypeVar("Value")


@dataclass(frozen=True)
class OpeningState:
    """The state of the flow at one opening.

    Attributes:
        kind: ``"inlet"`` or ``"outlet"``.
        area_m2: cross-section of the opening's voxels [m^2].
        flow_rate_m3_s: volume flow, positive in the direction of the kind: into the fluid at inlets, out at outlets.
        mean_pressure_pa: pressure averaged over the links' nodes, relative to the reference pressure [Pa].
        feedback: state of a condition that answers its flow, by name; empty for others.
    """

    kind: str
    area_m2: float
    flow_rate_m3_s: float
    mean_pressure_pa: float
    feedback: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Health:
    """Global measures of the flow: relative mass change since the start, largest and mean speed [lattice units]."""

    mass_drift: float
    max_speed: float
    mean_speed: float


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
        """What each labelled wall does."""

    @property
    def physics(self) -> Sequence[MeasuredPhysics]:
        """What is computed beside the flow."""

    @property
    def header(self) -> GeometryHeader:
        """The geometry without its node arrays, on every rank."""

    @property
    def nodes(self) -> NodeList | GeometryHeader:
        """The whole node list on rank 0, the header elsewhere."""

    @property
    def units(self) -> Units:
        """SI sizes of the lattice units."""


class FlowView(PreparedView, Protocol):
    """The interface of a flow for observers; :class:`muphy_lb.run.solver.Solver` is one.

    Methods are collective: every rank calls them, in the same order; rank 0 gets the result, the others None, unless
    noted otherwise. They do not change the flow.
    """

    @property
    def step_number(self) -> int:
        """Steps since the start."""

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
        """(n,) pressure relative to the reference pressure [Pa]."""

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
        """Columns of all particles by set and name, by ascending id, lattice units.

        Raises:
            BackendError: a particle found no room.
            DivergedError: one was lost.
        """

    def health(self) -> Health:
        """Mass change, largest and mean speed, on every rank.

        Raises:
            DivergedError: the flow is unstable.
        """

    def largest_density_change(self) -> float:
        """Largest difference of the lattice density from 1, on every rank."""

    def openings(self) -> dict[str, OpeningState] | None:
        """State of every opening by name."""

    def wall_forces(self, averaged: bool = True) -> "dict[str, WallForce] | None":
        """Force and torque on every labelled wall by name."""

    def recorded_stress(self) -> "RecordedStress | None":
        """The stress beside walls that the run records, on every rank; None if ``output.wall_shear`` is not set."""

    def node_probe(self, voxel: np.ndarray | None) -> "NodeProbe":
        """A reader of the fluid nodes with (m,) ascending voxel ids, given on rank 0."""


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
    """The result of a collective call, on rank 0.

    Raises:
        TypeError: another rank asks, which has no result.
    """
    if value is None:
        raise TypeError("the result of a collective call is on rank 0 only, and this rank is another")
    return value


def whole_nodes(view: PreparedView) -> NodeList:
    """The whole node list of a flow, on rank 0.

    Raises:
        TypeError: another rank asks, which has the header only.
    """
    nodes = view.nodes
    if isinstance(nodes, GeometryHeader):
        raise TypeError("the whole node list is on rank 0 only, and this rank is another")
    return nodes
