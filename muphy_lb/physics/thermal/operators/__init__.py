"""Operators of the temperature: one file = equation + source + specification + node function."""

from muphy_lb.physics.thermal.operators.buoyancy import BUOYANCY, LIFTING
from muphy_lb.physics.thermal.operators.energy import with_energy
from muphy_lb.physics.thermal.operators.finite_differences import LARGEST_DIFFUSIVITY, TEMPERATURE
from muphy_lb.physics.thermal.operators.scalar_distribution import carried, carried_at_rest, carried_rates

__all__ = [
    "BUOYANCY",
    "LARGEST_DIFFUSIVITY",
    "LIFTING",
    "TEMPERATURE",
    "carried",
    "carried_at_rest",
    "carried_rates",
    "with_energy",
]
