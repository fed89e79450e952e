"""Builders for tests of a fluctuating fluid."""

from dataclasses import dataclass

from muphy_lb.model.isothermal import Fluid
from muphy_lb.model.model import Model
from muphy_lb.physics.fluctuating.package import fluctuating
from tests.support import Setup, plain_flow

KT = 1e-4


@dataclass(frozen=True)
class FluctuatingSetup(Setup):
    """A fluctuating flow."""

    kt: float = KT
    seed: int = 1

    def model(self) -> Model:
        """The flow with noise."""
        fluid = Fluid(self.rates, self.relaxation, self.equilibrium, self.closure)
        return fluctuating(plain_flow(self.lattice, fluid, self.streaming, self.force), self.kt, self.seed).model()
