"""Between two pressures a developed flow passes the openings unchanged, driven by their difference over the distance of
their planes."""

import numpy as np
import pytest

from muphy_lb.domain import STREAMINGS
from tests.channel import HEIGHT, open_channel, simulate

LENGTH, STEPS = 12, 6000
PASCALS = 1e-3
BETWEEN_PRESSURES = [{"name": "inlet", "pressure_pa": PASCALS}, {"name": "outlet", "pressure_pa": -PASCALS}]
KINDS = [("numpy", "pull"), *(("cpu", streaming) for streaming in STREAMINGS)]


def between_pressures(backend="cpu", streaming="pull", tau=0.8, **lattice):
    """Stokes flow in a plane channel after it has developed."""
    viscosity = (tau - 0.5) / 3 * 1e-4
    return simulate(
        open_channel(
            openings=BETWEEN_PRESSURES,
            geometry={"options": {"length": LENGTH, "height": HEIGHT, "width": 1, "ends": "open"}},
            fluid={"kinematic_viscosity_m2_s": viscosity},
            lattice={"collision": "trt", "equilibrium": "stokes"} | lattice,
            compute={"backend": backend, "streaming": streaming},
        ),
        STEPS,
    )


def along(simulation):
    """Pressure in each layer across the channel over that of the inlet, and (LENGTH, HEIGHT) velocities."""
    x = simulation.nodes.coordinates(np.arange(simulation.header.n_nodes))[:, 0]
    layers = [np.flatnonzero(x == each) for each in np.unique(x)]
    pascals = simulation.units.pascals_per_density(1 / 3) * (simulation.density() - 1.0)
    velocity = simulation.velocity_m_s()[:, 0]
    return np.array([pascals[layer].mean() for layer in layers]), np.array([velocity[layer] for layer in layers])


def shape_error(velocity):
    """Largest difference of the profile of any layer from that of the middle, over the mean."""
    return np.abs(velocity - velocity[LENGTH // 2]).max() / velocity.mean()


@pytest.mark.parametrize(("backend", "streaming"), KINDS)
@pytest.mark.parametrize("tau", [0.6, 0.8, 1.0, 1.4])
def test_a_developed_flow_passes_openings_unchanged(backend, streaming, tau):
    pressure, velocity = along(between_pressures(backend, streaming, tau))
    gradient = np.diff(pressure) / (-2 * PASCALS / LENGTH)
    assert np.abs(gradient - 1.0).max() < 1e-8 and shape_error(velocity) < 1e-10


@pytest.mark.parametrize("collision", ["bgk", "mrt", "recursive-regularised", "cumulant"])
def test_collisions_of_all_kinds_keep_the_gradient(collision):
    """Measured: the shape within 2e-3 of the mean, where the collision does not keep all that link-wise walls need."""
    pressure, velocity = along(between_pressures(collision=collision, equilibrium="compressible"))
    gradient = (pressure[LENGTH // 3] - pressure[2 * LENGTH // 3]) / (LENGTH // 3)
    assert gradient == pytest.approx(2 * PASCALS / LENGTH, rel=2e-3) and shape_error(velocity) < 5e-3
