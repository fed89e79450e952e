"""Small cases with a free surface."""

from muphy_lb.case.case import load_case
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver

DAM = """
title = "Breaking dam"
geometry = {{ shape = "tank", spacing_m = 1e-3, options = {{ length = 16, height = 10, width = {width} }} }}
fluid = {{ density_kg_m3 = 1000.0, kinematic_viscosity_m2_s = 2e-4 }}
flow = {{ acceleration_m_s2 = {gravity} }}
lattice = {{ name = "{lattice}", time_step_s = 2e-4 }}
compute = {{ backend = "numpy", precision = "fp64" }}
run = {{ steps = 20 }}
output = {{ picture = false, report = false, series_every_steps = 10, checkpoint_every_steps = 10 }}
[free_surface]
{keys}
[[free_surface.liquid]]
{liquid}
"""
QUARTER = "box_m = [[-1.0, -1.0, -1.0], [7.5e-3, 4.5e-3, 1.0]]"


def dam(folder, keys="", width=1, gravity="[0.0, -9.81, 0.0]", liquid=QUARTER):
    """A case of a dam, in two or three dimensions."""
    lattice = "D2Q9" if width == 1 else "D3Q19"
    path = folder / "case.toml"
    path.write_text(DAM.format(keys=keys, width=width, gravity=gravity, lattice=lattice, liquid=liquid))
    return path


def run(path, folder, changes=(), resume=False):
    """Run a case to its end in a folder, from its last checkpoint if that is asked for."""
    simulation = Solver(load_case(path, list(changes)), SerialCommunicator())
    Run(simulation, folder, resume=resume).execute()
    return simulation
