"""Outlets of species and heat: the zero gradient lies at the face of the opening, whatever the diffusivity."""

import numpy as np
import pytest

from muphy_lb.physics.scalar_series import OutletFluxes
from tests.channel import BOTTOM, HEIGHT, LENGTH, SPACING_M, SPEED_M_S, TIME_STEP_S, TOP, open_channel, simulate

PECLET, DAMKOEHLER = 1.0, 2.0
DIFFUSIVITIES = 0.02, 0.2  # in lattice units
SLIPPING = [BOTTOM | {"slip": True}, TOP | {"slip": True}]


def through_flow(diffusivity, at_inlet, walls=SLIPPING, **sections):
    """The channel with a plug flow at the Peclet number, settled; and the diffusivity in SI units."""
    speed_m_s = PECLET * diffusivity / LENGTH * SPEED_M_S
    openings = [
        {"name": "inlet", "velocity_m_s": speed_m_s, "profile": "plug"} | at_inlet,
        {"name": "outlet", "pressure_pa": 0.0},
    ]
    settled = {"openings": openings, "walls": walls, "lattice": {"collision": "trt"}, "compute": {"backend": "cpu"}}
    return simulate(open_channel(**settled | sections), int(4 * LENGTH**2 / diffusivity))


def si(diffusivity):
    """A diffusivity in SI units."""
    return diffusivity * SPACING_M**2 / TIME_STEP_S


def profile(simulation, name):
    """(LENGTH,) means over the sections of the channel."""
    x = simulation.nodes.coordinates()[:, 0]
    return np.bincount(x - x.min(), simulation.model_field(name)) / HEIGHT


def test_a_species_that_decays_has_its_exact_profile_at_any_diffusivity():
    """T'' - Pe T' - Da T = 0, T(0) = 1, T'(1) = 0; second order, and 4 u^2 of the diffusivity along a flow."""
    found, x = [], (np.arange(LENGTH) + 0.5) / LENGTH
    for diffusivity in DIFFUSIVITIES:
        decay = DAMKOEHLER * diffusivity / LENGTH**2 / TIME_STEP_S
        drug = {"name": "drug", "diffusivity_m2_s": si(diffusivity), "initial": 1.0, "decay_per_s": decay}
        found.append(profile(through_flow(diffusivity, {"species": {"drug": 1.0}}, species=[drug]), "drug"))
    up, down = PECLET / 2 + np.sqrt(PECLET**2 / 4 + DAMKOEHLER) * np.array([1.0, -1.0])
    share = down * np.exp(down) / (up * np.exp(up))
    exact = (np.exp(down * x) - share * np.exp(up * x)) / (1.0 - share)
    assert np.abs(found - exact).max() < 5e-3 and np.abs(found[0] - found[1]).max() < 2e-3


def test_heat_from_walls_has_its_exact_means_at_any_diffusivity():
    """Of sections: T'' - Pe T' + s = 0, T(0) = T'(1) = 0, with the flux of both walls over the height as s."""
    found, x = [], (np.arange(LENGTH) + 0.5) / LENGTH
    warm = [wall | {"temperature_gradient_k_m": 1.0 / SPACING_M} for wall in SLIPPING]
    for diffusivity in DIFFUSIVITIES:
        heat = {"method": "double-distribution", "diffusivity_m2_s": si(diffusivity), "reference_k": 300.0}
        heat |= {"expansion_1_k": 0.0, "gravity_m_s2": [0.0, 0.0, 0.0]}
        found.append(profile(through_flow(diffusivity, {"temperature_k": 300.0}, warm, thermal=heat), "temperature"))
    source = 2.0 * LENGTH**2 / HEIGHT
    exact = source / PECLET * (x - np.exp(-PECLET) * np.expm1(PECLET * x) / PECLET)
    assert np.abs(found - exact).max() < 0.012 * exact.max()  # of second order, from the inlet
    assert found[1] == pytest.approx(found[0], rel=1e-5)


def amount(simulation, scalar):
    """Of a scalar without sources."""
    return (simulation.model_field(scalar.name) * (1.0 + simulation.model_field(scalar.carrier))).sum()


def test_a_uniform_species_stays_so_at_an_outlet_that_holds_another():
    """And so the carrier; what is told to leave is what the fluid loses."""
    species = [{"name": name, "diffusivity_m2_s": si(0.1), "initial": 1.0} for name in ("drug", "salt")]
    openings = [
        {"name": "inlet", "velocity_m_s": 2e-3, "species": {"drug": 1.0, "salt": 1.0}},
        {"name": "outlet", "pressure_pa": 0.0, "species": {"salt": 0.0}},
    ]
    simulation = simulate(open_channel(species=species, openings=openings), 100)
    (physics,) = simulation.physics
    assert np.abs(simulation.model_field("drug") - 1.0).max() < 1e-13
    assert np.ptp(simulation.model_field("salt")) > 0.5
    drug = physics.scalars[0]
    measured = OutletFluxes(simulation, drug, physics.carrier)
    before, entering = amount(simulation, drug), measured.entering().sum()
    simulation.advance(1)
    assert amount(simulation, drug) - before == pytest.approx(entering, rel=1e-9, abs=1e-12)
