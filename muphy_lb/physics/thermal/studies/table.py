"""Validation cases and benchmarks of thermal flow."""

from muphy_lb.physics.thermal.studies.conduction import heat
from muphy_lb.physics.thermal.studies.heat_balance import heated_budget
from muphy_lb.physics.thermal.studies.heated_bifurcation import heated_bifurcation
from muphy_lb.physics.thermal.studies.heated_cavity import heated_cavity
from muphy_lb.physics.thermal.studies.heated_cube import heated_cube
from muphy_lb.physics.thermal.studies.thelma import time_thelma

SHARED = ("heated-cube", "heated-bifurcation")
CASES = {
    "heat": heat,
    "heated-cavity": heated_cavity,
    "heated-cube": heated_cube,
    "heated-bifurcation": heated_bifurcation,
}
PAPERS = {"thelma": time_thelma}
BUDGETS = (heated_budget,)
