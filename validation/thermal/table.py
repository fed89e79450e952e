"""Validation cases of thermal flow."""

from muphy_lb.validation.thermal.conduction import heat
from muphy_lb.validation.thermal.heat_balance import heated_budget
from muphy_lb.validation.thermal.heated_bifurcation import heated_bifurcation
from muphy_lb.validation.thermal.heated_cavity import heated_cavity, heated_cube
from muphy_lb.validation.thermal.round_walls import heated_annulus, round_walls
from muphy_lb.validation.thermal.unsteady_window import heated_window

SHARED = ("heated-cube", "heated-bifurcation", "heated-window")
CASES = (heat, round_walls, heated_annulus, heated_cavity, heated_cube, heated_bifurcation, heated_window)
BUDGETS = (heated_budget,)
