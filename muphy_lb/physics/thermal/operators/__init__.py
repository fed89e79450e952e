"""Operators of the temperature: one file = equation + source + specification + node function. ``finite_differences``
and ``scalar_distribution`` advance the temperature, ``buoyancy`` is its force, ``energy`` a collision whose equilibrium
knows it."""

from muphy_lb.operators.scalar_transport import scalar_rates
from muphy_lb.physics.thermal.operators.buoyancy import BUOYANCY
from muphy_lb.physics.thermal.operators.energy import with_energy
from muphy_lb.physics.thermal.operators.finite_differences import LARGEST_DIFFUSIVITY, TEMPERATURE
from muphy_lb.physics.thermal.operators.scalar_distribution import scalar_collision
