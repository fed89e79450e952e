"""The viscous stress at nodes from their populations before collision; the specification."""

import numpy as np

from muphy_lb.domain import streaming_named
from muphy_lb.lattice import Lattice, added, combined, second_moment
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.measure.node_probe import NodeState
from muphy_lb.operators import Equilibrium
from muphy_lb.physics.isothermal import Fluid


def viscous_stress(state: NodeState, fluid: Fluid, lattice: Lattice) -> np.ndarray:
    """(3, 3, m) viscous stress, lattice units: sigma = -(1 - omega / 2) Pi.

    Pi_ab = sum_q c_a c_b (f_q - f_q^eq + S_q / 2), S the source of the body force; omega is that of the node, which a
    viscosity law or a turbulence model may set. Krueger et al., The Lattice Boltzmann Method (2017), sect. 4.1 and 6.3.

    Args:
        state: populations before collision.
        fluid: the collision of the flow.
        lattice: velocity set.
    """
    f = state.populations + lattice.w[:, None]
    density, velocity = density_and_velocity(state, fluid.equilibrium, lattice, 0.5)
    at_rest = fluid.equilibrium.populations(density, velocity, lattice)
    source = fluid.equilibrium.source(velocity, state.force, lattice)
    pi = second_moment(f - at_rest + source / 2, lattice)
    return -(1.0 - 0.5 * _omega(pi, density, fluid)) * pi


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


def _omega(pi: np.ndarray, density: np.ndarray, fluid: Fluid):
    """Rate of the viscosity at each node."""
    closure, omega = fluid.closure, fluid.rates[0]
    if not closure.needs_stress:
        return omega
    inertia = density if fluid.equilibrium.is_compressible else 1.0
    return closure.reference(omega, np.sqrt(added((pi * pi).reshape(9, -1))) / inertia, fluid.parameters)
