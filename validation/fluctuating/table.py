"""Validation cases of a fluctuating fluid."""

from muphy_lb.validation.fluctuating.decay import fluctuating_decay
from muphy_lb.validation.fluctuating.equilibrium import fluctuating_modes, fluctuating_walls

CASES = (fluctuating_modes, fluctuating_walls, fluctuating_decay)
