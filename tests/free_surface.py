"""Flows with a free surface, for tests of the solver's inside."""

from dataclasses import dataclass

from muphy_lb.operators import Operator
from muphy_lb.physics.flow import plain_flow
from muphy_lb.physics.free_surface.capillarity import NO_TENSION
from muphy_lb.physics.free_surface.model import free_surface
from muphy_lb.physics.isothermal import Fluid
from tests.support import Setup


@dataclass(frozen=True)
class SurfaceSetup(Setup):
    """A flow with a free surface."""

    gas_deviation: float = 0.0
    capillarity: Operator = NO_TENSION

    def model(self):
        """Isothermal flow with gas above it."""
        flow = plain_flow(self.lattice, Fluid(self.rates), self.streaming, self.force)
        return free_surface(flow, self.gas_deviation, self.capillarity, {}).model()
