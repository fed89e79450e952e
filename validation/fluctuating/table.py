"""Validation cases of a fluctuating fluid."""

from muphy_lb.validation.fluctuating.decay import fluctuating_decay
from muphy_lb.validation.fluctuating.modes import fluctuating_modes
from muphy_lb.validation.fluctuating.walls import fluctuating_walls

CASES = (fluctuating_modes, fluctuating_walls, fluctuating_decay)
