"""Balance over many steps: what is stored changes by what has entered, to the last digits, for a million steps.

Bounds of round-off: populations are stored as deviations from rest, of size a = 1e-4 to 1e-2 in these flows; a step
rounds each by a eps / 2 or less, eps = 2^-52 or 2^-23. Roundings of q n populations are independent, so a step changes
the mass by about sqrt(q n) a eps / 2, which over the mass n is sqrt(q / n) a eps / 2. Were they independent from step
to step, too, N steps would give sqrt(N) times that; but a steady flow rounds alike in every step, and N times that is
the bound: with n = 1e5, N = 1e6, a = 1e-2 it is 2e-14 in double and 8e-6 in single precision. The flow through openings
is counted in units of 2^-44 a link, which are added up without rounding; what they leave out, 1e-12 a step or so and
alike in every step of a steady flow, is added at each step that is looked at, for those since the last one. In the
first 1e4 steps, which are not steady, it may be wrong by as much as it is, 1e-13 of the mass.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import floor, inf, nan
from typing import Any

import numpy as np

from muphy_lb.base.narrow import known
from muphy_lb.base.registry import tables
from muphy_lb.boundaries.feedback import Feedback
from muphy_lb.engine.boundary_links import SUM_SCALE
from muphy_lb.operators import Operator, named
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Row, Settings, absolute, case
from muphy_lb.validation.flows import forced_flow, lattice_simulation
from muphy_lb.validation.limits import HALF, possible_precisions
from muphy_lb.validation.plot import Plot, Series

TOLERANCES = {"fp64": 1e-11, "fp32": 1e-5, "fp16": inf}
CLOSED_TOLERANCES = {"fp64": 1e-12, "fp32": 1e-6, "fp16": inf}
STEADY = {"fp64": 1e-9, "fp32": 1e-4, "fp16": inf}
# (steps, voxels across a cube of 1e5 or fewer nodes): of --quick, without a GPU, with one.
QUICK, ON_CPU, ON_GPU, N_SAMPLES = (2_000, 12), (100_000, 20), (1_000_000, 46), 200
FORCE, RELAXATION_TIME, POROSITY = (1e-5, 0.0, 0.0), 0.8, 0.6
INFLOW, VESSEL_VISCOSITY = 0.02, 0.05


@dataclass(frozen=True)
class Budget:
    """A flow whose balance is watched."""

    simulation: Solver  # the flow, on one rank
    # by name what is stored less what has entered, over all that is there, at the present step; a call may make a step
    drifts: Mapping[str, Callable[[], float]]
    tolerances: Mapping[str, float]  # largest drift by precision
    last_rows: Callable[[], list[Row]] = list  # comparisons at the end, of a flow that has had all its steps
    # largest drifts by name where the state at the end gives the bounds of round-off; they stand instead
    bounds: Callable[[], Mapping[str, float]] = dict


@case("balance", "what is stored changes by what has entered; round-off is bounded by N sqrt(q / n) a eps / 2 of it")
def balance(settings: Settings) -> Iterator:
    """Drift of mass, and of what a physics adds, over 10^6 steps on a GPU, 10^5 without, in every precision."""
    n_steps, size = QUICK if settings.quick else ON_GPU if settings.backend == "cuda" else ON_CPU
    others = () if settings.quick else possible_precisions(settings.backend)
    precisions = tuple(dict.fromkeys((settings.precision, *others)))
    of_physics = [make for table in tables("muphy_lb.validation") for make in getattr(table, "BUDGETS", ())]
    curves = []
    for precision, make in product(precisions, (closed_pack, open_vessel, *of_physics)):
        where = "" if precision == settings.precision else f", {precision}"
        budget = make(size, replace(settings, precision=precision))
        steps, drifts = followed(budget, n_steps)
        for name, values in drifts.items():  # a logarithmic axis has no place for zero
            curves.append(Series(f"{name}, {precision}", steps, [abs(drift) or nan for drift in values]))
        allowed = dict.fromkeys(drifts, budget.tolerances[precision]) | budget.bounds()
        for name, values in drifts.items():
            yield absolute(f"{name}: largest drift{where}", 0.0, max(map(abs, values)), allowed[name])
        for row in budget.last_rows():  # of the steady state, which a few steps do not reach
            tolerance = inf if settings.quick else row.tolerance
            yield replace(row, tolerance=tolerance, quantity=row.quantity + where)
    title = f"Balance over {n_steps:,} steps"
    yield Plot(title, "step", "relative drift", tuple(curves), log_x=True, log_y=True)
    if HALF in precisions:
        yield f"{HALF}: drifts are shown, not judged"


def followed(budget: Budget, n_steps: int) -> tuple[np.ndarray, dict[str, list[float]]]:
    """(steps, drifts by name) at about ``N_SAMPLES`` steps, evenly spaced on a logarithmic axis."""
    steps = np.unique(np.geomspace(1, n_steps, N_SAMPLES).astype(int))
    drifts: dict[str, list[float]] = {name: [] for name in budget.drifts}
    for step in steps.tolist():
        budget.simulation.step(max(0, step - budget.simulation.step_number))
        for name, drift in budget.drifts.items():
            drifts[name].append(drift())
    return steps, drifts


def closed_pack(size: int, settings: Settings) -> Budget:
    """A periodic pack of spheres that a uniform force drives."""
    geometry = {"shape": "sphere_pack", "options": {"size": size, "radius": size / 6.0, "porosity": POROSITY}}
    simulation = forced_flow(geometry, RELAXATION_TIME, FORCE, settings=settings)
    return Budget(simulation, {"mass of a closed pack of spheres": mass_drift(simulation)}, CLOSED_TOLERANCES)


def open_vessel(size: int, settings: Settings) -> Budget:
    """A vessel that splits once, with a velocity inlet and pressure outlets; what passes them is counted on the device
    in every step."""
    outlets = [{"name": f"outlet_{k}", "pressure_pa": 0.0} for k in (1, 2)]
    openings = [{"name": "inlet", "velocity_m_s": INFLOW, "profile": "parabolic"}, *outlets]
    options = {"generations": 1, "parent_radius_m": size / 3.0}
    geometry, lattice = {"shape": "branching_vessel", "options": options}, {"name": "D3Q19", "collision": "trt"}
    more: dict[str, Any] = {"make": _CountingSimulation, "openings": openings, "lattice": lattice}
    simulation = lattice_simulation(settings, geometry, VESSEL_VISCOSITY, **more)
    name = "mass of a vessel less what entered"
    return Budget(simulation, {name: OpenMass(simulation).drift}, TOLERANCES, lambda: _flow_rows(simulation))


def mass_drift(simulation: Solver) -> Callable[[], float]:
    """A function that gives the change of the mass since now, over the mass."""
    before = simulation.engine.totals().mass
    whole = simulation.header.n_nodes + before
    return lambda: (simulation.engine.totals().mass - before) / whole


class OpenMass:
    """Mass of a flow through openings that count, and what has entered since it was at rest. ``simulation``: of
    :func:`open_vessel`, at its start."""

    def __init__(self, simulation: Solver):
        self._simulation, self._closed = simulation, mass_drift(simulation)
        self._uncounted, self._step = 0.0, simulation.step_number

    def drift(self) -> float:
        """Change of the mass since the start less what has entered since, over the mass."""
        simulation = self._simulation
        n_steps, self._step = simulation.step_number - self._step, simulation.step_number
        flux, _ = simulation.engine.link_fluxes()
        self._uncounted += n_steps * float((flux - np.rint(flux * SUM_SCALE) / SUM_SCALE).sum())
        whole, rest, _ = map(sum, zip(*known(simulation.engine.feedback).record().values(), strict=True))
        counted = -(whole + rest)
        return self._closed() - (counted + self._uncounted) / simulation.header.n_nodes


def _count(outflow, deviation, state, parameters):
    """Add what leaves to the state, and keep the opening's value: the specification.

    The state is a whole number and a rest below one. A flow is a multiple of 2^-44, so no addition rounds, whereas a
    single sum of 1e7 would lose 1e-9 in every step.
    """
    rest = state[1] + outflow
    return parameters["value"], (state[0] + floor(rest), rest - floor(rest))


def _count_node(lattice, precision, jit, at):
    value = at["value"]

    def advance(outflow, deviation, state, parameters):
        rest = state[1] + outflow
        whole = floor(rest)
        state[0] += whole
        state[1] = rest - whole
        return parameters[value]

    return jit(advance)


COUNT = Operator("count-what-passes", _count, _count_node, named("value"))


class _CountingSimulation(Solver):
    """A simulation whose openings count, on the device and in every step, what passes them."""

    def _survey_openings(self) -> None:
        super()._survey_openings()
        names = ("passed_whole", "passed_rest")
        self.conditions = tuple(
            replace(each, feedback=Feedback(COUNT, {"value": each.value}, (0.0, 0.0), names, each.value))
            for each in self.conditions
        )


def _flow_rows(simulation: Solver) -> list[Row]:
    flows = simulation.engine.opening_sums(len(simulation.header.openings))[:, 0] / SUM_SCALE
    tolerance = STEADY[simulation.case.compute.precision]
    return [absolute("flow into the vessel less that out of it, over it", 0.0, flows.sum() / flows.max(), tolerance)]
