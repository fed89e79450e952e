"""Validation cases of a fluctuating fluid."""

from muphy_lb.validation.fluctuating.decay import fluctuating_decay
from muphy_lb.validation.fluctuating.modes import fluctuating_modes
from muphy_lb.validation.fluctuating.walls import fluctuating_walls

SHARED = ()
CASES = {
    "fluctuating-modes": fluctuating_modes,
    "fluctuating-walls": fluctuating_walls,
    "fluctuating-decay": fluctuating_decay,
}
PAPERS: dict = {}
