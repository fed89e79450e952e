"""Scalars that are carried without populations have the values of those that are carried with them."""

import numpy as np
import pytest

from muphy_lb.operators.scalar_transport import NEAR, POPULATED
from muphy_lb.physics.scalar import CarriedScalar, links_of_sets
from muphy_lb.run import changes
from muphy_lb.run.solver import Solver
from tests.laws.smallest import LOW, smallest


def values(name: str, n_steps: int, **more) -> dict[str, np.ndarray]:
    """Of all scalars and of their carrier after some steps."""
    simulation = Solver(smallest(name, **more))
    simulation.step(n_steps)
    scalars = simulation.physics[0].scalars
    return {each: simulation.model_field(each) for of in scalars for each in (of.name, of.carrier)}


@pytest.mark.parametrize("name", ["species", "age"])
def test_both_have_the_same_values(name, monkeypatch):
    """Beside openings and walls of every kind, with reactions, while the flow begins."""
    found = values(name, 60)
    monkeypatch.setattr(CarriedScalar, "has_levels", False)
    expected = values(name, 60)
    for each, row in expected.items():
        assert np.abs(found[each] - row).max() < 1e-13 * max(1.0, np.abs(row).max()) and np.ptp(row) > 1e-5


def test_populations_stay_beside_openings_and_walls_that_act():
    simulation = Solver(smallest("species"))
    engine, (physics,) = simulation.engine, simulation.physics
    simulation.step(1)
    bits = links_of_sets(engine.domain, [each.populations_set for each in physics.scalars]).astype(int)
    kept = engine.fields.get("species_populations_keeping", engine.parity) == 1
    assert kept[bits & POPULATED != 0].all() and not kept[bits & NEAR == 0].any() and 0.1 < kept.mean() < 0.9


def in_channel(**more) -> Solver:
    """A drug of random values in a closed channel, beside a wall with a flux of almost nothing."""
    drug, low = {"name": "drug", "diffusivity_m2_s": 0.03}, LOW | {"species_flux": {"drug": 1e-30}}
    simulation = Solver(smallest(species=[drug], **({"walls": [low]} | more)))
    simulation.step(280)
    simulation.set_species("drug", np.random.default_rng(1).random(simulation.header.n_nodes))
    return simulation


def amount(simulation: Solver) -> float:
    """Of the drug."""
    return float((simulation.model_field("drug") * (1.0 + simulation.model_field("species_carrier"))).sum())


def test_values_that_are_set_are_carried_as_with_populations(monkeypatch):
    simulation = in_channel()
    before = amount(simulation)
    simulation.step(30)
    assert amount(simulation) == pytest.approx(before, rel=1e-13)
    monkeypatch.setattr(CarriedScalar, "has_levels", False)
    expected = in_channel()
    expected.step(30)
    assert simulation.model_field("drug") == pytest.approx(expected.model_field("drug"), abs=1e-13)


def test_longer_steps_keep_the_amount():
    simulation = in_channel(run={"frozen_after_s": 300.0, "frozen_step_s": 5.0, "ramp_steps": 0})
    before = amount(simulation)
    simulation.step(60)
    assert simulation.stride > 1 and amount(simulation) == pytest.approx(before, rel=1e-13)


def test_a_wall_that_begins_to_act_finds_populations(monkeypatch):
    found = []
    for has_levels in (True, False):
        monkeypatch.setattr(CarriedScalar, "has_levels", has_levels)
        simulation = in_channel(walls=[LOW])
        simulation.step(100)
        acting = changes.changed(simulation, {"walls.low.species_uptake_m_s": {"drug": 0.05}})
        acting.step(1)
        found.append(acting.model_field("drug"))
    assert np.abs(found[0] - found[1]).max() < 1e-3 * found[1].max()


def test_a_state_that_goes_on_keeps_its_populations():
    """Also those of a species of which next to nothing is left."""
    case = smallest("species", "age", compute={"backend": "cpu"})
    simulation, other = Solver(case), Solver(case)
    simulation.step(500)
    other.state.go_on_from(simulation.state.record())
    found, expected = other.state.fields(), simulation.state.fields()
    assert all(np.array_equal(found[name], row) for name, row in expected.items())
