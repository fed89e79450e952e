"""Records of measurements: what is found at openings, walls and nodes, and of the flow as a whole."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from muphy_lb.measure.shear.wall_nodes import WallPatches


@dataclass(frozen=True)
class OpeningState:
    """The state of the flow at one opening."""

    kind: str  #: ``"inlet"`` or ``"outlet"``
    area_m2: float  #: cross-section, up to where walls cut links [m^2]
    #: volume flow, positive in the direction of the kind: into the fluid at inlets, out at outlets
    flow_rate_m3_s: float
    mean_pressure_pa: float  #: pressure averaged over the links' nodes, with the reference pressure [Pa]
    #: state of a condition that answers its flow, by name; empty for others
    feedback: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Health:
    """Global measures of the flow: relative mass change since the start, largest and mean speed [lattice units]."""

    mass_drift: float
    max_speed: float
    mean_speed: float


@dataclass(frozen=True)
class WallForce:
    """Force and torque of the fluid on one labelled wall."""

    force_n: tuple[float, float, float]  #: (x, y, z) [N]
    torque_n_m: tuple[float, float, float]  #: (x, y, z) about the wall's centre [N m]
    body_force_share_n: tuple[float, float, float]  #: present uniform body force times volume of the wall's voxels [N]
    #: drag_coefficient, lift_coefficient: 2 F / (rho U^2 A) along the case's directions; None without U and A
    drag_coefficient: float | None = None
    lift_coefficient: float | None = None

    @classmethod
    def from_record(cls, record: Mapping) -> "WallForce":
        """The inverse of ``dataclasses.asdict``, also of what JSON made of that."""
        force, torque, share = (tuple(record[name]) for name in ("force_n", "torque_n_m", "body_force_share_n"))
        return cls(force, torque, share, record["drag_coefficient"], record["lift_coefficient"])


@dataclass(frozen=True)
class NodeState:
    """Populations, force and fields at m nodes, by ascending voxel id."""

    populations: np.ndarray  #: (Q, m) float64 deviations from w_q
    force: np.ndarray  #: (3, m) body force per volume of the collision at hand, lattice units
    share: np.ndarray  #: (m,) share of the node that is fluid
    beside: np.ndarray  #: (m,) density, minus 1, of the pressure of what else is in it
    fields: Mapping[str, np.ndarray]  #: (m,) values of fields of the model as they are stored, by name


class StressAtWalls(Protocol):
    """The viscous stress at the nodes that the wall shear stress follows from, as a run records it."""

    @property
    def patches(self) -> WallPatches:
        """Patches of all nodes adjacent to walls, on rank 0."""

    @property
    def voxel(self) -> np.ndarray:
        """Ascending voxel ids of the nodes at which it is measured, on rank 0."""

    def at(self, voxel: np.ndarray | None) -> np.ndarray | None:
        """(6, m) stress in the present state, lattice units, at those of the nodes with voxel ids (m,), on rank 0."""
