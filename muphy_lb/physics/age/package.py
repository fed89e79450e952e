"""The age of the fluid as a physics package (:mod:`muphy_lb.physics.package`).

Walls let nothing through, and fluid that enters brings no age along: the flux of age through an inlet, carried and
diffused, is zero (Danckwerts, Chem. Eng. Sci. 2, 1 (1953)). At outlets the age is carried out without a gradient; what
flows back there has the age of the node. So in a steady flow the mean age of what leaves, weighted by the flow, is
volume over flow rate, whatever diffusion does.
"""

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.units import Units
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.lattice import lattice_named
from muphy_lb.physics.age.observers import AgeMean
from muphy_lb.physics.age.section import FIELD
from muphy_lb.physics.scalar import CarriedScalar, ScalarPhysics, refuse_half_precision, scalar_boundary, smooth_below
from muphy_lb.physics.scalar_series import OutletFluxes, ScalarSeries


class Age(ScalarPhysics):
    """The age of the fluid [time steps], which grows by 1 in every step at every node."""

    name = "age"

    def __init__(self, case, header: GeometryHeader, units: Units):
        if not any(opening.kind == "outlet" for opening in header.openings):
            raise InputError("[age] needs an outlet through which age leaves, and the case has none; leave [age] out")
        refuse_half_precision(case, "[age]")
        self._diffusivity_m2_s = case.age.diffusivity_m2_s or case.fluid.viscosity_m2_s / (case.age.schmidt or 1.0)
        diffusivity = float(units.viscosity_to_lattice(self._diffusivity_m2_s))
        boundary, dimension = scalar_boundary(header, {}), lattice_named(case.lattice.name).dimension
        scalar = CarriedScalar(FIELD, dimension, diffusivity, boundary, 1.0, unit="s", in_si=units.time_step_s)
        super().__init__(scalar)

    def initial_fields(self, view) -> dict[str, np.ndarray]:
        """Initial age: all fluid has just entered, and gains half of its first step on arrival."""
        (scalar,) = self.scalars
        return scalar.carrier_start() | scalar.start(np.zeros(1), half_gain=np.zeros(1))

    def describe(self) -> str:
        """Diffusivity and stability, as text."""
        (scalar,) = self.scalars
        return f"age of the fluid: diffusivity {self._diffusivity_m2_s:.4g} m2/s; {smooth_below(scalar.diffusivity)}"

    def observers(self, view, folder, resume_step):
        """The time series, and the means at the end."""
        ages = OutletFluxes(view, self.scalars[0], self.carrier)
        return ScalarSeries(ages, view, folder, resume_step), AgeMean(ages, self._diffusivity_m2_s, view, folder)


PHYSICS = Age
