"""One setup of every relaxation, equilibrium, closure and velocity set: every kind of kernel that users can choose."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np

from muphy_lb.domain import LocalDomain
from muphy_lb.lattice import D2Q9, D3Q15, D3Q19, D3Q27
from muphy_lb.model.isothermal import Fluid
from muphy_lb.model.model import Field, Model
from muphy_lb.operators import (
    BGK,
    CARREAU_YASUDA,
    CASSON,
    CUMULANT,
    INCOMPRESSIBLE,
    POWER_LAW,
    RECURSIVE_REGULARISED,
    RECURSIVE_REGULARISED_NEAR_WALLS,
    REGULARISED,
    SMAGORINSKY,
    STOKES,
    TRT,
    drag_rates,
    mrt_for,
)
from muphy_lb.operators.darcy import RATES
from tests.parity.cases import FORCE
from tests.support import THROUGH_FLOW, Setup, plain_flow

OMEGA, MAGIC = 1.25, 0.1875
VISCOSITIES = (0.01, 0.5)


def _mrt(lattice, **more) -> Setup:
    relaxation, rates = mrt_for(lattice)
    smagorinsky = (0.14,) if more.get("closure") is SMAGORINSKY else ()
    return _setup(lattice, relaxation=relaxation, rates=(OMEGA, *rates, *smagorinsky), **more)


@dataclass(frozen=True)
class _WithMedium(Setup):
    """Every third node belongs to a porous medium, each with a permeability of its own."""

    def model(self) -> Model:
        """The flow with drag."""
        fluid = Fluid(self.rates, self.relaxation, self.equilibrium, self.closure)
        flow = plain_flow(self.lattice, fluid, self.streaming, self.force)
        return flow.dragged_by(Field(name, fixed=partial(_rate, row)) for row, name in enumerate(RATES)).model()


def _rate(row: int, domain: LocalDomain) -> np.ndarray:
    permeability = np.where(domain.voxel % 3 == 0, 10.0 ** (domain.voxel % 7 - 4.0), np.inf)
    return drag_rates(permeability, (1.0 / OMEGA - 0.5) / 3.0)[row]


def _setup(lattice, rates=(OMEGA,), **more) -> Setup:
    return Setup(lattice, rates=rates, force=FORCE[lattice.dimension], conditions=THROUGH_FLOW, **more)


KINDS: Mapping[str, Setup] = MappingProxyType(
    {
        "trt": _setup(D3Q19, (OMEGA, MAGIC), relaxation=TRT),
        "mrt": _mrt(D3Q19),
        "regularised": _setup(D3Q19, relaxation=REGULARISED),
        "recursive-regularised": _setup(D3Q19, relaxation=RECURSIVE_REGULARISED),
        "recursive-regularised near walls": _setup(D3Q19, relaxation=RECURSIVE_REGULARISED_NEAR_WALLS),
        "D2Q9-cumulant": _setup(D2Q9, relaxation=CUMULANT),
        "D3Q27-cumulant": _setup(D3Q27, relaxation=CUMULANT),
        "incompressible": _setup(D3Q19, equilibrium=INCOMPRESSIBLE),
        "trt-stokes": _setup(D3Q19, (OMEGA, MAGIC), relaxation=TRT, equilibrium=STOKES),
        "smagorinsky": _setup(D3Q19, (OMEGA, 0.14), closure=SMAGORINSKY),
        "mrt-smagorinsky": _mrt(D3Q19, closure=SMAGORINSKY),
        "power-law": _setup(D3Q19, (OMEGA, 0.05, 0.7, *VISCOSITIES), closure=POWER_LAW),
        "carreau-yasuda": _setup(D3Q19, (OMEGA, 0.3, 0.02, 1e4, 0.64, 0.2128, *VISCOSITIES), closure=CARREAU_YASUDA),
        "casson": _setup(D3Q19, (OMEGA, 1e-3, 0.2, *VISCOSITIES), closure=CASSON),
        "D3Q15-mrt": _mrt(D3Q15),
        "D3Q27-mrt": _mrt(D3Q27),
        "D2Q9-mrt-stokes": _mrt(D2Q9, equilibrium=STOKES),
        "D2Q9-bgk": _setup(D2Q9, relaxation=BGK),
        "medium": _WithMedium(D3Q19, force=FORCE[3], rates=(OMEGA,), conditions=THROUGH_FLOW, relaxation=REGULARISED),
        "D2Q9-medium": _WithMedium(D2Q9, force=FORCE[2], rates=(OMEGA,), conditions=THROUGH_FLOW),
    }
)
