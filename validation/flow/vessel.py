"""A branching vessel: the inflow equals the sum of the outflows."""

from muphy_lb.case.case import case_from_dict
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.solver import Solver
from muphy_lb.validation.flows import until_steady
from muphy_lb.validation.record import Validation, at_least, relative
from muphy_lb.validation.settings import DEFAULT, Settings

CITATION = "conservation of mass at steady state; pressure falls along the flow"
TOLERANCE = 0.005
STEADY = 1e-4
PARENT_RADIUS_M = 1.5e-3


def vessel(settings: Settings = DEFAULT) -> Validation:
    """Inflow against the sum of the outflows of a tree with two (quick) or four outlets."""
    simulation = tree_flow(*((1, 2.5e-4) if settings.quick else (2, 1.5e-4)), settings)
    until_steady(simulation, lambda: flow_rates_m3_s(simulation), STEADY, interval=250)
    inflow, outflow = flow_rates_m3_s(simulation)
    inlet, *outlets = simulation.openings().values()
    drop_pa = inlet.mean_pressure_pa - max(outlet.mean_pressure_pa for outlet in outlets)
    rows = (
        relative(f"sum of {len(outlets)} outflows [m3/s]", inflow, outflow, TOLERANCE),
        at_least("pressure at the inlet above the highest at an outlet [Pa]", 0.0, drop_pa, 0.0),
    )
    return Validation("vessel", CITATION, rows)


def tree_flow(generations: int, spacing_m: float, settings: Settings = DEFAULT) -> Solver:
    """Blood-like flow into a generated tree, from rest."""
    outlets = [{"name": f"outlet_{k}", "pressure_pa": 0.0} for k in range(1, 2**generations + 1)]
    options = {"parent_radius_m": PARENT_RADIUS_M, "generations": generations}
    table = {
        "geometry": {"shape": "branching_vessel", "spacing_m": spacing_m, "options": options},
        "openings": [{"name": "inlet", "velocity_m_s": 0.05, "profile": "parabolic"}, *outlets],
        "fluid": {"density_kg_m3": 1060.0, "kinematic_viscosity_m2_s": 3.3e-6},
        "lattice": {"lattice_velocity": 0.03},
        "compute": settings.compute_table(),
        "run": {"steps": 1, "ramp_steps": 1000},
    }
    return Solver(case_from_dict(table), SerialCommunicator())


def flow_rates_m3_s(simulation: Solver) -> tuple[float, float]:
    """(inflow at the inlet, sum of the outflows) [m3/s]."""
    states = simulation.openings().values()
    return tuple(sum(s.flow_rate_m3_s for s in states if s.kind == kind) for kind in ("inlet", "outlet"))
