"""Small plane channels as cases: one with openings and a moving wall, one driven by a body force."""

from copy import deepcopy

from muphy_lb.case.case import Case, case_from_dict
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.solver import Solver

SPACING_M, TIME_STEP_S, DENSITY_KG_M3 = 1e-3, 1e-2, 1000.0
SPEED_M_S = SPACING_M / TIME_STEP_S
LENGTH, HEIGHT = 8, 6
WHOLE = 1.0
BOTTOM = {"name": "bottom", "box_m": [[-WHOLE, -1e-4, -WHOLE], [WHOLE, 1e-4, WHOLE]]}
TOP = {"name": "top", "box_m": [[-WHOLE, 6.9e-3, -WHOLE], [WHOLE, 7.1e-3, WHOLE]]}

PERIODIC = {
    "title": "small channel",
    "geometry": {
        "shape": "channel",
        "spacing_m": SPACING_M,
        "options": {"length": LENGTH, "height": HEIGHT, "width": 1},
    },
    "walls": [BOTTOM, TOP],
    "fluid": {"density_kg_m3": DENSITY_KG_M3, "kinematic_viscosity_m2_s": 1e-5},
    "lattice": {"name": "D2Q9", "time_step_s": TIME_STEP_S},
    "compute": {"backend": "numpy", "precision": "fp64"},
    "run": {"steps": 40, "ramp_steps": 0, "check_interval_steps": 10},
    "output": {"series_every_steps": 10, "picture": False, "vtk": False},
}
OPEN = deepcopy(PERIODIC)
OPEN["geometry"]["options"]["ends"] = "open"
OPEN["openings"] = [{"name": "inlet", "velocity_m_s": 2e-3}, {"name": "outlet", "pressure_pa": 0.0}]


def changed(table, **sections) -> dict:
    """The tables with keys of sections changed (``None`` removes one), and lists of tables replaced."""
    table = deepcopy(table)
    for name, keys in sections.items():
        if isinstance(keys, dict):
            keys = {key: value for key, value in (table.get(name, {}) | keys).items() if value is not None}
        table[name] = keys
    return table


def open_channel(folder=".", inlet=None, **sections) -> Case:
    """The channel with openings as a checked case; ``inlet`` replaces the condition there."""
    if inlet is not None:
        sections["openings"] = [{"name": "inlet"} | inlet, OPEN["openings"][1]]
    return case_from_dict(changed(OPEN, **sections), folder)


def periodic_channel(folder=".", **sections) -> Case:
    """The channel with joined ends as a checked case."""
    return case_from_dict(changed(PERIODIC, **sections), folder)


def simulate(case: Case, n_steps: int = 0) -> Solver:
    """The simulation of a case on one rank of this process, so many steps after rest."""
    simulation = Solver(case, SerialCommunicator())
    simulation.advance(n_steps)
    return simulation
