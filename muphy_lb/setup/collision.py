"""From the case's sections on fluid and lattice to the collision operator."""

from muphy_lb.base.errors import InputError
from muphy_lb.base.units import Units
from muphy_lb.case.case import Case
from muphy_lb.lattice import Lattice
from muphy_lb.model.isothermal import Fluid
from muphy_lb.operators import (
    CARREAU_YASUDA,
    CASSON,
    CONSTANT,
    EQUILIBRIA,
    POWER_LAW,
    RECURSIVE_REGULARISED_NEAR_WALLS,
    RELAXATIONS,
    SMAGORINSKY,
    Closure,
    Relaxation,
)
from muphy_lb.setup.advice.stability import FOR_SMALL_VISCOSITY, collision_for_small_viscosity, wants_other_moments


def build_fluid(
    case: Case, lattice: Lattice, units: Units, relaxation_time: float, cell_reynolds: float | None = None
) -> Fluid:
    """The collision operator of a case and its parameters. Raises InputError: unknown or impossible rates, or two
    closures."""
    relaxation, rates = _relaxation(case.lattice, lattice, relaxation_time, cell_reynolds)
    closure, closing = _closure(case, units)
    equilibrium = EQUILIBRIA[case.lattice.equilibrium]
    return Fluid((1.0 / relaxation_time, *rates, *closing), relaxation, equilibrium, closure)


def refuse_unsuitable(section) -> None:
    """Raise InputError if the collision of a section [lattice] is not for its velocity set or its equilibrium."""
    relaxation = RELAXATIONS[section.collision]
    if relaxation.is_for(section.name, section.equilibrium):
        return
    sets, equilibria = " or ".join(map(repr, relaxation.lattices)), " or ".join(map(repr, relaxation.equilibria))
    others = [name for name, other in RELAXATIONS.items() if other.is_for(section.name, section.equilibrium)]
    raise InputError(
        f"lattice.collision is {section.collision!r} with lattice.name = {section.name!r} and lattice.equilibrium ="
        f" {section.equilibrium!r}; it is for lattice.name {sets} and lattice.equilibrium {equilibria}: set these, or"
        f" lattice.collision to {', '.join(map(repr, others[:-1]))} or {others[-1]!r}"
    )


def _relaxation(
    section, lattice: Lattice, relaxation_time: float, cell_reynolds: float | None
) -> tuple[Relaxation, tuple[float, ...]]:
    if wants_other_moments(section, relaxation_time, cell_reynolds):
        return RECURSIVE_REGULARISED_NEAR_WALLS, ()
    return RELAXATIONS[section.collision].valued(lattice, section.model_extra)


def refuse_two_closures(case: Case) -> None:
    """Raise InputError if both a model of turbulence and a law of the fluid would set the viscosity."""
    section, law = case.lattice, case.fluid.law
    if section.smagorinsky is None or law is None:
        return
    stable, collision = "", section.collision
    if collision not in FOR_SMALL_VISCOSITY:
        collision = collision_for_small_viscosity(section.name, section.equilibrium)
        stable = f" and --set lattice.collision={collision}"
    raise InputError(
        f"lattice.smagorinsky = {section.smagorinsky:g} and [fluid.{law}] are given, and only one of them can set"
        f" the viscosity: leave the model of turbulence out (--set lattice.smagorinsky={stable}), as {collision!r} is"
        f" stable without it where the flow is not turbulent, or the law (--set fluid.{law}=)"
    )


def _closure(case: Case, units: Units) -> tuple[Closure, tuple[float, ...]]:
    fluid, smagorinsky = case.fluid, case.lattice.smagorinsky
    refuse_two_closures(case)
    if smagorinsky is not None:
        return SMAGORINSKY, (smagorinsky,)
    if fluid.law:
        return _IN_LATTICE_UNITS[fluid.law](getattr(fluid, fluid.law), fluid.density_kg_m3, units)
    return CONSTANT, ()


def _power_law(section, density_kg_m3, units: Units):
    # K / rho has the unit m2 s^(n-2): a viscosity times a time to the power n - 1.
    consistency = units.viscosity_to_lattice(section.consistency_pa_sn / density_kg_m3)
    consistency *= units.time_step_s ** (1.0 - section.index)
    bounds = (section.min_viscosity_m2_s, section.max_viscosity_m2_s)
    return POWER_LAW, (consistency, section.index, *map(units.viscosity_to_lattice, bounds))


def _carreau_yasuda(section, _density_kg_m3, units: Units):
    plateaus = (section.zero_viscosity_m2_s, section.infinite_viscosity_m2_s)
    nu_0, nu_inf = map(units.viscosity_to_lattice, plateaus)
    time = section.relaxation_time_s / units.time_step_s
    shape = (nu_0, nu_inf, time, section.transition, section.index)
    return CARREAU_YASUDA, (*shape, min(nu_0, nu_inf), max(nu_0, nu_inf))


def _casson(section, density_kg_m3, units: Units):
    yield_stress = section.yield_stress_pa / density_kg_m3 / units.speed_m_s**2
    nu_inf, nu_max = map(units.viscosity_to_lattice, (section.infinite_viscosity_m2_s, section.max_viscosity_m2_s))
    return CASSON, (yield_stress**0.5, nu_inf**0.5, nu_inf, nu_max)


_IN_LATTICE_UNITS = {"power_law": _power_law, "carreau_yasuda": _carreau_yasuda, "casson": _casson}
