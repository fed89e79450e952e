"""The stress beside walls where beads push the fluid is that of the collisions, but for a push that is one step old."""

import numpy as np
import pytest

from muphy_lb.lattice.layout import RECORD
from muphy_lb.measure.shear.stress import STRESS, VOXEL
from muphy_lb.operators.viscous_stress import COMPONENTS
from muphy_lb.physics.particles.beads.motion import FORCE_UNIT, PUSH
from tests.channel import SPACING_M, periodic_channel, simulate

# Thermal noise changes the pushes from step to step.
BEADS = {
    "name": "beads",
    "kind": "beads",
    "positions_m": [[SPACING_M * x, SPACING_M * y, 0.0] for x, y in ((1.3, 1.2), (3.0, 1.8), (4.6, 5.7))],
    "mass_kg": 3e-6,
    "friction_kg_s": 3e-5,
}
CASE = {
    "particles": [BEADS],
    "fluid": {"temperature_k": 7e10},
    "flow": {"acceleration_m_s2": [1e-3, 0.0, 0.0]},
    "lattice": {"collision": "bgk"},
    "output": {"wall_shear": True},
}


def body_force(simulation) -> np.ndarray:
    """(3, n) body force of the last collision, lattice units."""
    acceleration = simulation.units.acceleration_to_lattice(np.array(CASE["flow"]["acceleration_m_s2"]))
    push = simulation.engine.fields.get(PUSH, simulation.engine.parity).reshape(-1, RECORD)[:, :3]
    return acceleration[:, None] + FORCE_UNIT * push.T


def product(a, b) -> np.ndarray:
    """(3, 3, n) symmetric part of the dyadic product of vectors (3, n)."""
    found = np.einsum("an,bn->abn", a, b)
    return (found + found.swapaxes(0, 1)) / 2


def before_collision(simulation) -> tuple[np.ndarray, ...]:
    """(n,) rho - 1, (3, n) momentum and (3, 3, n) second moment of the populations that arrived in the last step, from
    those that its collision has left and its force F: 1 - omega of what is beyond the equilibrium, and F."""
    omega, c, f = simulation.fluid.rates[0], simulation.lattice.c, simulation.engine.populations()
    force, deviation, momentum = body_force(simulation), f.sum(axis=0), c.T @ f
    density, u = 1.0 + deviation, (momentum - force / 2) / (1.0 + deviation)
    rest = deviation / 3.0 * np.diag([1.0, 1.0, 0.0])[:, :, None] + density * product(u, u)
    beyond = np.einsum("qa,qb,qn->abn", c, c, f) - rest - (2.0 - omega) * product(u, force)
    return deviation, momentum - force, rest + beyond / (1.0 - omega)


@pytest.mark.parametrize("backend", ["numpy", "cpu"])
def test_the_push_of_the_steps_before_enters_the_stress_by_its_square(backend):
    """Pi = <c c f> - rho / 3 - j j / rho + F F / (4 rho), of the means of two steps."""
    simulation = simulate(periodic_channel(compute={"backend": backend}, **CASE), 4)
    forces = [body_force(simulation)]
    simulation.advance(1)
    told, arrived = simulation.recorded_stress().record(), [before_collision(simulation)]
    forces.append(body_force(simulation))
    simulation.advance(1)
    arrived.append(before_collision(simulation))
    deviation, momentum, second = (np.mean(both, axis=0) for both in zip(*arrived, strict=True))
    force, factor = np.mean(forces, axis=0), simulation.fluid.rates[0] / 2 - 1.0
    pushed = product(force, force) / (4.0 * (1.0 + deviation))
    pressure = deviation / 3.0 * np.diag([1.0, 1.0, 0.0])[:, :, None]
    pi = second - pressure - product(momentum, momentum) / (1.0 + deviation) + pushed
    voxel = simulation.engine.domain.voxel
    node = np.argsort(voxel)[np.searchsorted(np.sort(voxel), told[VOXEL])]
    expected, share = (np.stack([factor * each[pair][node] for pair in COMPONENTS]) for each in (pi, pushed))
    np.testing.assert_allclose(told[STRESS], expected, rtol=0.0, atol=1e-14)
    assert np.abs(share).max() > 1e-7
