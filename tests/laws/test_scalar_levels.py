"""Scalars that are carried without populations have the values of those that are carried with them."""

import numpy as np
import pytest

from muphy_lb.operators.scalar_transport import NEAR, POPULATED
from muphy_lb.physics.scalar import CarriedScalar, links_of_sets
from muphy_lb.run.solver import Solver
from tests.laws.smallest import smallest


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
