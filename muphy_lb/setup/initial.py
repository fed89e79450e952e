"""The fields that a case starts from: density and velocity in lattice units, and those of other physics in SI units."""

from pathlib import Path

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.units import Units
from muphy_lb.case.case import Case
from muphy_lb.domain import LocalDomain
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.setup.input_fields import ENDING, Wanted, fields_of, read_field

SECTION = "initial"
FLOW = ("velocity", "pressure")
"""Fields that a file of all fields must have."""
FASTEST_MACH = 0.3
"""Mach number up to which a velocity may be given: beyond, the fluid is far from incompressible."""
LARGEST_DEVIATION = 0.3
"""Difference of the density from 1 up to which it may be given."""


def initial_values(case: Case, name: str, unit: str, header: GeometryHeader, domain: LocalDomain) -> np.ndarray | None:
    """(n, k) or (1, k) values [SI] of a field of the section [initial] at the local nodes; None if it gives none.

    Args:
        case: the case.
        name: of the field, as in field files: its keys are ``NAME_UNIT`` and ``NAME_file``.
        unit: end of the name of the first key.
        header, domain: the nodes.

    Raises:
        InputError: a file cannot be read, or does not fit.
    """
    section = case.initial
    if section is None:
        return None
    value, file = getattr(section, f"{name}_{unit}"), getattr(section, f"{name}_file")
    if value is not None:
        return np.reshape(np.asarray(value, dtype=np.float64), (1, -1))
    is_velocity, key = name == "velocity", f"{SECTION}.{name}_file"
    if file is None:
        file, key = _common_file(case, name), f"{SECTION}.file"
    if file is None:
        return None
    return read_field(case.folder / file, Wanted(key, name, 3 if is_velocity else 1, is_velocity), header, domain)


def _common_file(case: Case, name: str) -> str | None:
    """The file of all fields; without one, or where it lacks what only some flows have, None."""
    file = case.initial.file
    if file is None:
        return None
    if Path(file).suffix.lower() != ENDING:
        raise InputError(
            f"{SECTION}.file: {file} ends in {Path(file).suffix!r}; allowed: {ENDING!r}, of an earlier run"
        )
    return file if name in FLOW or name in fields_of(case.folder / file, f"{SECTION}.file") else None


def initial_flow(case: Case, header: GeometryHeader, domain: LocalDomain, units: Units):
    """Density (n,) or (1,), and velocity (3, n) or (3, 1), of the local nodes, lattice units.

    Raises:
        InputError: as :func:`initial_values`; a velocity or density that is out of range.
    """
    velocity = initial_values(case, "velocity", "m_s", header, domain)
    velocity = np.zeros((3, 1)) if velocity is None else units.velocity_to_lattice(velocity.T)
    check_velocity(f"{SECTION}: the velocity", velocity, domain, units)
    density = _density(case, header, domain, units)
    check_density(f"{SECTION}: the pressure", density, domain, units)
    return density, velocity


def _density(case: Case, header: GeometryHeader, domain: LocalDomain, units: Units) -> np.ndarray:
    """(n,) or (1,) density, of whichever of pressure and density is given; 1 of none."""
    section = case.initial
    if section is None or section.consistent_pressure:
        return np.ones(1)
    if section.density_kg_m3 is not None or section.density_file is not None:
        density = initial_values(case, "density", "kg_m3", header, domain)
        return np.ones(1) if density is None else density[:, 0] / units.density_kg_m3
    pressure = initial_values(case, "pressure", "pa", header, domain)
    return np.ones(1) if pressure is None else units.pressure_to_density(pressure[:, 0], float(domain.lattice.cs2))


def check_velocity(what: str, velocity: np.ndarray, domain: LocalDomain, units: Units) -> None:
    """Refuse velocities (3, n) [lattice units] that are not finite or too fast.

    Raises:
        InputError: there is one.
    """
    if not np.isfinite(velocity).all():
        raise InputError(f"{what} has values that are not finite; give numbers")
    speed = np.sqrt((velocity * velocity).sum(axis=0)).max(initial=0.0)
    mach = speed / np.sqrt(float(domain.lattice.cs2))
    if mach > FASTEST_MACH:
        raise InputError(
            f"{what} reaches {units.velocity_to_si(speed):.4g} m/s, which is Mach number {mach:.3g} with this time"
            f" step; allowed: up to {FASTEST_MACH:g}; take a shorter time step (a smaller lattice.lattice_velocity)"
        )


def check_density(what: str, density: np.ndarray, domain: LocalDomain, units: Units) -> None:
    """Refuse densities (n,) [lattice units] that are not finite or too far from 1.

    Raises:
        InputError: there is one.
    """
    if not np.isfinite(density).all():
        raise InputError(f"{what} has values that are not finite; give numbers")
    worst = float(density[np.abs(density - 1.0).argmax()]) if density.size else 1.0
    if abs(worst - 1.0) > LARGEST_DEVIATION:
        pressure_pa = units.density_to_pressure(worst, float(domain.lattice.cs2))
        raise InputError(
            f"{what} reaches {pressure_pa:.4g} Pa, a density of {worst:.3g} in lattice units; allowed:"
            f" {1 - LARGEST_DEVIATION:g} to {1 + LARGEST_DEVIATION:g}; give it relative to the reference pressure, or"
            " take a shorter time step"
        )
