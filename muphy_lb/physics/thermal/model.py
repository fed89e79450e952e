"""Thermal flow: a flow that advects a temperature, which acts on it by buoyancy (Boussinesq).

The hybrid method of Obrecht, Kuznik, Tourancheau, Roux, Comput. Fluids 54, 118 (2012): populations for the flow, finite
differences for the temperature. In every step the force is computed from the temperature before the step, applied half
before and half after the collision; the advecting velocity is that in the middle of the collision. The temperature of
the edge is advanced last, when that of the neighbours has been received.

The other method transports the temperature by its own populations (double distribution, D3Q7 or D2Q5), which conserves
heat exactly. The temperature is their sum on arrival, after the collision of the flow; buoyancy acts in the next step,
from its mean with the value before (:mod:`muphy_lb.physics.thermal.operators.scalar_distribution`).
"""

from dataclasses import dataclass, replace

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.domain import ScalarBoundary
from muphy_lb.lattice import Lattice
from muphy_lb.model.flow import Flow
from muphy_lb.model.model import AT_NEIGHBOURS, Field, FieldValue, ScalarStreaming, Stage, Value
from muphy_lb.operators import STORE_VELOCITY, VELOCITY_FIELDS
from muphy_lb.physics.scalar import CarriedScalar
from muphy_lb.physics.thermal.operators import (
    BUOYANCY,
    LARGEST_DIFFUSIVITY,
    TEMPERATURE,
    scalar_collision,
    scalar_rates,
    with_energy,
)
from muphy_lb.physics.thermal.operators.buoyancy import COMPONENTS as BUOYANCY_COMPONENTS
from muphy_lb.physics.thermal.operators.buoyancy import TEMPERATURE_FIELD
from muphy_lb.physics.thermal.operators.energy import COUPLING
from muphy_lb.physics.thermal.operators.finite_differences import DIFFUSIVITY
from muphy_lb.physics.thermal.operators.scalar_distribution import FIELDS as SCALAR_FIELDS
from muphy_lb.physics.thermal.operators.scalar_distribution import RATES

NAME, POPULATIONS, BUOYANT = "temperature", "heat", "lifting_temperature"
VELOCITY = {name: FieldValue(name) for name in VELOCITY_FIELDS}
STORED = tuple(Field(name) for name in VELOCITY_FIELDS)
DIFFERENCES, POPULATION_METHOD = "finite-differences", "double-distribution"
METHODS = (DIFFERENCES, POPULATION_METHOD)


@dataclass(frozen=True)
class Heat:
    """Transport of the temperature and its buoyancy."""

    diffusivity: float  #: in lattice units
    buoyancy: tuple[float, float, float]  #: (3,) force per volume and unit of temperature, lattice units
    boundary: ScalarBoundary  #: boundary conditions at walls and openings
    method: str = DIFFERENCES  #: one of ``METHODS``
    #: of the zero of the temperature from that without buoyancy. Populations transport a temperature like mass: values
    #: near zero are hardly affected where the flow is not free of divergence.
    offset: float = 0.0
    #: contribution of a unit of temperature to the equilibrium energy
    #: (:mod:`muphy_lb.physics.thermal.operators.energy`)
    energy: float = 0.0
    #: for nodes in solids: diffusivity, and 1 in the fluid, 0 in solids, each (n,) over the local nodes. With
    #: populations only.
    media: tuple[np.ndarray, np.ndarray] | None = None


def heated(flow: Flow, heat: Heat) -> Flow:
    """The flow with a temperature. Raises InputError: a diffusivity at which the differences are unstable."""
    fields, stage, buoyant = (_by_differences if heat.method == DIFFERENCES else _by_populations)(flow.lattice, heat)
    force: dict[str, Value] = {
        TEMPERATURE_FIELD: FieldValue(buoyant),
        **dict(zip(BUOYANCY_COMPONENTS, heat.buoyancy, strict=True)),
    }
    flow = flow.pushed_by(BUOYANCY, force).observed_by(STORE_VELOCITY, VELOCITY)
    if heat.energy:
        flow = flow.with_collision(with_energy, {COUPLING: heat.energy})
    return replace(flow, name="thermal").with_fields(*fields, *STORED).with_stages(after=(stage,))


def temperature_fields(heat: Heat, lattice: Lattice, temperature: np.ndarray) -> dict[str, np.ndarray]:
    """Fields of a thermal flow at rest with the temperature (n,), by name."""
    if heat.method == DIFFERENCES:
        return {NAME: temperature}
    is_fluid = 1.0 if heat.media is None else heat.media[1]
    return carried_temperature(lattice, heat).start(temperature) | {BUOYANT: is_fluid * (temperature + heat.offset)}


def _by_differences(lattice: Lattice, heat: Heat) -> tuple[tuple[Field, ...], Stage, str]:
    """Fields, the stage that advances the temperature, and the name of the field that is buoyant."""
    if not 0.0 < heat.diffusivity < LARGEST_DIFFUSIVITY:
        raise InputError(
            f"the thermal diffusivity is {heat.diffusivity:.4g} in lattice units; allowed: above 0 and below 1/12; use"
            f" a time step {1.01 * heat.diffusivity / LARGEST_DIFFUSIVITY:.3g} times shorter, or thermal.method ="
            f" {POPULATION_METHOD!r}"
        )
    parameters: dict[str, Value] = {DIFFUSIVITY: heat.diffusivity, **VELOCITY}
    reads = (NAME + AT_NEIGHBOURS, *VELOCITY_FIELDS)
    stage = Stage(NAME, (TEMPERATURE,), parameters, reads, (NAME,))
    return (Field(NAME, heat.boundary),), stage, NAME


def _by_populations(lattice: Lattice, heat: Heat) -> tuple[tuple[Field, ...], Stage, str]:
    if not heat.diffusivity > 0.0:
        raise InputError(f"the thermal diffusivity is {heat.diffusivity:.4g} in lattice units; it must be above 0")
    moments = tuple(Field(name, is_state=True, alternates=True) for name in (NAME, BUOYANT))
    new = (FieldValue(NAME), FieldValue(NAME, is_new=True), FieldValue(BUOYANT, is_new=True))
    parameters: dict[str, Value] = {"offset": heat.offset, **dict(zip(SCALAR_FIELDS, new, strict=True))}
    scalar = carried_temperature(lattice, heat)
    diffusivity: float | np.ndarray = heat.diffusivity
    if heat.media is not None:
        diffusivity, parameters["is_fluid"] = heat.media
    parameters |= VELOCITY | dict(zip(RATES, scalar_rates(scalar.lattice, diffusivity), strict=True))
    collision = scalar_collision(scalar.lattice, heat.media is not None)
    field = Field(scalar.populations, streaming=ScalarStreaming(scalar.lattice, (scalar.populations_set,)))
    reads = (field.name + AT_NEIGHBOURS, NAME, *VELOCITY_FIELDS)
    writes = (field.name, NAME, BUOYANT)
    stage = Stage(field.name, (collision,), parameters, reads, writes)
    return (field, *moments), stage, BUOYANT


def carried_temperature(lattice: Lattice, heat: Heat) -> CarriedScalar:
    """The temperature as a scalar that populations of its own carry."""
    return CarriedScalar(
        NAME, lattice.dimension, heat.diffusivity, heat.boundary, has_carrier=False, stored=POPULATIONS
    )
