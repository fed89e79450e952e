"""The contract of a physics package: its interface to the rest of the program at set-up, during a run, and afterwards.

A package is a folder below ``muphy_lb/physics/`` with a row in :mod:`muphy_lb.base.registry`, which also describes
its light-weight part for the case file. Its ``package.py`` names a class derived from :class:`Physics` as ``PHYSICS``.
An object of that class is the physics of one simulation. Everything but the model has a default.
"""

from collections.abc import Callable, Mapping
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from muphy_lb.base.units import Units
from muphy_lb.case.case import Case
from muphy_lb.domain import LocalDomain
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.lattice import Lattice
from muphy_lb.measure.displacement import Displacement
from muphy_lb.measure.flow_view import FlowView, MeasuredPhysics, PreparedView
from muphy_lb.measure.observer import Observer
from muphy_lb.measure.wall_exchange import WallExchange
from muphy_lb.model.flow import Flow


class Physics(MeasuredPhysics):
    """A physics in addition to the flow, set up for one case. Measurements see the attributes of
    :class:`muphy_lb.measure.flow_view.MeasuredPhysics`.

    Args:
        case: with the section of this physics.
        header: the geometry without its node arrays.
        units: SI sizes of the lattice units.

    Raises:
        InputError: the case contains something that this physics cannot be combined with, or refers to something
            missing.

    Attributes:
        excludes: names of other physics with which no case may have it; two are refused if either names the other,
            or if both write a field.
        keeps_mass_at_walls: whether no node may gain or lose mass by the motion of a wall, and no wall displaces fluid.
        sets_pressure: whether it sets the initial pressure itself, unless the case gives one: none is
            then computed from the velocity, or set by a user.
        methods: functions ``(simulation, ...)`` that a simulation with this physics has as methods, by name.
        goes_on_in_frozen_flow: whether it is computed in a flow that stays as it is (``run.frozen_after_s``).
        is_carried: whether the flow carries it and does not feel it, so that it may change in such a flow.
        follows_darcy: whether a body force alone drives one fluid that fills all nodes, so that the flow has a
            permeability.
        needs_flow: whether it says nothing of a fluid at rest, so that one is doubted that nothing drives.
        displacement: the two fluids that it has, for commands on rocks; None if it has no second one.
        wall_exchange: its scalars that walls take up or give off, for commands that move walls; None without any.
        cpu_ns: time of a step for each node on a thread of a CPU [ns], where it takes longer than moving its bytes;
            0: it does not, or that is not known.
        imposes: keys of openings whose values it takes over while the flow continues (:meth:`impose`).
    """

    excludes: ClassVar[frozenset[str]] = frozenset()
    keeps_mass_at_walls: ClassVar[bool] = False
    sets_pressure: ClassVar[bool] = False
    methods: ClassVar[Mapping[str, Callable]] = MappingProxyType({})
    goes_on_in_frozen_flow: ClassVar[bool] = False
    is_carried: ClassVar[bool] = False
    follows_darcy: ClassVar[bool] = True
    needs_flow: ClassVar[bool] = False
    displacement: ClassVar[Displacement | None] = None
    wall_exchange: ClassVar[WallExchange | None] = None
    imposes: ClassVar[frozenset[str]] = frozenset()
    cpu_ns: ClassVar[float] = 0.0

    def __init__(self, case: Case, header: GeometryHeader, units: Units):
        raise NotImplementedError

    @classmethod
    def bytes_per_node(cls, case: Case, lattice: Lattice) -> float:
        """Memory per node in addition to that of the flow [bytes]."""
        return 0.0

    @classmethod
    def monitored_in(cls, case: Case) -> tuple[str, ...]:
        """Names of the ``MONITORED`` quantities that are measurable in the case."""
        return ()

    def check(self, view: PreparedView) -> None:
        """Refuse outputs that the geometry does not allow, before anything is computed; on every rank. Raises
        InputError: the case asks for such an output."""

    def extend(self, flow: Flow) -> Flow:
        """The flow of a rank, with this physics in it."""
        raise NotImplementedError

    def initial_fields(self, view: PreparedView) -> dict[str, np.ndarray]:
        """Initial values (n,) of the local nodes, or (1,), of fields of the model, by name, those of the end of step
        0: of a scalar's populations the leaving ones, with half of its source
        (:meth:`muphy_lb.physics.scalar.CarriedScalar.start`); collective."""
        return {}

    def impose(self, case: Case, domain: LocalDomain) -> dict[str, np.ndarray]:
        """Fields (n,) of the local nodes with the values that openings of another case have of ``imposes``, by name.
        Raises InputError: they do not go with the rest of it."""
        return {}

    def longest_stride(self, max_speed: float) -> float:
        """Steps of a frozen flow of that largest speed [voxels a step] that one of what it carries may take."""
        return inf

    def restarted(self, view: FlowView, before: int) -> dict[str, np.ndarray]:
        """Fields of the local nodes, as of :meth:`initial_fields`, with which it continues from a state, perhaps of
        another case, whose steps were as long as ``before`` steps of the flow; now they are as long as
        ``view.stride``; collective."""
        return {}

    def initial_flow(self, view: PreparedView) -> tuple[np.ndarray, np.ndarray] | None:
        """Initial density (n,) and velocity (3, n) or (3, 1) of the local nodes, lattice units; None for those of the
        case, or a flow at rest."""
        return None

    def initial_particles(self, view: PreparedView) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Columns of all particles at the start, by set and name, the same on every rank; collective."""
        return {}

    def describe(self) -> str:
        """Its part of the description of the method, one line."""
        return ""

    def observers(self, view: FlowView, folder: Path, resume_step: int | None) -> tuple[Observer, ...]:
        """Its outputs other than fields and probes; see :meth:`muphy_lb.measure.observer.Observer.create`."""
        return ()
