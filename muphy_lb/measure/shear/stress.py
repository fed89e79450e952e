"""Velocity and viscous stress at selected nodes from their populations, on the host in double precision, and the stress
at the nodes that the wall shear stress follows from, in a run that records it."""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from numba import prange

from muphy_lb.backends.cpu.skeletons import CHUNK_NODES, loop_jit, node_jit, on_threads
from muphy_lb.base.errors import InputError
from muphy_lb.base.precision import FP64
from muphy_lb.domain import streaming_named
from muphy_lb.geometry.search import distinct
from muphy_lb.lattice import Lattice, added, combined
from muphy_lb.measure.flow_view import FlowView, on_root, whole_nodes
from muphy_lb.measure.records import NodeState
from muphy_lb.measure.shear.wall_nodes import WallPatches, WallSurface, wall_patches
from muphy_lb.model.isothermal import Fluid
from muphy_lb.operators import Equilibrium, Operator
from muphy_lb.operators.forces import COMPONENTS, FIELD
from muphy_lb.operators.viscous_stress import viscous_stress


class NodeStress:
    """The viscous stress and the viscosity of nodes, by compiled code. ``fluid``: the collision of the flow;
    ``lattice``: velocity set. Raises InputError: the viscosity follows from fields of the nodes, which are not measured
    with the populations."""

    def __init__(self, fluid: Fluid, lattice: Lattice):
        if fluid.closure.reads:
            raise InputError(
                f"the stress of nodes is asked for, and the viscosity of {fluid.closure.name!r} follows from"
                f" {', '.join(fluid.closure.reads)}, which is not known beside it; leave stress, strain rates and"
                " velocity gradients out of the outputs"
            )
        self._operator = viscous_stress(fluid.equilibrium, fluid.closure, FIELD)
        self._parameters, self._lattice = fluid.parameters, lattice

    def __call__(
        self, populations: Sequence[np.ndarray], unit: float, force: np.ndarray, share: np.ndarray | float = 1.0
    ) -> np.ndarray:
        """(6, m) viscous stress, lattice units: xx, yy, zz, xy, yz, zx.

        Args: as of :meth:`with_viscosity`.
        """
        return self.with_viscosity(populations, unit, force, share)[:6]

    def with_viscosity(
        self, populations: Sequence[np.ndarray], unit: float, force: np.ndarray, share: np.ndarray | float = 1.0
    ) -> np.ndarray:
        """(7, m) viscous stress, lattice units: xx, yy, zz, xy, yz, zx; and the dynamic viscosity.

        Args:
            populations: of one step or two, whose mean is taken: (Q m,) stored deviations from w_q before collision,
                one direction after the other.
            unit: of the stored populations.
            force: (3, m) body force per volume, lattice units.
            share: (m,) or one, the stress over that which the fluid's collision would have.
        """
        given = self._parameters | dict(zip(COMPONENTS, force, strict=True))
        values = tuple(given[parameter.name] for parameter in self._operator.parameters)
        found = np.empty((7, force.shape[1]))
        sweep, states = _sweep(self._operator, self._lattice), (populations[0], populations[-1])
        on_threads(force.shape[1], lambda: sweep(*states, 0.5 / unit, found, values))()
        found[:6] *= share
        return found


@cache
def _sweep(operator: Operator, lattice: Lattice):
    """The compiled loop of an operator over nodes, which takes the mean of two states."""
    stress = operator.compile(lattice, FP64, node_jit)
    q_count = lattice.q

    @loop_jit
    def sweep(first, last, half, found, values):
        n_nodes = found.shape[1]
        for chunk in prange(-(-n_nodes // CHUNK_NODES)):
            f = np.empty(q_count)
            for n in range(chunk * CHUNK_NODES, min((chunk + 1) * CHUNK_NODES, n_nodes)):
                for q in range(q_count):
                    f[q] = half * (np.float64(first[q * n_nodes + n]) + np.float64(last[q * n_nodes + n]))
                xx, yy, zz, xy, yz, zx, viscosity = stress(f, n, values)
                found[0, n], found[1, n], found[2, n] = xx, yy, zz
                found[3, n], found[4, n], found[5, n], found[6, n] = xy, yz, zx, viscosity

    return sweep


def density_and_velocity(
    state: NodeState, equilibrium: Equilibrium, lattice: Lattice, half_force: float
) -> tuple[np.ndarray, np.ndarray]:
    """(m,) density and (3, m) velocity; ``half_force`` is the share of the force in the momentum, 1/2 before and -1/2
    after collision."""
    density = 1.0 + added(state.populations)
    momentum = combined(lattice.c.T, state.populations) + half_force * state.force
    return density, equilibrium.velocity(momentum, density)


def stored_density_and_velocity(view: FlowView, state: NodeState) -> tuple[np.ndarray, np.ndarray]:
    """(m,) density and (3, m) velocity, lattice units, of what :meth:`~muphy_lb.measure.node_probe.NodeProbe.stored`
    reads of a flow."""
    half_force = streaming_named(view.case.compute.streaming).half_force
    return density_and_velocity(state, view.fluid.equilibrium, view.lattice, half_force)


VOXEL, STRESS = "voxel", "stress"


class RecordedStress:
    """The stress of the populations that the last step has brought and of those that the step ahead brings, their mean;
    measured once a step and kept, since the state holds only the latter. Every call is collective.

    Of a body force that accumulates in a field the state holds that of the last collision only, so the stress of either
    step takes it from the step before. A force F enters the stress by F F / (4 rho) alone: the delay is an error of
    first order in the time step, in a term of second order in that force.
    """

    def __init__(self, view: FlowView):
        self._view, wanted = view, None
        self._patches: WallPatches | None = None
        if view.communicator.rank == 0:
            self._patches = wall_patches(whole_nodes(view), view.lattice)
            wanted = nodes_of_stress(self._patches.surface)
        self._voxel = wanted
        self._probe, self._compute = view.node_probe(wanted), NodeStress(view.fluid, view.lattice)
        self._stress: np.ndarray | None = None
        self._step: int | None = None

    @property
    def patches(self) -> WallPatches:
        """Patches of all nodes adjacent to walls, on rank 0."""
        return on_root(self._patches)

    @property
    def voxel(self) -> np.ndarray:
        """Ascending voxel ids of the nodes at which it is measured, on rank 0."""
        return on_root(self._voxel)

    def remember(self) -> None:
        """Keep what arrives in the step ahead, which is the last one before the stress is asked for."""
        self._probe.remember()

    def at(self, voxel: np.ndarray | None) -> np.ndarray | None:
        """(6, m) stress in the present state, lattice units, at those of the nodes with voxel ids (m,), on rank 0."""
        if self._step != self._view.step_number:
            self._stress, self._step = self._probe.arriving(self._compute), self._view.step_number
        if self._stress is None or voxel is None:
            return None
        return self._stress[:, np.searchsorted(on_root(self._voxel), voxel)]

    def record(self) -> dict[str, np.ndarray]:
        """``voxel`` ids (m,) and ``stress`` (6, m) of the present state, for checkpoints, on rank 0; else empty."""
        stress = self.at(self._voxel)
        return {} if stress is None else {VOXEL: on_root(self._voxel), STRESS: stress}

    def restore(self, record: Mapping[str, np.ndarray]) -> None:
        """Take the record of the present state, given on rank 0; one of other nodes, or none, changes nothing."""
        fits = self._voxel is not None and np.array_equal(record.get(VOXEL, ()), self._voxel)
        fits = fits and STRESS in record and record[STRESS].shape == (6, record[VOXEL].size)
        if self._view.communicator.broadcast(fits):
            self._stress, self._step = record.get(STRESS) if fits else None, self._view.step_number

    def forget(self) -> None:
        """The flow is another one."""
        self._stress = self._step = None


def nodes_of_stress(surface: WallSurface) -> np.ndarray:
    """Ascending voxel ids of the nodes of a surface and of the next ones inwards."""
    return distinct(np.concatenate((surface.voxel, surface.inwards[surface.inwards >= 0])))
