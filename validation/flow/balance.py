"""Balance over many steps: what is stored changes by what has entered, to the last digits, for a million steps.

What round-off allows. Populations are stored as deviations from rest, of size a = 1e-4 to 1e-2 in these flows; a step
rounds each by a eps / 2 or less, eps = 2^-52 or 2^-23. Roundings of q n populations are independent, so a step changes
the mass by about sqrt(q n) a eps / 2, which over the mass n is sqrt(q / n) a eps / 2. Were they independent from step
to step, too, N steps would give sqrt(N) times that; but a steady flow rounds alike in every step, and N times that is
the bound: with n = 1e5, N = 1e6, a = 1e-2 it is 2e-14 in double and 8e-6 in single precision. What passes openings is
counted in units of 2^-44 a link, which are added up without rounding; what they leave out, 1e-12 a step or so and alike
in every step of a steady flow, is added at each step that is looked at, for those since the last one. In the first 1e4
steps, which are not steady, it may be wrong by as much as it is, 1e-13 of the mass.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import floor, inf, nan

import numpy as np

from muphy_lb.base.registry import tables
from muphy_lb.boundaries.feedback import Feedback
from muphy_lb.engine.boundary_links import SUM_SCALE
from muphy_lb.operators import Operator, named
from muphy_lb.run.simulation import Simulation
from muphy_lb.validation.flows import forced_flow, lattice_simulation
from muphy_lb.validation.limits import HALF
from muphy_lb.validation.plot import Plot, Series
from muphy_lb.validation.precision import possible_precisions
from muphy_lb.validation.record import Row, Validation, absolute
from muphy_lb.validation.settings import DEFAULT, Settings

CITATION = "what is stored changes by what has entered; round-off is bounded by N sqrt(q / n) a eps / 2 of it"
TOLERANCES = {"fp64": 1e-11, "fp32": 1e-5, "fp16": inf}
CLOSED_TOLERANCES = {"fp64": 1e-12, "fp32": 1e-6, "fp16": inf}
STEADY = {"fp64": 1e-9, "fp32": 1e-4, "fp16": inf}
# (steps, voxels across a cube of 1e5 or fewer nodes): of --quick, without a GPU, with one.
QUICK, ON_CPU, ON_GPU = (2_000, 12), (100_000, 20), (1_000_000, 46)
N_SAMPLES = 200
FORCE, RELAXATION_TIME, POROSITY = (1e-5, 0.0, 0.0), 0.8, 0.6
INFLOW, VESSEL_VISCOSITY = 0.02, 0.05


@dataclass(frozen=True)
class Budget:
    """A flow whose balance is watched."""

    simulation: Simulation  # the flow, on one rank
    # by name what is stored less what has entered, over all that is there, at the present step; a call may make a step
    drifts: Mapping[str, Callable[[], float]]
    tolerances: Mapping[str, float]  # largest drift by precision
    last_rows: Callable[[], list[Row]] = list  # comparisons at the end, of a flow that has had all its steps
    # largest drifts by name where the state at the end tells what round-off allows; they stand instead
    bounds: Callable[[], Mapping[str, float]] = dict


def balance(settings: Settings = DEFAULT) -> Validation:
    """Drift of mass, and of what a physics adds, over 10^6 steps on a GPU, 10^5 without, in every precision."""
    n_steps, size = QUICK if settings.quick else ON_GPU if settings.backend == "cuda" else ON_CPU
    others = () if settings.quick else possible_precisions(settings.backend)
    precisions = tuple(dict.fromkeys((settings.precision, *others)))
    of_physics = (make for table in tables("muphy_lb.validation") for make in getattr(table, "BUDGETS", ()))
    makers = (closed_pack, open_vessel, *of_physics)
    rows, curves = [], []
    for precision in precisions:
        where = "" if precision == settings.precision else f", {precision}"
        for make in makers:
            budget = make(size, replace(settings, precision=precision))
            steps, drifts = followed(budget, n_steps)
            curves += [Series(f"{name}, {precision}", steps, _visible(values)) for name, values in drifts.items()]
            allowed = dict.fromkeys(drifts, budget.tolerances[precision]) | budget.bounds()
            found = [_row(name, values, allowed[name]) for name, values in drifts.items()]
            found += _last_rows(budget, settings)
            rows += [replace(row, quantity=row.quantity + where) for row in found]
    title = f"Balance over {n_steps:,} steps"
    plot = Plot(title, "step", "relative drift", tuple(curves), log_x=True, log_y=True)
    left_out = (f"{HALF}: drifts are shown, not judged",) if HALF in precisions else ()
    return Validation("balance", CITATION, tuple(rows), plots=(plot,), left_out=left_out)


def followed(budget: Budget, n_steps: int) -> tuple[np.ndarray, dict[str, list[float]]]:
    """(steps, drifts by name) at about ``N_SAMPLES`` steps, evenly spaced on a logarithmic axis."""
    steps = np.unique(np.geomspace(1, n_steps, N_SAMPLES).astype(int))
    drifts = {name: [] for name in budget.drifts}
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
    tables = {"openings": openings, "lattice": {"name": "D3Q19", "collision": "trt"}}
    simulation = lattice_simulation(
        settings,
        {"shape": "branching_vessel", "options": options},
        VESSEL_VISCOSITY,
        make=_CountingSimulation,
        **tables,
    )
    name = "mass of a vessel less what entered"
    return Budget(simulation, {name: OpenMass(simulation).drift}, TOLERANCES, lambda: _flow_rows(simulation))


def mass_drift(simulation: Simulation) -> Callable[[], float]:
    """A function that gives the change of the mass since now, over the mass."""
    before = simulation.engine.totals().mass
    whole = simulation.header.n_nodes + before
    return lambda: (simulation.engine.totals().mass - before) / whole


class OpenMass:
    """Mass of a flow through openings that count, and what has entered since it was at rest. ``simulation``: of
    :func:`open_vessel`, at its start."""

    def __init__(self, simulation: Simulation):
        self._simulation, self._closed = simulation, mass_drift(simulation)
        self._uncounted, self._step = 0.0, simulation.step_number

    def drift(self) -> float:
        """Change of the mass since the start less what has entered since, over the mass."""
        simulation = self._simulation
        n_steps, self._step = simulation.step_number - self._step, simulation.step_number
        flux, _ = simulation.engine.link_fluxes()
        self._uncounted += n_steps * float((flux - np.rint(flux * SUM_SCALE) / SUM_SCALE).sum())
        whole, rest, _ = map(sum, zip(*simulation.engine.feedback.record().values(), strict=True))
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
    """The same, compiled."""
    value = at["value"]

    def advance(outflow, deviation, state, parameters):
        rest = state[1] + outflow
        whole = floor(rest)
        state[0] += whole
        state[1] = rest - whole
        return parameters[value]

    return jit(advance)


COUNT = Operator("count-what-passes", _count, _count_node, named("value"))


class _CountingSimulation(Simulation):
    """A simulation whose openings count, on the device and in every step, what passes them."""

    def _survey_openings(self) -> None:
        super()._survey_openings()
        self.conditions = [replace(condition, feedback=_counter(condition.value)) for condition in self.conditions]


def _counter(value: float) -> Feedback:
    return Feedback(COUNT, {"value": value}, (0.0, 0.0), ("passed_whole", "passed_rest"), value)


def _flows(simulation: Simulation) -> np.ndarray:
    """Mass that enters through each opening in a step."""
    return simulation.engine.opening_sums(len(simulation.header.openings))[:, 0] / SUM_SCALE


def _flow_rows(simulation: Simulation) -> list[Row]:
    flows = _flows(simulation)
    tolerance = STEADY[simulation.case.compute.precision]
    name = "flow into the vessel less that out of it, over it"
    return [absolute(name, 0.0, flows.sum() / flows.max(), tolerance)]


def _last_rows(budget: Budget, settings: Settings) -> list[Row]:
    """Rows of the steady state; those of a few steps are shown, not judged."""
    rows = budget.last_rows()
    return [replace(row, tolerance=inf) for row in rows] if settings.quick else rows


def _row(name: str, drifts: list[float], tolerance: float) -> Row:
    return absolute(f"{name}: largest drift", 0.0, max(map(abs, drifts)), tolerance)


def _visible(drifts: list[float]) -> list[float]:
    """Sizes on a logarithmic axis, which has no place for zero."""
    return [abs(drift) or nan for drift in drifts]
