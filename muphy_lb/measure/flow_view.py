"""FlowView: the read-only interface of a flow for outputs, measurements and observers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from muphy_lb.boundaries.opening_geometry import Condition, OpeningFrame
from muphy_lb.boundaries.wall_motion import WallMotion
from muphy_lb.case.case import Case
from muphy_lb.domain import LocalDomain
from muphy_lb.geometry.nodes import GeometryHeader, NodeList
from muphy_lb.lattice import Lattice
from muphy_lb.parallel.communicator import MpiCommunicator, SerialCommunicator
from muphy_lb.physics.isothermal import Fluid
from muphy_lb.setup.numerics import Numerics
from muphy_lb.units import Units

if TYPE_CHECKING:
    from muphy_lb.measure.node_probe import NodeProbe
    from muphy_lb.measure.wall_forces import WallForce
    from muphy_lb.physics.package import Physics


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


class FlowView(Protocol):
    """The interface of a flow for observers; :class:`muphy_lb.run.simulation.Simulation` is one.

    Methods are collective: every rank calls them, in the same order; rank 0 gets the result, the others None, unless
    noted otherwise. They do not change the flow.

    Attributes:
        case: the checked case.
        communicator: the ranks.
        lattice: velocity set of the populations.
        fluid: the collision of the flow.
        numerics: the numerical parameters of the run.
        domain: the nodes of this rank.
        frames: cross-section of each opening.
        conditions: condition of each opening.
        motions: what each labelled wall does.
        physics: what is computed beside the flow.
        step_number: steps since the start.
    """

    case: Case
    communicator: SerialCommunicator | MpiCommunicator
    lattice: Lattice
    fluid: Fluid
    numerics: Numerics
    domain: LocalDomain
    frames: Sequence[OpeningFrame]
    conditions: Sequence[Condition]
    motions: Sequence[WallMotion]
    physics: "tuple[Physics, ...]"
    step_number: int

    @property
    def header(self) -> GeometryHeader:
        """The geometry without its node arrays, on every rank."""

    @property
    def nodes(self) -> NodeList | GeometryHeader:
        """The whole node list on rank 0, the header elsewhere."""

    @property
    def units(self) -> Units:
        """SI sizes of the lattice units."""

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

    def field(self, name: str) -> np.ndarray | None:
        """(n, ...) values [SI] of an output field of the flow or of a physics."""

    def model_field(self, name: str) -> np.ndarray | None:
        """(n,) values of a field of the model as it is stored, lattice units."""

    def particles(self) -> dict[str, dict[str, np.ndarray]] | None:
        """Columns of all particles by set and name, by ascending id, lattice units.

        Raises:
            BackendError: a particle was lost, or found no room.
        """

    def health(self) -> Health:
        """Mass change, largest and mean speed, on every rank.

        Raises:
            DivergedError: the flow is unstable.
        """

    def openings(self) -> dict[str, OpeningState] | None:
        """State of every opening by name."""

    def wall_forces(self, averaged: bool = True) -> "dict[str, WallForce] | None":
        """Force and torque on every labelled wall by name."""

    def node_probe(self, voxel: np.ndarray | None) -> "NodeProbe":
        """A reader of the fluid nodes with (m,) ascending voxel ids, given on rank 0."""
