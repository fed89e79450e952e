"""Thermal flow: an isothermal flow lifted by a temperature that it carries (Boussinesq).

The hybrid method of Obrecht, Kuznik, Tourancheau, Roux, Comput. Fluids 54, 118 (2012): populations for the flow, finite
differences for the temperature. Every step takes the force from the temperature before it, half before and half after
the collision, and the velocity that carries the temperature from the middle of the collision. The temperature of the
edge comes last, when the neighbours' has arrived.
"""

from dataclasses import dataclass, replace

from muphy_lb.domain import BorderValues
from muphy_lb.errors import InputError
from muphy_lb.lattice import Lattice
from muphy_lb.operators import BUOYANCY, KEEP_VELOCITY, LARGEST_DIFFUSIVITY, TEMPERATURE
from muphy_lb.physics.isothermal import Fluid, isothermal
from muphy_lb.physics.model import EDGE, INTERIOR, STENCIL, STREAM_COLLIDE, Field, FieldValue, Model, Stage

NAME = "temperature"
VELOCITY = ("velocity_x", "velocity_y", "velocity_z")


@dataclass(frozen=True)
class Heat:
    """What the temperature does.

    Attributes:
        diffusivity: lattice units.
        lift: (3,) force per volume and unit of temperature, lattice units.
        borders: what happens at walls and openings.
    """

    diffusivity: float
    lift: tuple[float, float, float]
    borders: BorderValues


def thermal(lattice: Lattice, fluid: Fluid, heat: Heat, streaming: str, force=(0.0, 0.0, 0.0)) -> Model:
    """Declare thermal flow; arguments as of :func:`muphy_lb.physics.isothermal`.

    Raises:
        InputError: unknown streaming, or a diffusivity at which the differences are unstable.
    """
    if not 0.0 < heat.diffusivity < LARGEST_DIFFUSIVITY:
        raise InputError(
            f"the thermal diffusivity is {heat.diffusivity:.4g} in lattice units; allowed: above 0 and below 1/12; use"
            " a smaller time step"
        )
    flow = isothermal(lattice, fluid, streaming, force, BUOYANCY, KEEP_VELOCITY)
    kept = tuple(FieldValue(name) for name in VELOCITY)
    *rates, fx, fy, fz = flow.parameters
    inside, at_edge = (
        Stage(STENCIL, (TEMPERATURE,), part, NAME, (heat.diffusivity, *kept)) for part in (INTERIOR, EDGE)
    )
    place = 1 + next(k for k, s in enumerate(flow.stages) if s.skeleton == STREAM_COLLIDE and s.part == INTERIOR)
    return replace(
        flow,
        name="thermal",
        stages=(*flow.stages[:place], inside, *flow.stages[place:], at_edge),
        parameters=(*rates, *kept, FieldValue(NAME), *heat.lift, fx, fy, fz),
        fields=(Field(NAME, heat.borders), *(Field(name) for name in VELOCITY)),
    )
