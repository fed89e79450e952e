"""A simulation is a view of its flow, with all that the contract names."""

import numpy as np
import pytest

from muphy_lb.measure.flow_view import FlowView
from tests.channel import open_channel, simulate

NAMES = sorted({name for name in (*dir(FlowView), *FlowView.__annotations__) if not name.startswith("_")})


@pytest.fixture(scope="module")
def simulation():
    """A channel after a few steps."""
    return simulate(open_channel(), 5)


@pytest.mark.parametrize("name", NAMES)
def test_a_simulation_has_what_a_view_offers(simulation, name):
    assert hasattr(simulation, name)


@pytest.mark.parametrize(
    ("name", "scale"), [("density", 1000.0), ("velocity_m_s", 1.0), ("pressure_pa", 1.0)], ids=lambda value: str(value)
)
def test_a_field_by_name_is_that_of_its_method(simulation, name, scale):
    field = simulation.field(name.split("_")[0])
    assert np.array_equal(field, scale * getattr(simulation, name)())
