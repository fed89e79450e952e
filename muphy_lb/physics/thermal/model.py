"""Thermal flow: an isothermal flow lifted by a temperature that it carries (Boussinesq).

The hybrid method of Obrecht, Kuznik, Tourancheau, Roux, Comput. Fluids 54, 118 (2012): populations for the flow, finite
differences for the temperature. Every step takes the force from the temperature before it, half before and half after
the collision, and the velocity that carries the temperature from the middle of the collision. The temperature of the
edge comes last, when the neighbours' has arrived.

The other method carries the temperature by populations of its own (double distribution, D3Q7 or D2Q5): what enters
through walls is exactly what the fluid gains. Their sum is taken when they arrive, behind the collision of the flow,
and lifts in the next step, as the mean with that before it
(:mod:`muphy_lb.physics.thermal.operators.scalar_distribution`).
"""

from dataclasses import dataclass, replace

import numpy as np

from muphy_lb.domain import BorderValues
from muphy_lb.errors import InputError
from muphy_lb.lattice import Lattice, scalar_lattice
from muphy_lb.operators import KEEP_VELOCITY
from muphy_lb.physics.isothermal import Fluid, isothermal
from muphy_lb.physics.model import (
    EDGE,
    INTERIOR,
    STENCIL,
    STREAM_COLLIDE,
    Carried,
    Field,
    FieldValue,
    Model,
    Stage,
    row_names,
)
from muphy_lb.physics.thermal.operators import (
    BUOYANCY,
    LARGEST_DIFFUSIVITY,
    TEMPERATURE,
    carried,
    carried_at_rest,
    carried_rates,
    with_energy,
)

NAME, POPULATIONS, LIFTING = "temperature", "heat", "lifting_temperature"
DIFFERENCES, POPULATION_METHOD = "finite-differences", "double-distribution"
METHODS = (DIFFERENCES, POPULATION_METHOD)
VELOCITY = ("velocity_x", "velocity_y", "velocity_z")


@dataclass(frozen=True)
class Heat:
    """What the temperature does.

    Attributes:
        diffusivity: lattice units.
        lift: (3,) force per volume and unit of temperature, lattice units.
        borders: what happens at walls and openings.
        offset: of the temperature zero over that at which nothing lifts. Populations carry a temperature as they carry
            mass: what is near zero is hardly changed where the flow is not free of divergence.
        method: one of ``METHODS``.
        media: where nodes lie in solids, too: diffusivity, and 1 in the fluid, 0 in solids, each (n,) of the local
            nodes. With populations only.
        energy: what a unit of temperature adds to the equilibrium energy
        (:mod:`muphy_lb.physics.thermal.operators.energy`).
    """

    diffusivity: float
    lift: tuple[float, float, float]
    borders: BorderValues
    method: str = DIFFERENCES
    offset: float = 0.0
    energy: float = 0.0
    media: tuple[np.ndarray, np.ndarray] | None = None


def thermal(lattice: Lattice, fluid: Fluid, heat: Heat, streaming: str, force=(0.0, 0.0, 0.0)) -> Model:
    """Declare thermal flow; arguments as of :func:`muphy_lb.physics.isothermal`.

    Raises:
        InputError: unknown streaming, or a diffusivity at which the differences are unstable.
    """
    flow = isothermal(lattice, fluid, streaming, force, BUOYANCY, KEEP_VELOCITY)
    kept = tuple(FieldValue(name) for name in VELOCITY)
    *rates, fx, fy, fz = flow.parameters
    flows = () if heat.media is None else heat.media[1:]
    by_method = {DIFFERENCES: _by_differences, POPULATION_METHOD: _by_populations}
    fields, operator, numbers = by_method[heat.method](lattice, heat)
    inside, at_edge = (
        Stage(STENCIL, (operator,), part, fields[0].name, (*numbers, *kept, *flows)) for part in (INTERIOR, EDGE)
    )
    if heat.energy:
        flow = _with_energy(flow)
    place = 1 + next(k for k, s in enumerate(flow.stages) if s.skeleton == STREAM_COLLIDE and s.part == INTERIOR)
    return replace(
        flow,
        name="thermal",
        stages=(*flow.stages[:place], inside, *flow.stages[place:], at_edge),
        parameters=(*rates, *kept, heat.energy, FieldValue(fields[-1].name), *heat.lift, fx, fy, fz),
        fields=(*fields, *(Field(name) for name in VELOCITY)),
    )


def _with_energy(flow: Model) -> Model:
    """The flow with the temperature in its energy."""
    collide = with_energy(flow.collision)
    stages = (replace(s, operators=(collide,)) if s.skeleton == STREAM_COLLIDE else s for s in flow.stages)
    return replace(flow, collision=collide, stages=tuple(stages))


def temperature_fields(model: Model, temperature: np.ndarray) -> dict[str, np.ndarray]:
    """Fields of a thermal model in which a temperature (n,) rests, by name."""
    first = model.fields[0]
    if not first.carried:
        return {NAME: temperature}
    lattice = first.carried.lattice
    rows = dict(zip(row_names(first.name, lattice.q), carried_at_rest(lattice, temperature), strict=True))
    stage = next(stage for stage in model.stages if stage.skeleton == STENCIL)
    flows = stage.parameters[-1]
    offset = stage.parameters[2]
    lifting = (flows if isinstance(flows, np.ndarray) else 1.0) * (temperature + offset)
    return rows | {NAME: temperature, LIFTING: lifting}


def _by_differences(lattice: Lattice, heat: Heat):
    """Fields, the first of which advances and the last of which lifts; how; and with which numbers."""
    if not 0.0 < heat.diffusivity < LARGEST_DIFFUSIVITY:
        raise InputError(
            f"the thermal diffusivity is {heat.diffusivity:.4g} in lattice units; allowed: above 0 and below 1/12; use"
            f" a smaller time step or thermal.method = {POPULATION_METHOD!r}"
        )
    return (Field(NAME, heat.borders),), TEMPERATURE, (heat.diffusivity,)


def _by_populations(lattice: Lattice, heat: Heat):
    if not heat.diffusivity > 0.0:
        raise InputError(f"the thermal diffusivity is {heat.diffusivity:.4g} in lattice units; it must be above 0")
    scalar = scalar_lattice(lattice.dimension)
    kept = tuple(Field(name, is_state=True) for name in (NAME, LIFTING))
    fields = Field(POPULATIONS, heat.borders, Carried(scalar, heat.diffusivity)), *kept
    told = (FieldValue(NAME), FieldValue(NAME, is_new=True), FieldValue(LIFTING, is_new=True))
    diffusivity = heat.diffusivity if heat.media is None else heat.media[0]
    rates = carried_rates(scalar, diffusivity)
    return fields, carried(scalar, heat.media is not None), (*rates, heat.offset, *told)
