"""Cylinder flows on coarse grids: steady, shedding and beating, for every rule of walls and four collisions.

The flows are 2D-1 (Re 20), 2D-2 (Re 100, inflow constant) and 2D-3 (Re 100 at most, inflow a half period of a sine) of
:mod:`muphy_lb.validation.flow.schaefer_turek`, and so is what enters where the height of the channel is no whole
number of voxels (16 a diameter).
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from math import inf

import numpy as np

from muphy_lb.base.errors import DivergedError
from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.validation.case import DEFAULT, Row, Settings, absolute, case, relative
from muphy_lb.validation.flow.schaefer_turek import (
    Setup,
    coefficients,
    obstacle_flow,
    pressure_difference_pa,
    shedding_flow,
    steady_flow,
)
from muphy_lb.validation.limits import HALF, in_half, left_out_rules, possible_rules
from muphy_lb.validation.references import schaefer_turek as reference

DIAMETERS, VELOCITY = (10, 16, 20, 30, 40), 0.05
RULES = ("half-way", "bouzidi", "central-linear")
COLLISIONS = ("trt", "mrt", "recursive-regularised", "cumulant")
QUICK_DIAMETER, QUICK_VELOCITY, QUICK_COLLISION = 16, 0.1, "recursive-regularised"
# From so many voxels a diameter on, no flow may diverge. At 10, trt and mrt do at Re 100, from the inlet on, with any
# walls.
LEAST_STABLE = 16
# From so many on, the drag of interpolated walls is judged. At Re 100 the boundary layer is a tenth of a diameter, and
# what a collision makes of two voxels differs more than the rules of walls do: those of central moments need fewer.
LEAST_RESOLVED = {"2D-1": 16, "2D-2": 30, "2D-3": 30}
LEAST_RESOLVED_IN_ITS_FRAME = {"2D-1": 16, "2D-2": 16, "2D-3": 20}
OF_CENTRAL_MOMENTS = ("recursive-regularised", "cumulant")
# At Re 100, half a per cent of the drag at VELOCITY is compressibility: with half of it, these need no more than the
# least number of voxels with which all flows are finite.
SLOW_VELOCITY, RESOLVED_SLOWLY = 0.025, "recursive-regularised"
DRAG_TOLERANCE, QUICK_DRAG_TOLERANCE = 0.02, 0.06
NOT_HALF = "fp16: forces are shown, not judged"
SAMPLES_A_SECOND = 100


@case("cylinder-flows", "Schaefer, Turek (1996), FeatFlow; beating: John, Int. J. Numer. Meth. Fluids 44, 777 (2004)")
def cylinder_flows(settings: Settings) -> Iterator:
    """Drag and lift of cylinders of 10 to 40 voxels in steady, shedding and beating flows (quick: beating, 16)."""
    rules = possible_rules(RULES, settings)
    if settings.quick:
        chosen = ((QUICK_DIAMETER, walls, QUICK_VELOCITY, QUICK_COLLISION) for walls in rules)
        setups = [("2D-3", *each) for each in chosen]
    else:
        setups = [
            (name, diameter, walls, VELOCITY, collision)
            for name, diameter, walls, collision in product(FLOWS, DIAMETERS, rules, COLLISIONS)
        ]
        setups += [(name, LEAST_STABLE, walls, SLOW_VELOCITY, RESOLVED_SLOWLY) for name, walls in product(FLOWS, rules)]
    for name, diameter, walls, velocity, collision in setups:
        flow = _until_largest_drag if settings.quick else FLOWS[name]
        yield from _rows(Setup(name, diameter, walls, velocity, collision=collision), flow, settings)
    yield from left_out_rules(RULES, settings) + in_half(settings, NOT_HALF)


def beating_flow(setup: Setup, settings: Settings = DEFAULT, until_s: float = reference.BEAT_S) -> dict[str, float]:
    """Largest drag and lift coefficient [1], their times [s], and the pressure difference [Pa] at the end of 2D-3.
    ``setup``: how it is computed; ``until_s``: end of the flow [s]. Raises DivergedError: the flow diverges."""
    simulation = obstacle_flow(setup, settings)
    interval = round(1.0 / (SAMPLES_A_SECOND * simulation.units.time_step_s))
    n_samples = int(until_s / (interval * simulation.units.time_step_s))
    samples = []
    for _ in range(n_samples):
        simulation.step(interval - 1)
        time_s = (simulation.step_number + 0.5) * simulation.units.time_step_s
        samples.append((time_s, *coefficients(simulation)))
    time_s, drag, lift = np.array(samples).T
    return {
        "largest drag": drag.max(),
        "time of the largest drag [s]": time_s[drag.argmax()],
        "largest lift": lift.max(),
        "time of the largest lift [s]": time_s[lift.argmax()],
        "pressure difference at the end [Pa]": pressure_difference_pa(simulation, setup),
    }


def _steady(setup: Setup, settings: Settings) -> dict[str, float]:
    return dict(zip(("drag", "lift"), steady_flow(setup, settings), strict=False))


def _shedding(setup: Setup, settings: Settings) -> dict[str, float]:
    flow = shedding_flow(setup, settings)
    found = {"largest drag": flow.largest_drag(), "largest lift": flow.largest_lift()}
    return found | {"Strouhal number": flow.strouhal()}


def _until_largest_drag(setup: Setup, settings: Settings) -> dict[str, float]:
    found = beating_flow(setup, settings, reference.DRAG_AT_S + 0.1)
    return {"largest drag": found["largest drag"]}


Flow = Callable[[Setup, Settings], dict[str, float]]
FLOWS: Mapping[str, Flow] = {"2D-1": _steady, "2D-2": _shedding, "2D-3": beating_flow}
EXPECTED: Mapping[str, dict] = {
    "2D-1": {"drag": reference.STEADY_2D["drag"].value, "lift": reference.STEADY_2D["lift"].value},
    "2D-2": {
        "largest drag": reference.PERIODIC_2D["largest_drag"].value,
        "largest lift": reference.PERIODIC_2D["largest_lift"].value,
        "Strouhal number": reference.PERIODIC_2D["strouhal"].value,
    },
    "2D-3": {
        "largest drag": reference.BEATING_2D["largest_drag"].value,
        "time of the largest drag [s]": reference.DRAG_AT_S,
        "largest lift": reference.BEATING_2D["largest_lift"].value,
        "time of the largest lift [s]": reference.LIFT_AT_S,
        "pressure difference at the end [Pa]": reference.BEATING_2D["pressure_difference_pa"].value,
    },
}


def _rows(setup: Setup, flow: Flow, settings: Settings) -> Iterator[Row]:
    """Whether the flow stays finite, and its numbers beside the published ones."""
    slowly = f", velocity {setup.velocity:g}" if setup.velocity == SLOW_VELOCITY else ""
    what = f"{setup.name}, D = {setup.diameter}{slowly}, {setup.walls}, {setup.collision}: "
    try:
        found = flow(setup, settings)
    except DivergedError:
        found = {}
    yield absolute(what + "stays finite", 1.0, float(bool(found)), 0.0 if setup.diameter >= LEAST_STABLE else inf)
    least = (LEAST_RESOLVED_IN_ITS_FRAME if setup.collision in OF_CENTRAL_MOMENTS else LEAST_RESOLVED)[setup.name]
    if (setup.velocity, setup.collision) == (SLOW_VELOCITY, RESOLVED_SLOWLY):
        least = LEAST_STABLE
    is_resolved = settings.quick or setup.diameter >= least
    is_judged = is_resolved and setup.walls != HALF_WAY and settings.precision != HALF
    drag_tolerance = QUICK_DRAG_TOLERANCE if settings.quick else DRAG_TOLERANCE
    for name, value in found.items():
        tolerance = drag_tolerance if is_judged and name in ("drag", "largest drag") else inf
        yield relative(what + name, EXPECTED[setup.name][name], value, tolerance)
