"""Thermal fluctuations as a physics package (:mod:`muphy_lb.physics.package`)."""

from functools import partial
from math import inf

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.precision import FP16
from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.model.flow import Flow
from muphy_lb.model.model import STEP as STEP_NUMBER
from muphy_lb.model.model import VOXEL as VOXEL_ID
from muphy_lb.model.model import Value
from muphy_lb.operators import RELAXATIONS, followed_by
from muphy_lb.physics.fluctuating.operators import (
    SEED,
    STEP,
    VOXEL,
    amplitude_name,
    noise,
    noise_amplitudes,
    pattern_of,
)
from muphy_lb.physics.fluctuating.temperature import FluctuationSeries, lattice_kt, thermal_mach
from muphy_lb.physics.package import Physics

BYTES_OF_VOXEL_ID = 8


class Fluctuating(Physics):
    """Noise on every mode that the collision dissipates, so that the flow has a temperature.

    Attributes:
        kt: kT in lattice units.
    """

    name = "fluctuating"
    excludes = frozenset({"age", "dissipation", "thermal"})
    keeps_balance = False  # at any one moment noise crosses openings as well
    becomes_steady = False
    allowed_density_change = inf  # that of a node fluctuates

    def __init__(self, case, header: GeometryHeader, units):
        _refuse_what_breaks_balance(case)
        self._seed = np.int64(case.fluctuating.seed)
        self.kt = lattice_kt(case.fluid.temperature_k, units)

    @classmethod
    def bytes_per_node(cls, case, lattice) -> float:
        """Memory of the voxel id."""
        return BYTES_OF_VOXEL_ID

    def extend(self, flow):
        """The flow with noise behind its collision."""
        return fluctuating(flow, self.kt, self._seed)

    def describe(self) -> str:
        """The strength of the noise, as text."""
        return f"thermal fluctuations: kT = {self.kt:.4g} in lattice units, speed of a node {thermal_mach(self.kt):.2g}"

    def observers(self, view, folder, resume_step):
        """The time series of the temperature."""
        return (FluctuationSeries(view, folder, resume_step),)


def fluctuating(flow: Flow, kt: float, seed: int) -> Flow:
    """The flow with thermal noise.

    Args:
        flow: with a constant viscosity.
        kt: kT in lattice units, density 1.
        seed: chooses the noise.

    Raises InputError: the collision is not linear, or no noise balances it.
    """
    fluid, lattice = flow.fluid, flow.lattice
    if not fluid.relaxation.is_linear:
        allowed = ", ".join(repr(name) for name, relaxation in RELAXATIONS.items() if relaxation.is_linear)
        raise InputError(
            f"lattice.collision is {fluid.relaxation.name!r} with [fluctuating]: noise balances a collision that is"
            f" linear in the populations, and this one is not; allowed: {allowed}"
        )
    try:
        amplitudes = noise_amplitudes(fluid.relaxation, fluid.parameters, lattice)
    except ValueError as error:
        rates = ", ".join(f"{name} {rate:.4g}" for name, rate in fluid.parameters.items())
        raise InputError(
            f"[fluctuating]: {error} ({rates}): they amplify a combination of moments; choose rates in lattice.rates"
            " that differ less, or lattice.collision = 'trt'"
        ) from error
    mu = kt / float(lattice.cs2)
    pattern = pattern_of(amplitudes)
    values = {amplitude_name(k, j): float(np.sqrt(mu) * amplitudes[k, j]) for k, j in pattern}
    given: dict[str, Value] = {SEED: np.int64(seed), STEP: STEP_NUMBER, VOXEL: VOXEL_ID, **values}
    return flow.with_collision(partial(followed_by, source=noise(lattice, pattern)), given)


def _refuse_what_breaks_balance(case) -> None:
    """Raise InputError for what would silently give the flow another temperature."""
    lattice = case.lattice
    if lattice.walls != HALF_WAY:
        raise InputError(
            f"lattice.walls is {lattice.walls!r} with [fluctuating]: interpolation at walls dissipates what no noise"
            f" replaces, so that nodes beside walls would be too cold; allowed: {HALF_WAY!r}"
        )
    if case.compute.precision == FP16.name:
        raise InputError(
            "compute.precision is 'fp16' with [fluctuating]: it stores thermal noise with no more than three digits;"
            " allowed: 'fp32', 'fp64'"
        )
    fluid = case.fluid
    laws = {"fluid.power_law": fluid.power_law, "fluid.carreau_yasuda": fluid.carreau_yasuda}
    laws |= {"fluid.casson": fluid.casson, "lattice.smagorinsky": lattice.smagorinsky}
    for name, law in laws.items():
        if law is not None:
            raise InputError(
                f"{name} is given with [fluctuating]: the noise belongs to one constant viscosity; leave {name} out"
            )


PHYSICS = Fluctuating
